package campaign_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// Every code that can be recorded has a row with a description in all places.
func TestMessageCodes_Complete(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	recorded := []string{content.CodeTextTooLong, content.CodeInvalidURL}
	for _, constant := range regexp.MustCompile(`(?m)^\tCode\w+ += "(\w+)"`).FindAllSubmatch(source, -1) {
		if code := string(constant[1]); code != campaign.CodeSuperseded {
			recorded = append(recorded, code)
		}
	}
	if len(recorded) != len(campaign.MessageCodes)-1 {
		t.Errorf("%d codes can be recorded, and %d are in the table", len(recorded), len(campaign.MessageCodes)-1)
	}
	for _, code := range recorded {
		row, known := campaign.DescribeCode(code)
		if !known {
			t.Errorf("code %s has no description", code)
			continue
		}
		texts := []campaign.Text{row.Reason}
		if code != campaign.CodeFailed { // the documents list only codes with a meaning of their own
			texts = append(texts, row.Meaning, row.Action)
		}
		for _, text := range texts {
			if text.English == "" || text.Portuguese == "" || row.Outcome == "" {
				t.Errorf("code %s lacks a text or its outcome: %+v", code, row)
			}
		}
	}
}

// A change of an assigned number makes stored outcomes unreadable.
func TestStoredCodes_NeverChange(t *testing.T) {
	t.Parallel()
	want := []string{
		"", "superseded", "failed", "ttl_passed", "revoked", "cancelled", "no_answer", "unreachable", "unsupported",
		"agent_not_launched", "rejected", "opted_out", "not_after_passed", "payload_missing", "not_sent_in_time",
		"text_too_long", "erased",
	}
	if diff := cmp.Diff(want, campaign.StoredCodes()); diff != "" {
		t.Errorf("codes by number (-want +got):\n%s", diff)
	}
}

// The default codes of outcomes, and codes without a description.
func TestWhy(t *testing.T) {
	t.Parallel()
	const general = "The message could not be delivered."
	for name, test := range map[string]struct {
		change       campaign.Change
		code, reason string
	}{
		"delivered": {campaign.Change{Outcome: campaign.OutcomeDelivered, Code: "erased"}, "", ""},
		"revoked": {
			campaign.Change{Outcome: campaign.OutcomeRevoked, Code: "cancelled"},
			"revoked", "The message was revoked before it was delivered.",
		},
		"stopped":    {campaign.Change{Outcome: campaign.OutcomeStopped}, "cancelled", "The campaign was cancelled before the message was sent."},
		"expired":    {campaign.Change{Outcome: campaign.OutcomeExpired}, "ttl_passed", "The message could not be delivered in time."},
		"failed":     {campaign.Change{Outcome: campaign.OutcomeFailed}, "failed", general},
		"its code":   {campaign.Change{Outcome: campaign.OutcomeFailed, Code: "rejected"}, "rejected", "The provider refused the message."},
		"unknown":    {campaign.Change{Outcome: campaign.OutcomeFailed, Code: "new"}, "new", general},
		"superseded": {campaign.Change{Outcome: campaign.OutcomeFailed, Code: "superseded"}, "superseded", general},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, reason := test.change.Why(); code != test.code || reason != test.reason {
				t.Errorf("got %q, %q, want %q, %q", code, reason, test.code, test.reason)
			}
		})
	}
}
