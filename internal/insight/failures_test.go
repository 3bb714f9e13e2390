package insight_test

import (
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

// Attempts that failed are a part of those that ended. Numbers without RCS, withheld messages and those that were never sent
// are no attempts; what the provider took is one, whatever became of it.
func TestFailures(t *testing.T) {
	t.Parallel()
	failed := func(code string, n int) map[campaign.Reason]int {
		return map[campaign.Reason]int{{Outcome: campaign.OutcomeFailed, Code: code}: n}
	}
	type ends struct {
		counts        map[campaign.Outcome]int
		reasons       map[campaign.Reason]int
		failed, ended int
	}
	all := map[string]ends{
		"nothing yet":               {},
		"delivered":                 {map[campaign.Outcome]int{"read": 30, "delivered": 20, "sent": 10, "revoked": 5}, nil, 0, 65},
		"not delivered in time":     {map[campaign.Outcome]int{"expired": 7}, map[campaign.Reason]int{{Outcome: "expired", Code: campaign.CodeTTLPassed}: 7}, 0, 7},
		"too late to be sent":       {map[campaign.Outcome]int{"expired": 7}, map[campaign.Reason]int{{Outcome: "expired", Code: campaign.CodeWindowClosed}: 7}, 0, 0},
		"cancelled before":          {map[campaign.Outcome]int{"stopped": 7}, map[campaign.Reason]int{{Outcome: "stopped", Code: campaign.CodeCancelled}: 7}, 0, 0},
		"another failure":           {map[campaign.Outcome]int{"failed": 4}, failed(campaign.CodeFailed, 4), 0, 4},
		"some were delivered later": {map[campaign.Outcome]int{"failed": 3, "delivered": 6}, failed(campaign.CodeRejected, 5), 3, 9},
		"suppressed by several lists": {
			map[campaign.Outcome]int{"failed": 5, "sent": 1},
			map[campaign.Reason]int{{Outcome: "failed", Code: campaign.CodeSuppressed, List: 1}: 2, {Outcome: "failed", Code: campaign.CodeSuppressed, List: 2}: 3},
			0, 1,
		},
	}
	for _, code := range []string{
		campaign.CodeUnsupported, campaign.CodeRejected, campaign.CodeAgentNotLaunched, "text_too_long", "invalid_url", campaign.CodeNotSentInTime, campaign.CodePayloadMissing,
	} {
		all[code] = ends{map[campaign.Outcome]int{"failed": 4, "delivered": 6}, failed(code, 4), 4, 10}
	}
	for _, code := range []string{campaign.CodeUnreachable, campaign.CodeOptedOut, campaign.CodeErased} {
		all[code] = ends{map[campaign.Outcome]int{"failed": 4, "delivered": 6}, failed(code, 4), 0, 6}
	}
	for name, test := range all {
		b := campaign.BatchProgress{Head: campaign.LedgerSummary{Counts: test.counts, Reasons: test.reasons}}
		if failed, ended := insight.Failures([]campaign.BatchProgress{b, b}); failed != 2*test.failed || ended != 2*test.ended {
			t.Errorf("%s, twice: %d of %d, want %d of %d", name, failed, ended, 2*test.failed, 2*test.ended)
		}
	}
}
