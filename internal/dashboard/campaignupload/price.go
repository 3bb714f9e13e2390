package campaignupload

import (
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
)

// price is the cost of the checked parts of a campaign.
type price struct {
	Classes campaign.ClassCounts
	Priced  bool // there are prices
	Total   campaign.Money
	Budget  *campaign.BudgetFigures // of the day of sending, with the cost of all parts
}

// addPart adds the messages of a part.
func (pr *price) addPart(v dispatch.Verdict) {
	pr.Classes.Add(v.Classes)
	if !v.Priced {
		return
	}
	pr.Priced = true
	pr.Total += v.Price
	if v.Budget != nil {
		pr.Budget = v.Budget
	}
	if pr.Budget != nil {
		pr.Budget.Cost = pr.Total
	}
}

// checkBudget adds an error if the parts together exceed the budget. Each of them may have
// room.
func (f *findings) checkBudget(p *web.Page) {
	why := p.T("refusal." + campaign.CodeBudgetExceeded)
	if f.Budget != nil && f.Budget.Exceeded() && !slices.Contains(f.General, why) {
		f.General = append(f.General, why)
	}
}
