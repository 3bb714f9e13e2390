package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/insight/recount"
)

// The day of a campaign counts what was sent, delivered and failed, and a recount finds the
// same.
func TestResults_ByDay(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	all := messages(3)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all[:1], "unreachable"), nil)
	if got := c.dispatch(c.call(all)); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	done := func() bool {
		got := c.results()
		return got.Sent == 2 && got.Delivered == 2 && got.Failed == 1
	}
	c.eventually(5*time.Minute, "two delivered and one failed message", done)
	must(t, (&recount.Recounter{Store: c.store(), Now: time.Now}).Tenant(t.Context(), c.env["TENANT"]))
	if !done() {
		t.Errorf("after the recount: %+v", c.results())
	}
}

// results sums the results of the days near now.
func (c *client) results() (sum campaign.DayCounts) {
	c.t.Helper()
	days, err := c.store().Days(c.t.Context(), c.env["TENANT"], localtime.Day(time.Now().Add(-24*time.Hour)), localtime.Day(time.Now()))
	must(c.t, err)
	for _, d := range days {
		sum = sum.Plus(d.DayCounts)
	}
	return sum
}
