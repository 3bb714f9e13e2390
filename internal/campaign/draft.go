package campaign

import "time"

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
	Version    int    // number of writes
	File       string // random name of the file of recipients
}

// DraftPrefix begins the keys of the files of drafts.
const DraftPrefix = "drafts/"

// Blob returns the key of the draft's file. Each save has its own, so that a refused one
// leaves the stored file as it is.
func (d Draft) Blob() string {
	return DraftPrefix + d.Tenant + "/" + d.File
}
