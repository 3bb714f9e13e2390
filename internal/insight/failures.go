package insight

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// failures are the codes of attempts that failed for a reason in the message, the sender or the provider: a person who sees
// many of them stops a campaign.
var failures = map[string]bool{
	campaign.CodeUnsupported: true, campaign.CodeRejected: true, campaign.CodeAgentNotLaunched: true, content.CodeTextTooLong: true,
	content.CodeInvalidURL: true, campaign.CodeNotSentInTime: true, campaign.CodePayloadMissing: true,
}

// noAttempts are the codes of failed messages that say nothing about the others: those to numbers without RCS, and those
// that were withheld before they were sent.
var noAttempts = map[string]bool{
	campaign.CodeUnreachable: true, campaign.CodeOptedOut: true, campaign.CodeSuppressed: true, campaign.CodeErased: true,
}

// Failures returns how many attempts to send ended, and how many of them failed. An attempt ends well if the provider took
// the message, whatever became of it. Numbers without RCS do not count, nor do messages that were withheld.
func Failures(batches []campaign.BatchProgress) (failed, ended int) {
	for _, b := range batches {
		withheld, lost := 0, 0
		for reason, n := range b.Head.Reasons {
			switch {
			case reason.Outcome != campaign.OutcomeFailed:
			case noAttempts[reason.Code]:
				withheld += n
			case failures[reason.Code]:
				lost += n
			}
		}
		// Reasons have messages that were delivered later too.
		all := b.Head.Counts[campaign.OutcomeFailed]
		withheld = min(withheld, all)
		failed += min(lost, all-withheld)
		ended += b.Head.DayCounts().Sent + all - withheld
	}
	return failed, ended
}
