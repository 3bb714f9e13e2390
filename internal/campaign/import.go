package campaign

import (
	"strconv"
	"time"
)

// ImportState is the progress of an import.
type ImportState string

// The states of an import.
const (
	ImportUploading ImportState = "uploading" // the browser sends the file
	ImportOpening   ImportState = "opening"   // the file's columns are read
	ImportColumns   ImportState = "columns"   // a person confirms the columns
	ImportReading   ImportState = "reading"   // the file is read and checked
	ImportReady     ImportState = "ready"     // a person confirms the campaign
	ImportApproval  ImportState = "approval"  // a second person has to approve it
	ImportSending   ImportState = "sending"   // parts are being dispatched
	ImportStopped   ImportState = "stopped"   // a part was refused; the rest can be sent later
	ImportSent      ImportState = "sent"      // all parts are dispatched
	ImportFailed    ImportState = "failed"    // the file cannot be read
	ImportCancelled ImportState = "cancelled" // a person discarded it
)

const (
	// MaxImport is the maximum size of an imported file in bytes.
	MaxImport = 200 << 20
	// MaxImportRows is the maximum number of lines of an imported file.
	MaxImportRows = 2_000_000
	// MaxImports is the maximum number of unfinished imports of a tenant.
	MaxImports = 20
	// MaxFindings is the maximum number of lines that an import lists for each kind of problem.
	MaxFindings = 20
)

// Import is a campaign from a large file. A function reads the file in parts of MaxMessages,
// and dispatches each part as a batch. Its ID is the campaign's, so that a repeated step sends
// nothing twice.
type Import struct {
	ID
	Version   int         `json:"-"` // number of writes of the row
	State     ImportState `json:"state"`
	By        string      `json:"by"` // email address of who uploads
	CreatedAt time.Time   `json:"createdAt"`
	UpdatedAt time.Time   `json:"updatedAt"`

	Name            string `json:"name"`
	TemplateID      string `json:"templateId"`
	TemplateVersion int    `json:"templateVersion"` // as checked, the one that is sent
	Schedule        string `json:"schedule,omitempty"`
	NotAfter        string `json:"notAfter,omitempty"`
	AskedBy         string `json:"askedBy,omitempty"` // email address of who asked for its approval, once it is approved

	FileName string `json:"fileName"`
	Size     int64  `json:"size"`               // bytes
	Modified string `json:"modified,omitempty"` // time of the file's last change, as the browser gives it
	Upload   string `json:"upload,omitempty"`   // ID of the upload in parts
	Tag      string `json:"tag,omitempty"`      // ETag of the uploaded file

	// Header holds the names of the file's columns, and Phone, UID and Values which of them are
	// used, by index. Values is by variable of the template.
	Header []string       `json:"header,omitempty"`
	Phone  int            `json:"phone"`
	UID    int            `json:"uid"`
	Values []ImportColumn `json:"values,omitempty"`
	// First holds the cells of the first lines, shortened, while the columns can be chosen.
	First [][]string `json:"first,omitempty"`

	// Checks is the number of times that the file was read and checked.
	Checks int `json:"checks,omitempty"`
	// Read is the progress of reading, and Findings what was found in the lines so far.
	Read     ImportProgress `json:"read"`
	Findings ImportFindings `json:"findings"`

	// Sent is the number of dispatched parts, SentAccepted and SentRejected the number of their
	// messages. SentErased is the number of their people who were erased before.
	Sent         int `json:"sent"`
	SentAccepted int `json:"sentAccepted"`
	SentRejected int `json:"sentRejected"`
	SentErased   int `json:"sentErased,omitempty"`
	// Late reports that the time of sending came too near before all parts were dispatched: the
	// rest waits for it, and then goes at once.
	Late bool `json:"late,omitempty"`
	// Fault is why it failed or stopped: the code of a text, with its arguments.
	Fault     string   `json:"fault,omitempty"`
	FaultArgs []string `json:"faultArgs,omitempty"`
}

// ImportColumn is the column of a template's variable.
type ImportColumn struct {
	Name   string `json:"name"`
	Column int    `json:"column"`
}

// ImportProgress is how far a file is read.
type ImportProgress struct {
	Rows  int   `json:"rows"`  // lines that are not empty, up to the last written part
	Parts int   `json:"parts"` // written parts
	Bytes int64 `json:"bytes"` // read from the file
	// Hash is the SHA-256 over the parts in order, hex.
	Hash string `json:"hash"`
	// ANSI reports whether the file is written in Windows-1252.
	ANSI bool `json:"ansi,omitempty"`
}

