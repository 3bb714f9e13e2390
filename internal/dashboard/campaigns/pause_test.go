package campaigns_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
)

// A campaign is paused and resumed on its page. Each form is sent twice.
func TestPause(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	send := func(action string) {
		t.Helper()
		for range 2 {
			if a := d.admin().Post(pathOf(b)+"/"+action, url.Values{}); a.Status != http.StatusSeeOther || a.Location != pathOf(b) {
				t.Fatalf("%s gets %d to %q: %s", action, a.Status, a.Location, a.Text())
			}
		}
	}
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "Sending", "Pause sending")
	says(t, "the question", d.admin().Get(pathOf(b)+"/pause").Text(), "Messages that were not sent yet and will wait: 54.")
	send("pause")
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "Paused", "Paused on", "Resume sending")
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Natal", "Paused 1,000")
	says(t, "what is paused", d.admin().Get(campaigns.Path+"?status=paused").Text(), "Natal")
	if text := d.admin().Get(campaigns.Path + "?status=sending").Text(); strings.Contains(text, "Natal") {
		t.Errorf("a paused campaign is listed as sending:\n%s", text)
	}
	says(t, "the question", d.admin().Get(pathOf(b)+"/resume").Text(), "Messages that were not sent yet: 54.")
	send("resume")
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "Sending", "Pause sending")
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Natal", "Sending 1,000")
	want := []string{"admin@example.com campaign.pause Natal", "admin@example.com campaign.resume Natal"}
	if diff := cmp.Diff(want, d.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestPause_Scheduled(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	if a := d.admin().Post(pathOf(b)+"/pause", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("pausing gets %d: %s", a.Status, a.Text())
	}
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "Paused", "Resume sending", "Change the time", "Cancel campaign")
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Natal", "Paused 3")
}

func TestPause_Completed(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, nil)
	d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
	if text := d.admin().Get(pathOf(b)).Text(); strings.Contains(text, "Pause") {
		t.Errorf("a completed campaign can be paused:\n%s", text)
	}
	a := d.admin().Post(pathOf(b)+"/pause", url.Values{})
	if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "there is nothing left to pause") || len(d.Audited()) > 0 {
		t.Errorf("got %d, audited %q: %s", a.Status, d.Audited(), a.Text())
	}
}
