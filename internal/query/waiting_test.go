package query_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// Messages without any sending hours left have no time at which they can go, and one at which they end.
func TestServeCampaign_EndsAt(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveTenantHours(t.Context(), d.id.Tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	d.accept(1, "", 3, func(b *campaign.Batch) {
		b.SendWindow = &window.Week{time.Sunday: {From: 9 * 60, Until: 21 * 60}}
		b.Zones, b.Waits.Zones = []window.Count{{Zone: window.Manaus, Messages: 3}}, window.Set(0).With(window.Manaus)
		b.NeverOpen = campaign.NeverOpen{Zones: b.Waits.Zones, Since: noon}
	})
	status, got := d.get("")
	want := []any{object{"zone": "America/Manaus", "messages": 3.0, "endsAt": "2037-11-24T12:00:00Z", "reason": "send_window"}}
	if diff := cmp.Diff(want, got["waiting"]); status != http.StatusOK || diff != "" {
		t.Errorf("%d %s", status, diff)
	}
}
