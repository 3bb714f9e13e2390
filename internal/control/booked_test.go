package control_test

import (
	"fmt"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

const (
	// lastEvening is 22:00 on November 30 in São Paulo and 20:00 in Acre: only there the usual hours are not over.
	lastEvening = "2037-12-01T01:00:00Z"
	morning     = "2037-12-01T15:00:00Z"
)

// putHours saves the usual hours of promotions, at a revision.
func (d *service) putHours(revision int, holidays ...string) {
	d.t.Helper()
	d.must(d.store.SaveTenantHours(d.t.Context(), d.id.Tenant, reach.TenantHours{
		Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}, Holidays: holidays, Revision: revision,
	}))
}

// in makes a batch one to people in a zone.
func in(z window.Zone) func(b *campaign.Batch) {
	return func(b *campaign.Batch) { b.Zones = []window.Count{{Zone: z, Messages: 1}} }
}

// limits sets the limits of the tenant's budget.
func (d *service) limits(day, month campaign.Money) {
	d.t.Helper()
	d.must(d.store.SetBilling(d.t.Context(), d.id.Tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 1_000_000, Single: 1_000_000}, Limits: campaign.Spending{Day: day, Month: month},
	}))
}

// Rescheduling books a batch on the first opening from the new time on, in the next month too. Without room there it is
// refused, whatever room the day of the new time has.
func TestReschedule_OverTheEndOfAMonth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zone     window.Zone
		booked   string // another batch's date
		schedule string
		want     string
		date     string
	}{
		"to December":               {window.SaoPaulo, "", lastEvening, "200 scheduled", "2037-12-01"},
		"November is full":          {window.SaoPaulo, "2037-11-30", lastEvening, "200 scheduled", "2037-12-01"},
		"December is full":          {window.SaoPaulo, "2037-12-15", lastEvening, "409 budget_exceeded", "2037-11-21"},
		"in Acre":                   {window.RioBranco, "2037-12-15", lastEvening, "200 scheduled", "2037-11-30"},
		"in Acre, November is full": {window.RioBranco, "2037-11-30", morning, "200 scheduled", "2037-12-01"},
		"zones that are not known":  {0, "2037-11-30", lastEvening, "200 scheduled", "2037-12-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			d.putHours(0)
			b := d.waiting(1, 1_000_000, func(b *campaign.Batch) {
				if test.zone != 0 {
					in(test.zone)(b)
				}
			})
			if test.booked != "" {
				d.waiting(2, 1_000_000, func(b *campaign.Batch) { b.ReservedOn = test.booked })
			}
			d.limits(1_000_000, 2_000_000)
			if test.booked == "2037-12-15" {
				d.limits(1_000_000, 1_000_000)
			}
			c := d.campaign()
			_, checked := d.service.MayRescheduleBatch(t.Context(), c, b.Name, test.schedule)
			if got := d.post("/reschedule", fmt.Sprintf(`{"batch":%q,"schedule":%q}`, b.Name, test.schedule)); got != test.want {
				t.Fatal(got)
			}
			if refused := d.code(checked) != ""; refused == (test.want == "200 scheduled") {
				t.Errorf("checked: %v", checked)
			}
			d.wantBooked(b, test.date)
			d.wantReserved(test.date, "1.00")
		})
	}
}

// wantBooked checks the date of a batch's reservation.
func (d *service) wantBooked(b campaign.Batch, date string) {
	d.t.Helper()
	now, err := d.store.Batch(d.t.Context(), b.BatchRef)
	d.must(err)
	if now.ReservedOn != date {
		d.t.Errorf("%s is booked on %s, want %s", b.Name, now.ReservedOn, date)
	}
}

// The batches of a campaign have dates of their own. Each of these days needs room, or nothing moves.
func TestMove_OverTheEndOfAMonth(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.putHours(0, "12-01")
	inAcre := d.waiting(1, 1_000_000, in(window.RioBranco))
	others := []campaign.Batch{d.waiting(2, 2_000_000, in(window.SaoPaulo)), d.waiting(3, 4_000_000, in(window.Manaus))}
	d.limits(5_000_000, 0)
	if got := d.move(lastEvening); got != campaign.CodeBudgetExceeded {
		t.Fatalf("6.00 on December 2: %q", got)
	}
	if _, err := d.service.MayRescheduleCampaign(t.Context(), d.campaign(), lastEvening, d.campaign().Plan()); d.code(err) != campaign.CodeBudgetExceeded {
		t.Errorf("checked: %v", err)
	}
	d.wantReserved("2037-11-21", "7.00")
	d.limits(6_000_000, 6_000_000)
	if got := d.move(lastEvening); got != "" {
		t.Fatal(got)
	}
	d.wantBooked(inAcre, "2037-11-30")
	for _, b := range others {
		d.wantBooked(b, "2037-12-02")
	}
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-30", "1.00")
	d.wantReserved("2037-12-02", "6.00")
	d.wantReserved("2037-12-01", "0.00")
}

// Hours that are saved before the last rows of a campaign have moved do not change their dates.
func TestMove_HoursSavedBeforeTheLastRows(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.putHours(0)
	const many = campaign.MovedAtOnce + 3
	var last []campaign.Batch
	for ordinal := range many {
		zone := window.SaoPaulo
		if ordinal == many-1 {
			zone = window.RioBranco
		}
		last = append(last, d.waiting(ordinal+1, 1_000_000, in(zone)))
	}
	d.service.Store = crashing{d.store}
	if got := d.move(lastEvening); got != "" {
		t.Fatal(got)
	}
	d.wantReserved("2037-11-21", "3.00")
	d.wantReserved("2037-11-30", "1.00")
	d.wantReserved("2037-12-01", "82.00")
	d.putHours(1, "12-01")
	d.run(d.tasks[0])
	d.wantBooked(last[many-1], "2037-11-30")
	d.wantBooked(last[many-2], "2037-12-01")
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-30", "1.00")
	d.wantReserved("2037-12-01", "82.00")
	d.wantReserved("2037-12-02", "0.00")
	if c := d.campaign(); c.Move.Open || c.Move.Hours != nil || c.Move.Reserved != nil {
		t.Errorf("the move is left as %+v", c.Move)
	}
}
