package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Billing contains the prices and the limits of a tenant. The zero Billing has none.
type Billing struct {
	Prices

	Limits Spending // 0 for no limit
}

// BillingForm contains prices and limits as a person enters them: amounts, or "" for none.
type BillingForm struct{ Basic, Single, Day, Month string }

// Limited reports whether the tenant has a budget.
func (b Billing) Limited() bool { return b.Set() && b.Limits != Spending{} }

// Spending is an amount for a day in São Paulo and an amount for its month.
type Spending struct{ Day, Month Money }

// MonthSpending are the amounts of a month and of its days, by date.
type MonthSpending struct {
	Total Money
	Days  map[string]Money
}

// On returns the amounts of a date in the month.
func (s MonthSpending) On(date string) Spending { return Spending{Day: s.Days[date], Month: s.Total} }

// Budget is the budget of a day and its month, with the cost of a call.
type Budget struct {
	Date   string // the day in São Paulo, as 2026-11-30
	Cost   Money
	Limits Spending // 0 for no limit
	Used   Spending // by accepted batches
}

// Exceeded reports whether there is no room for the cost.
func (b Budget) Exceeded() bool { return b.Figures().Exceeded() }

// Room returns a *BudgetError if there is no room for the cost, or nil.
func (b Budget) Room() error {
	if b.Cost > 0 && b.Exceeded() {
		return &BudgetError{Budget: b}
	}
	return nil
}

// BudgetFigures is a Budget as shown to clients.
type BudgetFigures struct {
	Currency string       `json:"currency"`
	Cost     Money        `json:"cost"`
	Date     string       `json:"date"` // see Budget
	Day      *DayBudget   `json:"day,omitempty"`
	Month    *MonthBudget `json:"month,omitempty"`
}

// DayBudget is the budget of a day.
type DayBudget struct {
	Date  string `json:"date"`
	Limit Money  `json:"limit"`
	Used  Money  `json:"used"`
}

// MonthBudget is the budget of a month.
type MonthBudget struct {
	Month string `json:"month"`
	Limit Money  `json:"limit"`
	Used  Money  `json:"used"`
}

// Figures returns the limits that are set.
func (b Budget) Figures() *BudgetFigures {
	f := &BudgetFigures{Currency: Currency, Cost: b.Cost, Date: b.Date}
	if b.Limits.Day > 0 {
		f.Day = &DayBudget{b.Date, b.Limits.Day, b.Used.Day}
	}
	if b.Limits.Month > 0 {
		f.Month = &MonthBudget{MonthOf(b.Date), b.Limits.Month, b.Used.Month}
	}
	return f
}

// Exceeded reports whether there is no room for the cost.
func (f BudgetFigures) Exceeded() bool {
	return f.Day != nil && f.Cost > f.Day.Limit-f.Day.Used || f.Month != nil && f.Cost > f.Month.Limit-f.Month.Used
}

// MonthOf returns the month of a date, as 2026-11.
func MonthOf(date string) string { return date[:min(len(date), len("2026-11"))] }

// CodeBudgetExceeded is the code of a call that exceeds the tenant's budget.
const CodeBudgetExceeded = "budget_exceeded"

// BudgetError means that a budget has no room for a batch. Nothing was changed.
type BudgetError struct{ Budget }

func (e *BudgetError) Error() string {
	return fmt.Sprintf("the budget of %s has no room for %s", e.Date, e.Cost)
}

// BudgetChange changes what the batches of a tenant reserve on a date, or in a month.
type BudgetChange struct {
	Month string // as 2026-11
	Date  string // as 2026-11-30, "" for the whole month
	By    Money
	Limit Money // what the amount must not exceed afterwards, 0 for no limit
}

// Reserve returns the changes that reserve an amount for a date, within the limits.
func Reserve(date string, amount Money, limits Spending) []BudgetChange {
	return []BudgetChange{{MonthOf(date), "", amount, limits.Month}, {MonthOf(date), date, amount, limits.Day}}
}

// Release returns the changes that free an amount of a date.
func Release(date string, amount Money) []BudgetChange { return Reserve(date, -amount, Spending{}) }

// ReleaseAll returns the changes that free the reservations of batches.
func ReleaseAll(batches []Batch) []BudgetChange {
	var changes []BudgetChange
	for _, b := range batches {
		changes = append(changes, Release(b.ReservedOn, b.Reserved)...)
	}
	return sumChanges(changes)
}

// sumChanges returns one change for each month and date, without those of 0.
func sumChanges(changes []BudgetChange) []BudgetChange {
	sums := map[BudgetChange]Money{}
	for _, c := range changes {
		sums[BudgetChange{Month: c.Month, Date: c.Date}] += c.By
	}
	var summed []BudgetChange
	for c, by := range sums {
		if by != 0 {
			summed = append(summed, BudgetChange{Month: c.Month, Date: c.Date, By: by})
		}
	}
	slices.SortFunc(summed, func(a, b BudgetChange) int {
		return cmp.Or(cmp.Compare(a.Month, b.Month), cmp.Compare(a.Date, b.Date))
	})
	return summed
}

