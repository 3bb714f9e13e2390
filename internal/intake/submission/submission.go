// Package submission has the values of a submission: a list of people on its way to become the
// batches of a campaign.
package submission

import (
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/rollout"
)

// State is the progress of a submission.
type State string

// The states of a submission.
const (
	StateDraft       State = "draft"       // a person goes on later
	StateUploading   State = "uploading"   // the browser sends the file
	StateOpening     State = "opening"     // the file's columns are read
	StateColumns     State = "columns"     // a person confirms the columns
	StateChecking    State = "checking"    // the file is read and checked
	StateReady       State = "ready"       // a person confirms the campaign
	StateApproval    State = "approval"    // a second person has to approve it
	StateRefused     State = "refused"     // the second person refused it; who asked may correct it
	StateSending     State = "sending"     // parts are being dispatched
	StateHolding     State = "holding"     // the parts of a wave are dispatched; a person opens the next one
	StateInterrupted State = "interrupted" // a part was refused; the rest can be sent later
	StateSent        State = "sent"        // all parts are dispatched
	StateFailed      State = "failed"      // the file cannot be read
	StateDiscarded   State = "discarded"   // a person discarded it, or cancelled its campaign
)

// The limits of submissions.
const (
	MaxSize    = 200 << 20           // bytes of a file
	MaxLines   = 2_000_000           // of a file
	MaxOpen    = 20                  // submissions of a tenant that are not closed, but for drafts
	MaxDrafts  = 50                  // of a tenant
	Life       = 7 * 24 * time.Hour  // in which a submission has to be sent; it is discarded afterwards
	DraftLife  = 30 * 24 * time.Hour // in which a draft has to be sent or saved again
	ClosedLife = 30 * 24 * time.Hour // after its life, and after its campaign's time
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
	// SavedAt is when it was saved as a draft the last time, zero if it never was.
	SavedAt time.Time `json:"savedAt,omitzero"`

	Name            string `json:"name"`
	TemplateID      string `json:"templateId"`
	TemplateVersion int    `json:"templateVersion"` // as checked, the one that is sent
	Schedule        string `json:"schedule,omitempty"`
	NotAfter        string `json:"notAfter,omitempty"`

	File     File         `json:"file"`
	Reading  Reading      `json:"reading,omitzero"`
	Columns  Columns      `json:"columns"`
	Check    Check        `json:"check"`
	Plan     rollout.Plan `json:"plan,omitzero"`
	Approval Approval     `json:"approval"`
	Sending  Sending      `json:"sending"`
	Fault    Fault        `json:"fault"`

	// DiscardedBy is the email address of who discarded it, "" if nobody did.
	DiscardedBy string    `json:"discardedBy,omitempty"`
	DiscardedAt time.Time `json:"discardedAt,omitzero"`

	// DeletingFiles reports that the submission is closed, and that its files are being deleted.
	DeletingFiles bool `json:"deletingFiles,omitempty"`
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
	// Object is a random name. Each stored file has its own, so that what is refused leaves the
	// stored file as it is.
	Object string `json:"object,omitempty"`
	// Digest identifies what the form sent, so that the same form is known again.
	Digest string `json:"digest,omitempty"`
}

// Columns are the columns of the file, and which of them are used.
type Columns struct {
	Header []string `json:"header,omitempty"`
	Chosen
	// First holds the cells of the first lines, shortened, while the columns can be chosen.
	First [][]string `json:"first,omitempty"`
	// Encodings are those among which a person chooses before the file is checked, if it has lines that are not UTF-8
	// and can be read in more ways than one.
	Encodings []EncodingChoice `json:"encodings,omitempty"`
	// Sheet is the name of the workbook's sheet that was read.
	Sheet string `json:"sheet,omitempty"`
	// Sheets are the visible sheets of a workbook that have rows, if there are several.
	Sheets []string `json:"sheets,omitempty"`
}

// Chosen says which column of a file has which value. A column is an index, -1 for none.
type Chosen struct {
	Phone  int      `json:"phone"`
	UID    int      `json:"uid"`
	Values []Column `json:"values,omitempty"` // by variable of the template
}

// Each visits the values by their names, with their columns. A variable can have the name phone or uid too.
func (c *Chosen) Each(visit func(name string, column *int)) {
	visit("phone", &c.Phone)
	visit("uid", &c.UID)
	for n := range c.Values {
		visit(c.Values[n].Name, &c.Values[n].Column)
	}
}

