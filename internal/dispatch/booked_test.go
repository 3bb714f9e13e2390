package dispatch_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/reach"
)

// lastEvening is 22:00 on November 30 in São Paulo, when the usual hours are over until December 1 at 9:00. In Manaus it is
// 21:00, and in Acre 20:00: only there the hours are not over.
var lastEvening = time.Date(2037, 12, 1, 1, 0, 0, 0, time.UTC)

// fillMonth reserves the price of one message on a date. The limit of the month has no room for another one.
func (b *bench) fillMonth(date string) {
	b.t.Helper()
	b.billing("", "0.05")
	b.post(b.body(fields{"schedule": date + "T12:00:00"})).accepted(b.t)
}

// monthsRead is a store that keeps which month is read with the rows of a call.
type monthsRead struct {
	dispatch.Store
	months []string
}

func (c *monthsRead) Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error) {
	c.months = append(c.months, q.Month)
	return c.Store.Snapshot(ctx, q)
}

// A call whose hours begin in the next month is booked in that month. Others are read and booked as without hours.
func TestBooked_OverTheEndOfAMonth(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rules  bool
		limits bool
		now    time.Time
		date   string
		reads  []string // months
	}{
		"without hours":         {false, true, lastEvening, "2037-11-30", []string{"2037-11"}},
		"in its hours":          {true, true, lastEvening.Add(-2 * time.Hour), "2037-11-30", []string{"2037-11"}},
		"after its hours":       {true, true, lastEvening, "2037-12-01", []string{"2037-11", "2037-12"}},
		"before its hours":      {true, true, lastEvening.Add(-17 * time.Hour), "2037-11-30", []string{"2037-11"}},
		"on the evening before": {true, true, lastEvening.AddDate(0, 0, -4), "2037-11-27", []string{"2037-11"}},
		"without a budget":      {true, false, lastEvening, "", []string{"2037-11"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.at(test.now)
			if test.rules {
				b.putRule()
			}
			if test.limits {
				b.billing("1", "1")
			}
			store := &monthsRead{Store: b.store}
			b.Store = store
			b.post(b.body(nil)).accepted(t)
			got := b.handoffs.batches[0]
			if got.ReservedOn != test.date || !got.Due.Equal(test.now) {
				t.Errorf("booked on %q, due %v; want it on %q", got.ReservedOn, got.Due, test.date)
			}
			if diff := cmp.Diff(test.reads, store.months); diff != "" {
				t.Errorf("months of the reads (-want +got):\n%s", diff)
			}
			if test.date != "" {
				b.wantSpending(test.date, "0.05", "0.05")
			}
		})
	}
}

// November is full and December has room, and the reverse. A dry run says the same as the call.
func TestBooked_Limits(t *testing.T) {
	t.Parallel()
	for full, fits := range map[string]bool{"2037-11-30": true, "2037-12-15": false} {
		b := newBench(t)
		b.fillMonth(full)
		b.at(lastEvening)
		b.putRule()
		body := b.body(nil)
		dry := b.dryRun(body)
		said := read[struct{ Budget struct{ Date string } }](t, dry).Budget.Date
		if dry.Valid != fits || said != "2037-12-01" {
			t.Errorf("%s is full: the dry run says %t for %s\n%s", full, dry.Valid, said, dry.body)
		}
		answer := b.post(body)
		if fits {
			answer.accepted(t)
			b.wantSpending("2037-12-01", "0.05", "0.05")
			b.wantSpending("2037-11-30", "0.05", "0.05")
			continue
		}
		answer.want(t, http.StatusConflict, "budget_exceeded")
		if month := read[priced](t, answer).Budget.Month; month == nil || month.Month != "2037-12" || month.Used != "0.05" {
			t.Errorf("figures: %s", answer.body)
		}
		b.wantSpending("2037-11-30", "0.00", "0.00")
	}
}

