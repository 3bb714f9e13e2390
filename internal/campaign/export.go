package campaign

import (
	"strconv"
	"time"
)

// ExportKind is what an export lists.
type ExportKind string

// The kinds of exports.
const (
	ExportOutcomes ExportKind = "outcomes" // the accepted messages, with their outcomes
	ExportRejected ExportKind = "rejected" // the rejected numbers of the error files
	// ExportRecipients lists recipients with their variables, for another campaign. The
	// dashboard reads the file; it has no link.
	ExportRecipients ExportKind = "recipients"
)

// Audience is a group of a campaign's recipients.
type Audience string

// The audiences of a follow-up campaign.
const (
	AudienceUnread Audience = "unread" // got the message, and did not read it
	AudienceMissed Audience = "missed" // got no message, and did not opt out
	AudienceTapped Audience = "tapped" // tapped a suggestion, or clicked a link
)

// Audiences are all audiences.
func Audiences() []Audience { return []Audience{AudienceUnread, AudienceMissed, AudienceTapped} }

// ExportFormat is the form of an export's CSV.
type ExportFormat string

// The formats of exports.
const (
	ExportExcel ExportFormat = "excel" // semicolons, a byte order mark and local times
	ExportPlain ExportFormat = "plain" // commas and times in UTC
)

// ExportState is the progress of an export.
type ExportState string

// The states of an export.
const (
	ExportPending   ExportState = "pending"   // no function has begun it
	ExportRunning   ExportState = "running"   // some of the file is written
	ExportCompleted ExportState = "completed" // the file is there
	ExportFailed    ExportState = "failed"    // the data cannot be read, or every attempt failed
	ExportDeleted   ExportState = "deleted"   // an erasure deleted the file
)

const (
	// ExportLife is how long the link of an export works.
	ExportLife = 24 * time.Hour
	// MaxExports is the maximum number of unfinished exports of a tenant.
	MaxExports = 3
	// MaxExportBatches is the maximum number of batches in an export. The snapshot of that
	// many batches fits into one row.
	MaxExportBatches = 20_000
)

// Export is a CSV file about a campaign, written in the background.
type Export struct {
	ID
	ExportID string
	Secret   string // with ExportID, it opens the file
	Kind     ExportKind
	Statuses []string // of the messages in the file, empty for all
	Audience Audience // of ExportRecipients
	Format   ExportFormat
	Language string // of headings and texts, en or pt-BR
	// State, UpdatedAt and the fields below change with the progress.
	State     ExportState
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time
	Slot      int // of the tenant's MaxExports
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

// ExportRequest describes an export. Empty fields have their defaults: the outcomes of all
// messages, plain and in English.
type ExportRequest struct {
	Kind     ExportKind   `json:"kind"`
	Statuses []string     `json:"statuses"`
	Format   ExportFormat `json:"format"`
	Language string       `json:"language"`
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
	if e.State == ExportCompleted {
		return e.Total
	}
	return min(max(e.Checked, e.Shown), e.Total)
}

// Closed reports whether nothing is left to do.
func (e Export) Closed() bool { return e.State != ExportPending && e.State != ExportRunning }

// Blob returns the key of the file.
func (e Export) Blob() string {
	return ExportPrefix + e.Tenant + "/" + e.CampaignID + "/" + e.ExportID + ".csv"
}

// RestBlob returns the key of the lines that are too few for a part.
func (e Export) RestBlob() string { return e.Blob() + "." + strconv.Itoa(e.Rest) }

// ExportPrefix begins the keys of all export files.
const ExportPrefix = "exports/"

// ExportPath is the path of the links of export files. The name of a file follows.
const ExportPath = "/api/v1/export-files/"

// Link returns the path of the export's link. Whoever has it can read the file.
func (e Export) Link() string { return ExportPath + e.ExportID + "." + e.Secret }

// ExportedBatch is the state of a batch in the snapshot of an export: the sequences of the
// last entries of its logs. If Part is set, it is a part of the campaign's file that is not accepted
// any more.
type ExportedBatch struct {
	Part     int // see SubmissionTotals.PartsLeft
	Ordinal  int
	Sequence int // of the log of changes
	Taps     int // of the log of taps
	Clicks   int // of the log of clicks
}

// ExportTask asks to continue an export. It can arrive more than once.
type ExportTask struct {
	ExportID string `json:"exportId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *ExportTask) Received(times int) { t.Receives = times }