// Missing returns the names of the values without a column.
func (c Chosen) Missing() (names []string) {
	c.Each(func(name string, column *int) {
		if *column < 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	return names
}

// Column is the column of a template's variable.
type Column struct {
	Name   string `json:"name"`
	Column int    `json:"column"`
}

// Sending is how much is dispatched.
type Sending struct {
	Parts    int `json:"parts"`    // dispatched parts
	Accepted int `json:"accepted"` // of their messages
	Rejected int `json:"rejected"` // of their messages
	// Erased is the number of their people who were erased before.
	Erased int `json:"erased,omitempty"`
	// InOtherBatches is the number of their people whose number another batch of the campaign had before.
	InOtherBatches int `json:"inOtherBatches,omitempty"`
	// RestAtOnce reports that the time of sending came too near before all parts were
	// dispatched: the rest waits for it, and then goes at once.
	RestAtOnce bool `json:"restAtOnce,omitempty"`
	// Waves are the waves that were opened, in order. A campaign that goes at once has none.
	Waves []Opened `json:"waves,omitempty"`
}

// Fault is why a file cannot be used, or why a submission failed or was interrupted: the code of a text, with its arguments.
type Fault struct {
	Code string   `json:"code,omitempty"`
	Args []string `json:"args,omitempty"`
}

func (f *Fault) Error() string { return "file of recipients: " + f.Code }

// Totals returns the totals of the submission after the dispatched parts.
func (s Submission) Totals() campaign.SubmissionTotals {
	found := s.Check.Findings
	return campaign.SubmissionTotals{
		Lines: s.Check.Rows, Invalid: found.Invalid(), Faulty: found.Faulty(), Repeated: found.Repeated.Count,
		People: found.Accepted, Withheld: found.Withheld(),
		Erased: s.Sending.Erased, InOtherBatches: s.Sending.InOtherBatches, Accepted: s.Sending.Accepted,
		PartsToCome: s.Check.Parts - s.Sending.Parts, Check: s.Check.Number, Parts: s.Check.Parts, PartsDone: s.Sending.Parts,
		Cells: s.Cells(), Until: s.FilesUntil(),
	}
}

// FilesUntil returns when the submission is discarded, with its files, if it is not closed. One with a
// request for approval has more time, as has one that goes in waves. One that was saved as a draft lives as long as the
// draft. The next wave of a campaign waits until its time ends.
func (s Submission) FilesUntil() time.Time {
	if s.State == StateHolding && s.Sending.Wave() > 0 {
		return s.wavesEnd()
	}
	end := s.CreatedAt.Add(Life)
	if saved := s.SavedAt.Add(DraftLife); saved.After(end) {
		end = saved
	}
	if opened := s.Sending.Wave(); opened > 1 { // in the last minute, perhaps
		end = campaign.Later(end, s.Sending.Waves[opened-1].At.Add(Life))
	}
	return campaign.Later(campaign.Later(end, s.Approval.openUntil(s.Due())), s.wavesEnd())
}

// ExpiresAt returns when the submission is deleted, long after it was closed.
func (s Submission) ExpiresAt() time.Time {
	end := s.FilesUntil()
	if due := s.Due(); due.After(end) {
		end = due
	}
	return end.Add(ClosedLife)
}

// Close returns the submission with a state that closes it. Its files are still to be deleted.
func (s Submission) Close(as State) Submission {
	s = s.Slim()
	s.State, s.DeletingFiles, s.Repairs = as, true, 0
	return s
}

// Closed reports whether nothing of the submission is left to do.
func (s Submission) Closed() bool {
	return s.State == StateSent || s.State == StateFailed || s.State == StateDiscarded
}

// Slim returns a closed submission without what only a person who decides needs: the columns, the corrected numbers, and
// the lines of the findings. Lists read many closed submissions.
func (s Submission) Slim() Submission {
	s.Columns, s.Reading.Corrections = Columns{Chosen: s.Columns.Chosen}, nil
	s.Check.Findings = s.Check.Findings.withoutLines()
	s.Check.Cells = withoutBookings(s.Check.Cells)
	return s
}

// Working reports whether the submission waits for a function.
func (s Submission) Working() bool {
	return s.State == StateOpening || s.State == StateChecking || s.State == StateSending
}

// Begun reports whether the submission was confirmed, and parts of it are still to be dispatched.
func (s Submission) Begun() bool {
	return s.State == StateSending || s.State == StateInterrupted || s.State == StateHolding
}

// Confirmed reports whether a person has confirmed that the campaign is sent. Its parts are dispatched with the version of
// the template that was checked, whatever is saved later.
func (s Submission) Confirmed() bool {
	return s.Begun() || s.State == StateSent
}

// Editable reports whether the columns, the name, the template and the times can still be changed.
func (s Submission) Editable() bool { return s.State == StateColumns || s.State == StateReady }

// Undecided reports whether a person has to say how the file is read, before it is checked.
func (s Submission) Undecided() bool { return s.Reading.Undecided(s.Columns) }

// Replaceable reports whether nobody has decided about the submission: its form can have another file,
// or become a draft.
func (s Submission) Replaceable() bool {
	return slices.Contains([]State{StateDraft, StateUploading, StateOpening, StateColumns, StateChecking, StateReady}, s.State)
}

// HasFile reports whether its form needs no other file.
func (s Submission) HasFile() bool {
	return s.File.Name != "" && (s.State == StateDraft || s.Editable())
}

// Form returns the submission as what is entered in its form, with another file. The number of its
// last check stays, because its functions may still work.
func (s Submission) Form(asked Submission) Submission {
	s.By, s.Name, s.TemplateID, s.File = asked.By, asked.Name, asked.TemplateID, asked.File
	s.Schedule, s.NotAfter = asked.Schedule, asked.NotAfter
	s.Reading, s.Columns, s.Check, s.Fault, s.Repairs = Reading{}, Columns{}, Check{Number: s.Check.Number}, Fault{}, 0
	s.Plan = rollout.Plan{}
	return s
}

// Due returns when the campaign is to be sent, zero for immediately.
func (s Submission) Due() time.Time {
	due, _ := localtime.Parse(s.Schedule) // invalid times are refused before
	return due
}

// Moved returns the submission with the time of the last reschedule of its campaign.
func (s Submission) Moved(last campaign.Move) Submission {
	if last.Revision > 0 {
		s.Schedule = last.Due.UTC().Format(time.RFC3339Nano)
	}
	return s
}

// DueFrom returns when the messages are due, at the earliest now.
func (s Submission) DueFrom(now time.Time) time.Time {
	if due := s.Due(); due.After(now) {
		return due
	}
	return now
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
	maxDoubled = 6 // how often the time until the next repair is
)

// NextCheck returns when the task of a submission that is written now counts as lost, or when a
// submission that waits for a person expires. It is zero for a closed one.
func (s Submission) NextCheck(now time.Time) time.Time {
	switch {
	case s.DeletingFiles:
	case s.Closed():
		return time.Time{}
	case !s.Working():
		return s.FilesUntil()
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

func folder(id campaign.ID) string { return id.Tenant + "/" + id.CampaignID + "/" }

// Folders returns the prefixes of the keys of the submission's files and parts.
func (s Submission) Folders() []string {
	return []string{WorkPrefix + folder(s.ID), PartsPrefix + folder(s.ID)}
}

// FileKey returns the key of the uploaded file.
func (s Submission) FileKey() string { return WorkPrefix + folder(s.ID) + "file-" + s.File.Object }

// PartKey returns the key of a part, from 1. Each check of the file has its own, so that a late
// function of an earlier check cannot replace what was approved.
func (s Submission) PartKey(part int) string { return s.CheckFolder() + partName(s.Cells(), part) }

// CellPartKey returns the key of a part by its number in its cell, from 1. A file that is not divided has the cell 0.
func (s Submission) CellPartKey(cell, part int) string {
	if !s.Check.Divided() {
		return s.PartKey(part)
	}
	return s.CheckFolder() + cellPartName(cell, part)
}

func checkFolder(id campaign.ID, check int) string {
	return PartsPrefix + folder(id) + "check-" + strconv.Itoa(check) + "/"
}

// CheckFolder returns the prefix of the keys of what the last check wrote.
func (s Submission) CheckFolder() string { return checkFolder(s.ID, s.Check.Number) }

// NotAcceptedKey returns the key of a part that is not accepted any more, by the campaign's totals. The
// submission may be deleted.
func NotAcceptedKey(id campaign.ID, t campaign.SubmissionTotals, part int) string {
	return checkFolder(id, t.Check) + partName(t.Cells, part)
}

// OutKey returns the key of a file of the lines that were left out, from 1.
func (s Submission) OutKey(number int) string {
	return s.CheckFolder() + "out-" + strconv.Itoa(number)
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