// Hours that are saved while a call loses a race decide about it. Hours that are saved later do not move it.
func TestBooked_HoursSavedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before, after reach.TenantHours
		lost          bool
		date          string
	}{
		"first hours, lost race":   {reach.TenantHours{}, usualPolicy(), true, "2037-12-01"},
		"first hours":              {reach.TenantHours{}, usualPolicy(), false, "2037-11-30"},
		"hours removed, lost race": {usualPolicy(), reach.TenantHours{}, true, "2037-11-30"},
		"hours removed":            {usualPolicy(), reach.TenantHours{}, false, "2037-12-01"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.billing("0.05", "0.05")
			b.at(lastEvening)
			b.must(b.store.SaveTenantHours(t.Context(), b.tenant, test.before))
			test.after.Revision = 1
			b.Store = &changing{b.store, func() error {
				b.must(b.store.SaveTenantHours(t.Context(), b.tenant, test.after))
				if test.lost {
					return campaign.ErrLostRace
				}
				return nil
			}}
			b.post(b.body(nil)).accepted(t)
			batch, err := b.store.Batch(t.Context(), b.handoffs.batches[0].BatchRef)
			b.must(err)
			if batch.ReservedOn != test.date {
				t.Errorf("booked on %s, want %s", batch.ReservedOn, test.date)
			}
			b.wantSpending(test.date, "0.05", "0.05")
		})
	}
}

// A part of a campaign that was rescheduled to the end of a month is booked on its first opening from the new time on.
func TestBooked_PartOfRescheduledCampaign(t *testing.T) {
	t.Parallel()
	for _, during := range []bool{false, true} {
		b := newBench(t)
		b.billing("0.10", "0.10") // room for both
		b.putRule()
		call := b.asked(func(c *dispatch.Call) { c.Part, c.Schedule = "part 1", "2037-11-24T15:00:00Z" })
		_, err := b.Accept(t.Context(), call)
		b.must(err)
		move := func() error { b.moveTo(call.ID, lastEvening); return nil }
		if during {
			b.Store = &changing{b.store, move}
		} else {
			b.must(move())
		}
		call.Batch, call.Part, call.Messages = "2", "part 2", people(68987654321, 1) // in Acre
		_, err = b.Accept(t.Context(), call)
		b.must(err)
		all, err := b.store.Dispatched(t.Context(), call.ID)
		b.must(err)
		var dates []string
		for _, batch := range all.Batches {
			dates = append(dates, batch.ReservedOn)
		}
		if diff := cmp.Diff([]string{"2037-12-01", "2037-11-30"}, dates); diff != "" {
			t.Errorf("moved during the call %t: dates of the parts (-want +got):\n%s", during, diff)
		}
		b.wantSpending("2037-11-30", "0.05", "0.05")
		b.wantSpending("2037-12-01", "0.05", "0.05")
	}
}

// Each part of a file is a call of its own: parts with people of three time zones, over the end of a month with a holiday.
func TestBooked_ThreeZones(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	policy := usualPolicy()
	policy.Holidays = []string{"12-01"}
	b.must(b.store.SaveTenantHours(t.Context(), b.tenant, policy))
	b.billing("1", "1")
	b.at(lastEvening.AddDate(0, 0, -1))
	call := b.asked(func(c *dispatch.Call) { c.Schedule = lastEvening.Format(time.RFC3339) })
	for part, test := range map[string]struct {
		messages []dispatch.Message
		date     string
	}{
		"São Paulo":          {people(11987650000, 2), "2037-12-02"},
		"Manaus":             {people(92987650000, 2), "2037-12-02"},
		"Acre":               {people(68987650000, 2), "2037-11-30"},
		"São Paulo and Acre": {append(people(11987660000, 1), people(68987660000, 1)...), "2037-11-30"},
		"Portugal":           {[]dispatch.Message{{Phone: "+351912345678", UID: "u"}}, "2037-12-02"},
	} {
		call.Batch, call.Part, call.Messages = part, part, test.messages
		checked, err := b.Check(t.Context(), call)
		b.must(err)
		_, err = b.Accept(t.Context(), call)
		b.must(err)
		last := b.handoffs.batches[len(b.handoffs.batches)-1]
		if last.ReservedOn != test.date || checked.Budget.Date != test.date {
			t.Errorf("%s: checked for %s, booked on %s, want %s", part, checked.Budget.Date, last.ReservedOn, test.date)
		}
	}
	b.wantSpending("2037-11-30", "0.20", "0.20")
	b.wantSpending("2037-12-02", "0.25", "0.25")
}
