package campaign

import (
	"strconv"
	"time"
)

// Draft is a campaign in the dashboard that is not sent yet.
type Draft struct {
	Tenant     string
	ID         string
	Name       string
	TemplateID string
	Schedule   string // as entered, "" for immediately
	NotAfter   string // as entered, "" for no limit
	FileName   string // "" without a file of recipients
	Who        string // email address of the last editor
	UpdatedAt  time.Time
	Version    int // number of writes
}

// DraftPrefix begins the keys of the files of drafts.
const DraftPrefix = "drafts/"

// Blob returns the key of the draft's file. Each version has its own.
func (d Draft) Blob() string {
	return DraftPrefix + d.Tenant + "/" + d.ID + "." + strconv.Itoa(d.Version)
}
