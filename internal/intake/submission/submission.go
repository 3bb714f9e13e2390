// Package submission has the values of a submission: a list of people on its way to become the
// batches of a campaign.
package submission

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// State is the progress of a submission.
type State string

// The states of a submission.
const (
	StateUploading   State = "uploading"   // the browser sends the file
	StateOpening     State = "opening"     // the file's columns are read
	StateColumns     State = "columns"     // a person confirms the columns
	StateChecking    State = "checking"    // the file is read and checked
	StateReady       State = "ready"       // a person confirms the campaign
	StateApproval    State = "approval"    // a second person has to approve it
	StateSending     State = "sending"     // parts are being dispatched
	StateInterrupted State = "interrupted" // a part was refused; the rest can be sent later
	StateSent        State = "sent"        // all parts are dispatched
	StateFailed      State = "failed"      // the file cannot be read
	StateDiscarded   State = "discarded"   // a person discarded it, or cancelled its campaign
)

const (
	// MaxSize is the maximum size of a file in bytes.
	MaxSize = 200 << 20
	// MaxLines is the maximum number of lines of a file.
	MaxLines = 2_000_000
	// MaxOpen is the maximum number of submissions of a tenant that are not closed.
	MaxOpen = 20
	// Life is how long a submission and its files are kept. The files are deleted earlier, as
	// soon as they are sent or discarded.
	Life = 7 * 24 * time.Hour
)

