package send_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"campaign-dispatch/internal/campaign/content"

	"github.com/google/go-cmp/cmp"
)

// Rendering produces 3,070 characters plus a value of one to three digits.
func TestSender_TextTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(105)
		g.text = strings.Repeat("ã", 3070) + "{{nome}}"
		g.optedOut = map[string]bool{"+5511900000104": true}
		if errs := g.sender().Handle(t.Context(), g.frames()); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		ends := map[string]int{}
		for _, c := range g.outcomes {
			ends[string(c.Outcome)+" "+c.Code]++
		}
		if diff := cmp.Diff(map[string]int{"sent ": 100, "failed text_too_long": 4, "failed opted_out": 1}, ends); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if len(g.sends) != 100 || len(g.queued) > 0 {
			t.Errorf("the provider was called %d times, %d tasks were queued", len(g.sends), len(g.queued))
		}
		if code, reason := g.outcomes[100].Why(); code != content.CodeTextTooLong || reason == "The message could not be delivered." {
			t.Errorf("why: %q, %q", code, reason)
		}
	})
}
