package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// closedNow is a rule that is open on the day after tomorrow only.
func closedNow() reach.TenantHours {
	var rule reach.Rule
	rule.Week[time.Now().AddDate(0, 0, 2).Weekday()] = window.Hours{From: 9 * 60, Until: 18 * 60}
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: rule}}
}

// A message waits for the send window, the read-back says so, and it goes when the tenant removes its rule.
func TestWindow_ClosedThenRemoved(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	rule := closedNow()
	must(t, c.store().SaveTenantHours(t.Context(), c.env["TENANT"], rule))
	all := messages(150)
	call := c.call(all)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(3*time.Minute, "released", func() bool { return c.batch(ref).State == campaign.BatchSending })
	c.sweepNow(ref)
	var read struct {
		Waiting []struct {
			Zone, Reason string
			Messages     int
			OpensAt      time.Time
		}
	}
	got := c.do(http.MethodGet, "/api/v1/external/campaigns/"+ref.CampaignID, nil, "Authorization", "Bearer "+c.token())
	must(t, json.Unmarshal(got.body, &read))
	messages := 0
	for _, w := range read.Waiting {
		messages += w.Messages
		if w.Reason != "send_window" || !w.OpensAt.After(time.Now().Add(24*time.Hour)) {
			t.Errorf("waiting: %+v", w)
		}
	}
	if messages != 150 || c.accepted(all) > 0 {
		t.Errorf("%d messages wait, and %d were sent, want 150 and none", messages, c.accepted(all))
	}

	must(t, c.store().SaveTenantHours(t.Context(), c.env["TENANT"], reach.TenantHours{Revision: 1}))

	c.eventually(5*time.Minute, "sent without the rule", func() bool { c.sweepNow(ref); return c.sentOnce(all) })
}
