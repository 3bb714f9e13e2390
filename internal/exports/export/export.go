// Package export has the values of exports.
package export

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Kind is what an export lists.
type Kind string

// The kinds of exports.
const (
	Outcomes Kind = "outcomes" // the accepted messages, with their outcomes
	Rejected Kind = "rejected" // the rejected numbers of the error files
	// Recipients lists recipients with their variables, for another campaign. The
	// dashboard reads the file; it has no link.
	Recipients Kind = "recipients"
)

// Format is the form of an export's CSV.
type Format string

// The formats of exports.
const (
	Excel Format = "excel" // semicolons, a byte order mark and local times
	Plain Format = "plain" // commas and times in UTC
)

// State is the progress of an export.
type State string

// The states of an export.
const (
	Pending   State = "pending"   // no function has begun it
	Running   State = "running"   // some of the file is written
	Completed State = "completed" // the file is there
	Failed    State = "failed"    // the data cannot be read, or every attempt failed
	Deleted   State = "deleted"   // an erasure deleted the file
)

const (
	// Life is how long the link of an export works.
	Life = 24 * time.Hour
	// MaxOpen is the maximum number of unfinished exports of a tenant.
	MaxOpen = 3
	// MaxBatches is the maximum number of batches in an export. The snapshot of that
	// many batches fits into one row.
	MaxBatches = 20_000
)

// Export is a CSV file about a campaign, written in the background.
type Export struct {
	campaign.ID
	ExportID string
	Secret   string // with ExportID, it opens the file
	Kind     Kind
	Statuses []string // of the messages in the file, empty for all
	Audience Audience // of Recipients
	Format   Format
	Language string // of headings and texts, en or pt-BR
	// State, UpdatedAt and the fields below change with the progress.
	State     State
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time
	Slot      int // of the tenant's MaxOpen
	Total     int // messages and people without one, or rejected numbers, of the snapshot
	Checked   int // of Total, in the uploaded parts
	Shown     int // of Total, in the uploaded parts and the one that is being written
	Lines     int // in the uploaded parts, without the heading
	// Upload is the ID of the upload in parts, Parts the number of its uploaded parts, and
	// Next the position in the snapshot of the first batch that is in none of them.
	Upload string
	Parts  int
	Next   int
	// Rest is the Next at which lines were stored that are too few for a part, 0 if there
	// are none. They begin the next part.
	Rest    int
	Version int // number of writes of the row
}

// Request describes an export. Empty fields have their defaults: the outcomes of all
// messages, plain and in English.
type Request struct {
	Kind     Kind     `json:"kind"`
	Statuses []string `json:"statuses"`
	Format   Format   `json:"format"`
	Language string   `json:"language"`
}

// Percent returns the progress in whole per cent.
func (e Export) Percent() int {
	if e.Total == 0 {
		return 0
	}
	return e.Progress() * 100 / e.Total
}

// Progress returns how many of Total are checked.
func (e Export) Progress() int {
	if e.State == Completed {
		return e.Total
	}
	return min(max(e.Checked, e.Shown), e.Total)
}

// Closed reports whether nothing is left to do.
func (e Export) Closed() bool { return e.State != Pending && e.State != Running }

// Blob returns the key of the file.
func (e Export) Blob() string {
	return Prefix + e.Tenant + "/" + e.CampaignID + "/" + e.ExportID + ".csv"
}

// RestBlob returns the key of the lines that are too few for a part.
func (e Export) RestBlob() string { return e.Blob() + "." + strconv.Itoa(e.Rest) }

// Prefix begins the keys of all export files.
const Prefix = "exports/"

// Path is the path of the links of export files. The name of a file follows.
const Path = "/api/v1/export-files/"

// Link returns the path of the export's link. Whoever has it can read the file.
func (e Export) Link() string { return Path + e.ExportID + "." + e.Secret }

// Batch is the state of a batch in the snapshot of an export: the sequences of the
// last entries of its logs. If Part is set, it is a part of the campaign's file that is not accepted
// any more.
type Batch struct {
	Part     int // see SubmissionTotals.PartsNotAccepted
	Ordinal  int
	Sequence int // of the log of changes
	Taps     int // of the log of taps
	Clicks   int // of the log of clicks
}

// Task asks to continue an export. It can arrive more than once.
type Task struct {
	ExportID string `json:"exportId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *Task) Received(times int) { t.Receives = times }