// ImportFindings are the results of the checks of an import.
type ImportFindings struct {
	Accepted int         `json:"accepted"` // messages to valid numbers
	OptedOut int         `json:"optedOut"` // of Accepted, numbers that opted out
	Rejected []Problem   `json:"rejected"` // invalid numbers, by kind
	Repeated Findings    `json:"repeated"` // numbers of an earlier line, which are left out
	LeftOut  []Problem   `json:"leftOut"`  // lines that are left out, by kind
	BadURLs  Findings    `json:"badURLs"`  // messages with a URL that is not https
	General  []string    `json:"general"`  // codes of refusals of the campaign
	Classes  ClassCounts `json:"classes"`
	Priced   bool        `json:"priced"` // there are prices
	Price    Money       `json:"price"`
	// Budget is the budget on the day of sending, nil without limits.
	Budget *BudgetFigures `json:"budget,omitempty"`
}

// Findings is a number of lines, with the first MaxFindings.
type Findings struct {
	Count int   `json:"count"`
	Lines []int `json:"lines,omitempty"`
}

// Add counts a line.
func (f *Findings) Add(line int) {
	if f.Count++; len(f.Lines) < MaxFindings {
		f.Lines = append(f.Lines, line)
	}
}

// Problem is a kind of problem with its lines.
type Problem struct {
	Code   string `json:"code"`
	Column string `json:"column,omitempty"` // the variable, or uid
	Findings
}

// Count counts a line of a kind.
func Count(all []Problem, line int, code, column string) []Problem {
	for i := range all {
		if all[i].Code == code && all[i].Column == column {
			all[i].Add(line)
			return all
		}
	}
	p := Problem{Code: code, Column: column}
	p.Add(line)
	return append(all, p)
}

func total(all []Problem) (n int) {
	for _, p := range all {
		n += p.Count
	}
	return n
}

// Left returns the number of lines that are left out because of a problem.
func (f ImportFindings) Left() int { return total(f.LeftOut) }

// Invalid returns the number of invalid numbers.
func (f ImportFindings) Invalid() int { return total(f.Rejected) }

// People returns the number of people who get a message.
func (f ImportFindings) People() int { return max(0, f.Accepted-f.OptedOut) }

// Fits reports whether the campaign may be sent.
func (f ImportFindings) Fits() bool { return len(f.General) == 0 && f.Accepted > 0 }

// Totals returns the totals of the file after the dispatched parts.
func (i Import) Totals() SubmissionTotals {
	return SubmissionTotals{
		Lines: i.Read.Rows, Invalid: i.Findings.Invalid(), Faulty: i.Findings.Left(), Repeated: i.Findings.Repeated.Count,
		People: i.Findings.Accepted, Erased: i.SentErased, Accepted: i.SentAccepted,
		PartsToCome: i.Read.Parts - i.Sent, Until: i.ExpiresAt(),
	}
}

// ExpiresAt returns when the import and its files are deleted.
func (i Import) ExpiresAt() time.Time { return i.CreatedAt.Add(ImportLife) }

// Closed reports whether nothing of the import is left to do.
func (i Import) Closed() bool {
	return i.State == ImportSent || i.State == ImportFailed || i.State == ImportCancelled
}

// Working reports whether the import waits for a function.
func (i Import) Working() bool {
	return i.State == ImportOpening || i.State == ImportReading || i.State == ImportSending
}

// ImportPrefix begins the keys of all files of imports.
const ImportPrefix = "imports/"

// Folder returns the prefix of the keys of the import's files.
func (i Import) Folder() string { return ImportPrefix + i.Tenant + "/" + i.CampaignID + "/" }

// Blob returns the key of the uploaded file.
func (i Import) Blob() string { return i.Folder() + "file" }

// PartBlob returns the key of a part, from 1.
func (i Import) PartBlob(part int) string { return i.Folder() + "part-" + strconv.Itoa(part) }

// PartID identifies a part of the file as it was checked last, from 1.
func (i Import) PartID(part int) string {
	return Digest(i.CampaignID + "\n" + i.Tag + "\n" + strconv.Itoa(i.Checks) + "\n" + strconv.Itoa(part))
}

// CodeTemplateChanged refuses a call of the dashboard whose template has another version. Calls
// of the API do not get it.
const CodeTemplateChanged = "template_changed"

// ImportTask asks to continue an import. It can arrive more than once.
type ImportTask struct {
	Tenant   string `json:"tenant"`
	ImportID string `json:"importId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *ImportTask) Received(times int) { t.Receives = times }
