package intake

import (
	"context"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/intake/submission"
)

// Budgets reads the prices and budgets of tenants.
type Budgets interface {
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
	// Spending returns what a tenant's batches have reserved for a date.
	Spending(ctx context.Context, tenant, date string) (campaign.Spending, error)
}

// Quote is what a campaign costs at the prices of now.
type Quote struct {
	Priced   bool           // there are prices
	Price    campaign.Money // of the messages to people who have not opted out
	Reserves campaign.Money // of all accepted messages, which is what its acceptance reserves
	// Budget is the budget of the day of sending, with Reserves as its cost; nil without limits.
	Budget *campaign.BudgetFigures
}

// Exceeded reports whether the budget has no room for the campaign.
func (q Quote) Exceeded() bool { return q.Budget != nil && q.Reserves > 0 && q.Budget.Exceeded() }

// Quote returns what a checked campaign costs now.
func (s *Service) Quote(ctx context.Context, sub submission.Submission) (q Quote, err error) {
	billing, err := s.Budgets.Billing(ctx, sub.Tenant)
	if err != nil || !billing.Set() {
		return q, err
	}
	found := sub.Check.Findings
	q = Quote{Priced: true, Price: billing.Of(found.SentClasses()), Reserves: billing.Of(found.Classes)}
	if !billing.Limited() {
		return q, nil
	}
	day := s.Now()
	if due := sub.Due(); due.After(day) {
		day = due
	}
	b := campaign.Budget{Date: localtime.Day(day), Cost: q.Reserves, Limits: billing.Limits}
	if b.Used, err = s.Budgets.Spending(ctx, sub.Tenant, b.Date); err == nil {
		q.Budget = b.Figures()
	}
	return q, err
}