// ReserveOn returns the changes that move the batch's reservation to another date, within the
// limits. Within a month, the amount of the month does not change.
func (b Batch) ReserveOn(date string, limits Spending) []BudgetChange {
	month := MonthOf(date)
	switch {
	case b.Reserved == 0 || date == b.ReservedOn:
		return nil
	case month == MonthOf(b.ReservedOn):
		return []BudgetChange{{month, b.ReservedOn, -b.Reserved, 0}, {month, date, b.Reserved, limits.Day}}
	}
	return append(Reserve(date, b.Reserved, limits), Release(b.ReservedOn, b.Reserved)...)
}

// BudgetOn returns the budget of a date whose cost is the batch's reservation.
func (b Batch) BudgetOn(date string, limits, used Spending) Budget {
	if MonthOf(date) == MonthOf(b.ReservedOn) {
		limits.Month = 0 // the month has the reservation already
	}
	return Budget{Date: date, Cost: b.Reserved, Limits: limits, Used: used}
}

// Unused returns the part of the batch's reservation that belongs to messages that were not
// delivered. outcome returns the outcome of a message.
func (b Batch) Unused(outcome func(index int) Outcome) Money {
	if b.Reserved == 0 {
		return 0
	}
	return b.Reserved - b.Prices.Cost(b.Delivered(outcome))
}

// MovePlan is the first change of a reschedule. Later changes move the rows of the other unreleased batches.
type MovePlan struct {
	Move   Move           // of the campaign
	Now    []Batch        // whose rows change in the same transaction
	Budget []BudgetChange // of the same transaction
	costs  []BudgetChange // what the whole move adds to its days and months
	limits Spending
}

// PlanMove plans to change the due time of a campaign's unreleased batches. dates are the dates on which the
// budget books their reservations then, by BatchID. Until the rows of all batches have changed, the
// reservations of the others are on both days.
func PlanMove(c Campaign, due time.Time, limits Spending, dates map[string]string) MovePlan {
	unreleased := c.Unreleased()
	now := unreleased[:min(len(unreleased), MovedAtOnce)]
	rest := unreleased[len(now):]
	p := MovePlan{
		Move: Move{Due: due, Revision: c.Move.Revision + 1, Batches: c.BatchCount, Open: len(rest) > 0, Reserved: SumByDate(rest, dates)},
		Now:  now, limits: limits,
	}
	booked := reserveAll(SumByDate(unreleased, dates))
	p.costs = sumChanges(append(ReleaseAll(unreleased), booked...))
	p.Budget = p.within(sumChanges(append(ReleaseAll(now), booked...)))
	return p
}

// SumByDate returns the sums of the reservations of batches by the date of each batch.
func SumByDate(batches []Batch, dates map[string]string) map[string]Money {
	sums := map[string]Money{}
	for _, b := range batches {
		if b.Reserved > 0 {
			sums[dates[b.BatchID]] += b.Reserved
		}
	}
	return sums
}

// Sum returns the sum of amounts by date.
func Sum(amounts map[string]Money) (sum Money) {
	for _, amount := range amounts {
		sum += amount
	}
	return sum
}

func reserveAll(amounts map[string]Money) (changes []BudgetChange) {
	for date, amount := range amounts {
		changes = append(changes, Reserve(date, amount, Spending{})...)
	}
	return changes
}

// within returns the changes with the limits of those that the move costs something.
func (p MovePlan) within(changes []BudgetChange) []BudgetChange {
	for i, c := range changes {
		if c.Date == "" {
			changes[i].Limit = c.limit(p.cost(c.Month, ""), p.limits.Month)
		} else {
			changes[i].Limit = c.limit(p.cost(c.Month, c.Date), p.limits.Day)
		}
	}
	return changes
}

// cost returns what the move adds to a day, or with the date "" to a month.
func (p MovePlan) cost(month, date string) Money {
	for _, c := range p.costs {
		if c.Month == month && c.Date == date {
			return c.By
		}
	}
	return 0
}

// limit returns the limit of a change that costs less than it adds: the rest is on both days for a moment.
func (c BudgetChange) limit(cost, limit Money) Money {
	if cost <= 0 || limit <= 0 {
		return 0
	}
	return limit + c.By - cost
}

// Limited reports whether days or months have limits.
func (p MovePlan) Limited() bool { return p.limits != Spending{} }

// Dates returns the days to which the move adds something. A month to which it adds something has one of them.
func (p MovePlan) Dates() (dates []string) {
	for _, c := range p.costs {
		if c.Date != "" && c.By > 0 {
			dates = append(dates, c.Date)
		}
	}
	return dates
}

// Room returns a *BudgetError if a day of Dates or its month has no room for the plan, or nil.
func (p MovePlan) Room(date string, used Spending) error {
	month := MonthOf(date)
	ofDay := Budget{Date: date, Cost: p.cost(month, date), Limits: Spending{Day: p.limits.Day}, Used: used}
	ofMonth := Budget{Date: date, Cost: p.cost(month, ""), Limits: Spending{Month: p.limits.Month}, Used: used}
	return cmp.Or(ofDay.Room(), ofMonth.Room())
}

// Moved returns the batches with the due time of the move, as their changed rows have it. dates are those of PlanMove.
func (m Move) Moved(batches []Batch, dates map[string]string) []Batch {
	moved := slices.Clone(batches)
	for i := range moved {
		moved[i].Due, moved[i].Scheduled, moved[i].Moves, moved[i].Unmoved = m.Due, true, m.Revision, false
		if moved[i].Reserved > 0 {
			moved[i].ReservedOn = dates[moved[i].BatchID]
		}
	}
	return moved
}
