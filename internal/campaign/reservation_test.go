package campaign_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/campaign"
)

func reservedOn(date string, amount campaign.Money) campaign.Batch {
	return campaign.Batch{State: campaign.BatchPending, Reserved: amount, ReservedOn: date}
}

func TestReserveOn(t *testing.T) {
	t.Parallel()
	limits := campaign.Spending{Day: 100, Month: 1000}
	for name, test := range map[string]struct {
		date string
		want []campaign.BudgetChange
	}{
		"same day": {"2026-11-29", nil},
		"same month": {"2026-11-30", []campaign.BudgetChange{
			{Month: "2026-11", Date: "2026-11-29", By: -7}, {Month: "2026-11", Date: "2026-11-30", By: 7, Limit: 100},
		}},
		"another month": {"2026-12-01", []campaign.BudgetChange{
			{Month: "2026-12", By: 7, Limit: 1000},
			{Month: "2026-12", Date: "2026-12-01", By: 7, Limit: 100},
			{Month: "2026-11", By: -7},
			{Month: "2026-11", Date: "2026-11-29", By: -7},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, reservedOn("2026-11-29", 7).ReserveOn(test.date, limits)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
	if changes := reservedOn("", 0).ReserveOn("2026-12-01", limits); changes != nil {
		t.Errorf("a batch without a reservation changes %v", changes)
	}
}

func TestBudgetOn_Room(t *testing.T) {
	t.Parallel()
	b, limits := reservedOn("2026-11-29", 7), campaign.Spending{Day: 10, Month: 20}
	for name, test := range map[string]struct {
		date string
		used campaign.Spending
		room bool
	}{
		"day has room":              {"2026-11-30", campaign.Spending{Day: 3}, true},
		"day is full":               {"2026-11-30", campaign.Spending{Day: 4}, false},
		"month has the reservation": {"2026-11-30", campaign.Spending{Month: 20}, true},
		"month has room":            {"2026-12-01", campaign.Spending{Month: 13}, true},
		"month is full":             {"2026-12-01", campaign.Spending{Month: 14}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := b.BudgetOn(test.date, limits, test.used).Room()
			if _, refused := errors.AsType[*campaign.BudgetError](err); refused == test.room {
				t.Errorf("error %v, want room: %v", err, test.room)
			}
		})
	}
}

func TestUnused(t *testing.T) {
	t.Parallel()
	outcomes := []campaign.Outcome{campaign.OutcomeRead, campaign.OutcomeFailed, campaign.OutcomeDelivered, campaign.OutcomeSent}
	b := campaign.Batch{Accepted: 4, Reserved: 40, Prices: campaign.Prices{Basic: 10, Single: 10}}
	of := func(i int) campaign.Outcome { return outcomes[i] }
	if unused := b.Unused(of); unused != 20 {
		t.Errorf("unused %d of 40 with 2 of 4 messages delivered, want 20", unused)
	}
	if b.Reserved = 0; b.Unused(of) != 0 {
		t.Errorf("unused %d of no reservation", b.Unused(of))
	}
}

// bookedOn is the date on which waitingCampaign is booked.
const bookedOn = "2026-11-29"

// waitingCampaign has n batches that each reserve 1 on bookedOn.
func waitingCampaign(n int) campaign.Campaign {
	c := campaign.Campaign{BatchCount: n}
	for i := range n {
		b := reservedOn(bookedOn, 1)
		b.Ordinal, b.BatchID = i+1, strconv.Itoa(i+1)
		c.Batches = append(c.Batches, campaign.BatchProgress{Batch: b})
	}
	return c
}

// allOn books all batches of a campaign on one date.
func allOn(c campaign.Campaign, date string) map[string]string {
	dates := map[string]string{}
	for _, b := range c.Batches {
		dates[b.BatchID] = date
	}
	return dates
}

// Batches whose first openings are on different days have different dates. Each day and month with more than before has its
// limit.
func TestPlanMove_SeveralDates(t *testing.T) {
	t.Parallel()
	c := waitingCampaign(campaign.MovedAtOnce + 20)
	dates := allOn(c, "2026-12-01")
	for ordinal := range 10 {
		dates[strconv.Itoa(ordinal+1)] = "2026-11-30"
		dates[strconv.Itoa(campaign.MovedAtOnce+ordinal+1)] = "2026-11-30"
	}
	p := campaign.PlanMove(c, time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC), campaign.Spending{Day: 90, Month: 1000}, dates)
	if diff := cmp.Diff(map[string]campaign.Money{"2026-11-30": 10, "2026-12-01": 10}, p.Move.Reserved); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]campaign.BudgetChange{
		{Month: "2026-11", By: 20 - campaign.MovedAtOnce},
		{Month: "2026-11", Date: "2026-11-29", By: -campaign.MovedAtOnce},
		{Month: "2026-11", Date: "2026-11-30", By: 20, Limit: 90},
		{Month: "2026-12", By: 80, Limit: 1000},
		{Month: "2026-12", Date: "2026-12-01", By: 80, Limit: 90},
	}, p.Budget); diff != "" {
		t.Errorf("changes of the budget (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"2026-11-30", "2026-12-01"}, p.Dates()); diff != "" {
		t.Errorf("dates (-want +got):\n%s", diff)
	}
	for date, free := range map[string]campaign.Money{"2026-11-30": 20, "2026-12-01": 80} {
		if err := p.Room(date, campaign.Spending{Day: 90 - free}); err != nil {
			t.Errorf("%s has room for %d: %v", date, free, err)
		}
		full, refused := errors.AsType[*campaign.BudgetError](p.Room(date, campaign.Spending{Day: 91 - free}))
		if !refused || full.Date != date || full.Cost != free {
			t.Errorf("%s has room for %d: %v", date, free-1, full)
		}
	}
	moved := p.Move.Moved(p.Now, dates)
	if moved[9].ReservedOn != "2026-11-30" || moved[10].ReservedOn != "2026-12-01" {
		t.Errorf("moved to %s and %s", moved[9].ReservedOn, moved[10].ReservedOn)
	}
}

