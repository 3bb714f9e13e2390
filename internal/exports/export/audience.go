package export

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

// Audience is a group of a campaign's recipients.
type Audience string

// The audiences of a follow-up campaign.
const (
	AudienceUnread Audience = "unread" // got the message, and did not read it
	AudienceMissed Audience = "missed" // got no message, neither opted out nor on a list
	AudienceTapped Audience = "tapped" // tapped a suggestion, or clicked a link
)

// Audiences are all audiences.
func Audiences() []Audience { return []Audience{AudienceUnread, AudienceMissed, AudienceTapped} }

// lost are the outcomes of messages that nobody got.
func lost() []campaign.Outcome {
	return []campaign.Outcome{campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped}
}

// Has reports whether a recipient belongs to the audience. latest is the message's latest outcome, and touched
// whether it was tapped or clicked.
func (a Audience) Has(latest campaign.Change, touched bool) bool {
	switch a {
	case AudienceUnread:
		return latest.Outcome == campaign.OutcomeDelivered
	case AudienceTapped:
		return touched
	case AudienceMissed:
	}
	return slices.Contains(lost(), latest.Outcome) && latest.Code != campaign.CodeOptedOut && latest.Code != campaign.CodeSuppressed
}

// People returns the number of the campaign's people who belong to the audience, with those of the parts that are not
// accepted any more. It needs the heads of the batches. People who were erased are counted.
func (a Audience) People(c campaign.Campaign) (n int) {
	if a == AudienceMissed {
		n = c.Submission.NeverAccepted()
	}
	for _, b := range c.Batches {
		n += a.count(b.Head)
	}
	return n
}

// count returns the number of a batch's recipients for whom Has reports true.
func (a Audience) count(h campaign.LedgerSummary) (n int) {
	switch a {
	case AudienceUnread:
		return h.Counts[campaign.OutcomeDelivered]
	case AudienceTapped:
		return h.Touched
	case AudienceMissed:
	}
	for _, outcome := range lost() {
		n += h.Counts[outcome]
	}
	return n - h.OptedOut() - h.Suppressed()
}
