package campaign

import (
	"fmt"
	"time"
)

// BudgetLife is how long the reservations of a month are stored, from its first day.
const BudgetLife = 400 * 24 * time.Hour

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

// Budget is the budget of a day and its month, with the cost of a call.
type Budget struct {
	Date   string // the day in São Paulo, as 2026-11-30
	Cost   Money
	Limits Spending // 0 for no limit
	Used   Spending // by accepted batches
}

// Exceeded reports whether there is no room for the cost.
func (b Budget) Exceeded() bool {
	over := func(limit, used Money) bool { return limit > 0 && b.Cost > limit-used }
	return over(b.Limits.Day, b.Used.Day) || over(b.Limits.Month, b.Used.Month)
}

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
	f := &BudgetFigures{Currency: Currency, Cost: b.Cost}
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
