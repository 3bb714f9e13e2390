package control_test

import (
	"crypto/rand"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// Rescheduling to a day without room is refused and changes nothing.
func TestServeReschedule_Budget(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "p", 1, campaign.BatchPending)
	other := b
	other.BatchID, other.Name, other.Reserved, other.ReservedOn = campaign.BatchID("q"), "q", 3_000_000, "2037-11-22"
	_, _ = rand.Read(other.Key[:])
	d.must(d.store.Accept(t.Context(), acceptance.Command{Batch: other, Campaign: "Entregas", Ordinal: 2, CreatedAt: noon}, rand.Text()))
	d.must(d.store.SetBilling(t.Context(), d.id.Tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 1_000_000, Single: 1_000_000}, Limits: campaign.Spending{Day: 5_000_000},
	}))

	const tomorrow = `{"batch":"p","schedule":"2037-11-22T13:00:00Z"}`
	if got := d.post("/reschedule", tomorrow); got != "200 scheduled" {
		t.Errorf("without a reservation: %s", got)
	}
	d.wantReserved("2037-11-22", "3.00")

	third := other
	third.BatchID, third.Name, third.ReservedOn = campaign.BatchID("r"), "r", "2037-11-21"
	_, _ = rand.Read(third.Key[:])
	d.must(d.store.Accept(t.Context(), acceptance.Command{Batch: third, Campaign: "Entregas", Ordinal: 3, CreatedAt: noon}, rand.Text()))
	handed := len(d.handed)
	if got := d.post("/reschedule", `{"batch":"r","schedule":"2037-11-22T13:00:00Z"}`); got != "409 budget_exceeded" {
		t.Error(got)
	}
	if now, err := d.store.Batch(t.Context(), third.BatchRef); err != nil || !now.Due.Equal(third.Due) || len(d.handed) != handed {
		t.Errorf("due at %v (%v), %d scheduled", now.Due, err, len(d.handed)-handed)
	}
	d.wantReserved("2037-11-21", "3.00")
	d.wantReserved("2037-11-22", "3.00")

	if got := d.post("/reschedule", `{"batch":"r","schedule":"2037-11-23T13:00:00Z"}`); got != "200 scheduled" {
		t.Error(got)
	}
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-23", "3.00")

	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	for _, date := range []string{"2037-11-22", "2037-11-23"} {
		d.wantReserved(date, "0.00")
	}
}

// wantReserved checks what is reserved for a date.
func (d *service) wantReserved(date, want string) {
	d.t.Helper()
	used, err := d.store.Spending(d.t.Context(), d.id.Tenant, date)
	d.must(err)
	if used.Day.String() != want {
		d.t.Errorf("reserved for %s: %s, want %s", date, used.Day, want)
	}
}