// Submission is a list of people that becomes a campaign. A function reads its file in parts of
// campaign.MaxMessages, and dispatches each part as a batch. Its ID is the campaign's, so that a
// repeated step sends nothing twice.
type Submission struct {
	campaign.ID
	Version   int       `json:"-"` // number of writes of the row
	State     State     `json:"state"`
	By        string    `json:"by"` // email address of who uploads
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`

	Name            string `json:"name"`
	TemplateID      string `json:"templateId"`
	TemplateVersion int    `json:"templateVersion"` // as checked, the one that is sent
	Schedule        string `json:"schedule,omitempty"`
	NotAfter        string `json:"notAfter,omitempty"`

	// Draft is the draft that becomes the campaign, with its version when the form was opened. A form
	// that is not a draft has an ID that no draft has. A further file from the same form replaces the
	// submission.
	Draft        string `json:"draft,omitempty"`
	DraftVersion int    `json:"draftVersion,omitempty"`

	File     File     `json:"file"`
	Columns  Columns  `json:"columns"`
	Check    Check    `json:"check"`
	Approval Approval `json:"approval"`
	Sending  Sending  `json:"sending"`
	Fault    Fault    `json:"fault"`

	// FilesLeft reports that the submission is closed, and that its files are being deleted.
	FilesLeft bool `json:"filesLeft,omitempty"`
	// Repairs is how often in a row its task was queued again, because nothing was saved.
	Repairs int `json:"repairs,omitempty"`
}

// File is the uploaded file.
type File struct {
	Name     string `json:"name"`
	Size     int64  `json:"size"`               // bytes
	Modified string `json:"modified,omitempty"` // time of its last change, as the browser gives it
	Upload   string `json:"upload,omitempty"`   // ID of the upload
	Tag      string `json:"tag,omitempty"`      // ETag of the uploaded file
}

// Columns are the columns of the file, and which of them are used, by index.
type Columns struct {
	Header []string `json:"header,omitempty"`
	Phone  int      `json:"phone"`
	UID    int      `json:"uid"`
	Values []Column `json:"values,omitempty"` // by variable of the template
	// First holds the cells of the first lines, shortened, while the columns can be chosen.
	First [][]string `json:"first,omitempty"`
}

// Column is the column of a template's variable.
type Column struct {
	Name   string `json:"name"`
	Column int    `json:"column"`
}

// Approval is the decision of a second person.
type Approval struct {
	AskedBy string `json:"askedBy,omitempty"` // email address of who asked for it, once it is approved
}

// Sending is how much is dispatched.
type Sending struct {
	Parts    int `json:"parts"`    // dispatched parts
	Accepted int `json:"accepted"` // of their messages
	Rejected int `json:"rejected"` // of their messages
	// Erased is the number of their people who were erased before.
	Erased int `json:"erased,omitempty"`
	// RestAtOnce reports that the time of sending came too near before all parts were
	// dispatched: the rest waits for it, and then goes at once.
	RestAtOnce bool `json:"restAtOnce,omitempty"`
}

// Fault is why a submission failed or was interrupted: the code of a text, with its arguments.
type Fault struct {
	Code string   `json:"code,omitempty"`
	Args []string `json:"args,omitempty"`
}

// Totals returns the totals of the submission after the dispatched parts.
func (s Submission) Totals() campaign.SubmissionTotals {
	found := s.Check.Findings
	return campaign.SubmissionTotals{
		Lines: s.Check.Rows, Invalid: found.Invalid(), Faulty: found.Faulty(), Repeated: found.Repeated.Count,
		People: found.Accepted, Erased: s.Sending.Erased, Accepted: s.Sending.Accepted,
		PartsToCome: s.Check.Parts - s.Sending.Parts, Until: s.ExpiresAt(),
	}
}

// ExpiresAt returns when the submission and its files are deleted.
func (s Submission) ExpiresAt() time.Time { return s.CreatedAt.Add(Life) }

// Closed reports whether nothing of the submission is left to do.
func (s Submission) Closed() bool {
	return s.State == StateSent || s.State == StateFailed || s.State == StateDiscarded
}

// Working reports whether the submission waits for a function.
func (s Submission) Working() bool {
	return s.State == StateOpening || s.State == StateChecking || s.State == StateSending
}

// Editable reports whether the columns, the name, the template and the times can still be changed.
func (s Submission) Editable() bool { return s.State == StateColumns || s.State == StateReady }

// Due returns when the campaign is to be sent, zero for immediately.
func (s Submission) Due() time.Time {
	due, _ := localtime.Parse(s.Schedule) // invalid times are refused before
	return due
}

const (
	// RepairAfter is how long after a write the task of a submission counts as lost, less the
	// slot. It exceeds the function's timeout.
	RepairAfter = 150 * time.Second
	// slot is the time in which all writes have the same next check, because each change of it
	// writes the index too.
	slot = 20 * time.Second
	// MaxRepairs is how often in a row a task is queued again before the submission ends.
	MaxRepairs = 8
	// maxDoubled is how often the time until the next repair is doubled.
	maxDoubled = 6
)

// NextCheck returns when the task of a submission that is written now counts as lost. It is zero
// for a submission without one.
func (s Submission) NextCheck(now time.Time) time.Time {
	if !s.Working() && !s.FilesLeft {
		return time.Time{}
	}
	if due := s.Due(); s.State == StateSending && s.Sending.RestAtOnce && due.After(now) { // the task waits for it
		now = due
	}
	return now.Add(RepairAfter << min(s.Repairs, maxDoubled)).Truncate(slot)
}

// The prefixes of the keys of all uploaded files and of all their parts.
const (
	WorkPrefix  = "work/"
	PartsPrefix = "parts/"
)

func (s Submission) folder() string { return s.Tenant + "/" + s.CampaignID + "/" }

// Folders returns the prefixes of the keys of the submission's files and parts.
func (s Submission) Folders() []string {
	return []string{WorkPrefix + s.folder(), PartsPrefix + s.folder()}
}

// FileKey returns the key of the uploaded file.
func (s Submission) FileKey() string { return WorkPrefix + s.folder() + "file" }

// PartKey returns the key of a part, from 1. Each check of the file has its own, so that a late
// function of an earlier check cannot replace what was approved.
func (s Submission) PartKey(part int) string {
	return PartsPrefix + s.folder() + "check-" + strconv.Itoa(s.Check.Number) + "/part-" + strconv.Itoa(part)
}

// OutKey returns the key of a file of the lines that were left out, from 1.
func (s Submission) OutKey(number int) string {
	return PartsPrefix + s.folder() + "check-" + strconv.Itoa(s.Check.Number) + "/out-" + strconv.Itoa(number)
}

// PartID identifies a part of the file as it was checked last, from 1.
func (s Submission) PartID(part int) string {
	return campaign.Digest(s.CampaignID + "\n" + s.File.Tag + "\n" + strconv.Itoa(s.Check.Number) + "\n" + strconv.Itoa(part))
}

// Task asks to continue a submission. It can arrive more than once.
type Task struct {
	Tenant     string `json:"tenant"`
	CampaignID string `json:"campaignId"`
	// Receives is the number of times the task was received, including this one.
	Receives int `json:"-"`
}

// Received sets the number of times the task was received.
func (t *Task) Received(times int) { t.Receives = times }
