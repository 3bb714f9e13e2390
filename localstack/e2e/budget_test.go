package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// A batch reserves its price, a call beyond the budget is refused, and undelivered messages
// give their price back.
func TestDispatch_Budget(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	c.limitMonth(3_000_000)
	all := messages(3)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all[:1], "unreachable"), nil)
	call := c.call(all)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	if got := c.dispatch(c.call(messages(2))); got.status != http.StatusConflict || got.Code != "budget_exceeded" {
		t.Fatalf("beyond the budget: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "the price of two delivered messages", func() bool { return c.reservedThisMonth() == 2_000_000 })
	if got := c.read(call).Counts; got["failed"] != 1 {
		t.Errorf("counts %v", got)
	}

	later := c.call(messages(1))
	later["schedule"] = time.Now().Add(time.Hour).Format(time.RFC3339)
	if got := c.dispatch(later); got.status != http.StatusAccepted {
		t.Fatalf("schedule: status %d: %s", got.status, got.body)
	}
	address := "/api/v1/external/campaigns/" + later["campaignId"].(string) + "/cancel"
	if got := c.do(http.MethodPost, address, nil, "Authorization", "Bearer "+c.token()); got.status != http.StatusAccepted {
		t.Fatalf("cancel: status %d: %s", got.status, got.body)
	}
	if got := c.reservedThisMonth(); got != 2_000_000 {
		t.Errorf("reserved %s after the cancellation, want 2.00", got)
	}
}

// limitMonth sets a price of 1.00 for all messages, and a limit for a month.
func (c *client) limitMonth(limit campaign.Money) {
	c.t.Helper()
	must(c.t, c.store().SetBilling(c.t.Context(), c.env["TENANT"], campaign.Billing{
		Prices: campaign.Prices{Basic: 1_000_000, Single: 1_000_000}, Limits: campaign.Spending{Month: limit},
	}))
}

// reservedThisMonth returns what the tenant's batches have reserved for all days near now,
// also if the month or the day changes during the test.
func (c *client) reservedThisMonth() (sum campaign.Money) {
	c.t.Helper()
	months := map[string]bool{}
	for _, from := range []time.Duration{-6 * time.Hour, 0, 6 * time.Hour} {
		date := localtime.Day(time.Now().Add(from))
		if month := campaign.MonthOf(date); !months[month] {
			months[month] = true
			used, err := c.store().Spending(c.t.Context(), c.env["TENANT"], date)
			must(c.t, err)
			sum += used.Month
		}
	}
	return sum
}
