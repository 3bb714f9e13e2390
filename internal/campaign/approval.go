package campaign

import "time"

// ApprovalState is the state of a request for approval.
type ApprovalState string

// The states of a request for approval.
const (
	ApprovalWaiting   ApprovalState = "waiting"
	ApprovalApproved  ApprovalState = "approved" // not all of it is sent yet
	ApprovalRefused   ApprovalState = "refused"
	ApprovalWithdrawn ApprovalState = "withdrawn" // the campaign was discarded
	ApprovalSent      ApprovalState = "sent"
)

// Approval is a campaign of the dashboard that a second person has to approve. It fixes what
// is sent.
type Approval struct {
	Tenant          string
	CampaignID      string
	Name            string
	TemplateID      string
	TemplateVersion int
	Schedule        string // as entered, "" for immediately
	NotAfter        string // as entered, "" for no limit
	FileName        string
	Hash            string // SHA-256 of the file, hex
	People          int    // lines of the file, without repeated numbers
	Import          bool   // it is a submission with the ID of the campaign
	Draft           string // the draft that becomes the campaign, or ""
	DraftVersion    int    // that was asked for
	By              string // email address of who asked
	At              time.Time
	State           ApprovalState
	DecidedBy       string
	DecidedAt       time.Time
	Reason          string // of a refusal
}

// Waiting returns the number of requests that a person may decide: those of others that wait.
func Waiting(all []Approval, email string) (n int) {
	for _, a := range all {
		if a.State == ApprovalWaiting && a.By != email {
			n++
		}
	}
	return n
}

// Blob returns the key of the file.
func (a Approval) Blob() string { return DraftPrefix + a.Tenant + "/approval-" + a.CampaignID }