func TestPlanMove(t *testing.T) {
	t.Parallel()
	const more = 20
	c := waitingCampaign(campaign.MovedAtOnce + more)
	due := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	p := campaign.PlanMove(c, due, campaign.Spending{Day: 100, Month: 1000}, allOn(c, "2026-12-01"))
	if len(p.Now) != campaign.MovedAtOnce {
		t.Errorf("%d batches move at once, want %d", len(p.Now), campaign.MovedAtOnce)
	}
	if diff := cmp.Diff(campaign.Move{
		Due: due, Revision: 1, Batches: campaign.MovedAtOnce + more, Open: true, Reserved: map[string]campaign.Money{"2026-12-01": more},
	}, p.Move); diff != "" {
		t.Errorf("move (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]campaign.BudgetChange{
		{Month: "2026-11", By: -campaign.MovedAtOnce},
		{Month: "2026-11", Date: "2026-11-29", By: -campaign.MovedAtOnce},
		{Month: "2026-12", By: 100, Limit: 1000},
		{Month: "2026-12", Date: "2026-12-01", By: 100, Limit: 100},
	}, p.Budget); diff != "" {
		t.Errorf("changes of the budget (-want +got):\n%s", diff)
	}
}

// Within a month, the amount of the month grows only for what is on both days for a moment.
// The limit allows it.
func TestPlanMove_SameMonth(t *testing.T) {
	t.Parallel()
	c := waitingCampaign(campaign.MovedAtOnce + 20)
	p := campaign.PlanMove(c, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), campaign.Spending{Day: 100, Month: 100}, allOn(c, "2026-11-30"))
	if diff := cmp.Diff([]campaign.BudgetChange{
		{Month: "2026-11", By: 20},
		{Month: "2026-11", Date: "2026-11-29", By: -campaign.MovedAtOnce},
		{Month: "2026-11", Date: "2026-11-30", By: 100, Limit: 100},
	}, p.Budget); diff != "" {
		t.Errorf("changes of the budget (-want +got):\n%s", diff)
	}
	if err := p.Room("2026-11-30", campaign.Spending{Month: 100}); err != nil {
		t.Errorf("the month has the reservations already: %v", err)
	}
	if _, refused := errors.AsType[*campaign.BudgetError](p.Room("2026-11-30", campaign.Spending{Day: 1})); !refused {
		t.Error("99 are left of the day, and 100 fit")
	}
}

// A batch that is on the new day already costs nothing more.
func TestPlanMove_SameDay(t *testing.T) {
	t.Parallel()
	c := waitingCampaign(2)
	p := campaign.PlanMove(c, time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC), campaign.Spending{Day: 2, Month: 2}, allOn(c, "2026-11-29"))
	if len(p.Budget) != 0 || p.Dates() != nil || p.Room("2026-11-29", campaign.Spending{Day: 2, Month: 2}) != nil || p.Move.Open {
		t.Errorf("plan %+v", p)
	}
	moved := p.Move.Moved(p.Now, allOn(c, "2026-11-29"))
	want := p.Now[0]
	want.Due, want.Scheduled, want.Moves = p.Move.Due, true, 1
	if diff := cmp.Diff(want, moved[0], cmpopts.EquateEmpty()); diff != "" || p.Now[0].Scheduled {
		t.Errorf("moved batch (-want +got):\n%s", diff)
	}
}
