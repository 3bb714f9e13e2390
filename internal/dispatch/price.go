package dispatch

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch/acceptance"
)

type bill struct {
	known   bool // false if the template cannot be used
	classes campaign.Classes
	counts  campaign.ClassCounts
	prices  campaign.Prices
	budget  *campaign.Budget // nil without a limit
}

func (b bill) cost() campaign.Money { return b.prices.Cost(b.counts) }

// faults returns the fault of a call that exceeds the budget.
func (b bill) faults() (found faults) {
	if b.budget != nil && b.budget.Exceeded() {
		found.add("messages", campaign.CodeBudgetExceeded,
			"the messages come to "+campaign.Currency+" "+b.budget.Cost.String()+", which the budget has no room for")
	}
	return found
}

// bookedOn returns the date in whose budget the call is booked: that of the first opening of its messages, in São Paulo.
// A call without a budget has the day on which it is due.
func (c *call) bookedOn(snapshot acceptance.State) string {
	if !snapshot.Billing.Limited() {
		return localtime.Day(c.times.due)
	}
	hours := c.hours(snapshot)
	return hours.BookedOn(c.times.due)(window.SetOf(c.req.zones(hours)))
}

// price returns the cost of the accepted messages, and the budget if the tenant has one.
func price(c *call, snapshot acceptance.State) bill {
	t := snapshot.Template
	if t == nil || t.Tenant != c.tenant {
		return bill{}
	}
	b := bill{known: true, classes: c.req.classes(*t), prices: snapshot.Billing.Prices}
	b.counts = campaign.ClassCounts{Basic: b.classes.Basic, Single: c.req.countAccepted() - b.classes.Basic}
	if snapshot.Billing.Limited() && b.cost() > 0 {
		b.budget = &campaign.Budget{
			Date: c.day, Cost: b.cost(), Limits: snapshot.Billing.Limits, Used: snapshot.Reserved.On(c.day),
		}
	}
	return b
}

// reserve sets the classes and prices of a batch, and what it reserves from the budget.
func (b bill) reserve(batch *campaign.Batch) (limits campaign.Spending) {
	batch.Classes, batch.Prices = b.classes, b.prices
	if b.budget == nil {
		return limits
	}
	batch.Reserved, batch.ReservedOn = b.budget.Cost, b.budget.Date
	return b.budget.Limits
}

// classes returns the billing classes of the accepted messages. A missing variable counts
// as empty.
func (q *request) classes(t campaign.Template) campaign.Classes {
	names, classifier := q.names.indexes(t.Variables()), t.Classifier()
	fixed, sizes := classifier.Fixed(), make([]int, len(names))
	return campaign.NewClasses(func(yield func(content.Class) bool) {
		for i := range q.accepted {
			class := fixed
			if class == "" {
				for n, name := range names {
					sizes[n] = content.ShownLen(find(q.varsOf(i), name).shown())
				}
				class = classifier.Class(sizes)
			}
			if !yield(class) {
				return
			}
		}
	})
}

type dryPrice struct {
	Currency string         `json:"currency"`
	Basic    campaign.Money `json:"basic"`
	Single   campaign.Money `json:"single"`
	Total    campaign.Money `json:"total"` // of all accepted messages, which is what the budget reserves
	// Expected is the price without the messages that are withheld.
	Expected campaign.Money `json:"expected"`
}

// show sets the fields of a dry run's answer.
func (b bill) show(a *dryAnswer) {
	if !b.known {
		return
	}
	a.Classes = &b.counts
	if b.prices.Set() {
		a.Price = &dryPrice{campaign.Currency, b.prices.Basic, b.prices.Single, b.cost(), b.cost()}
	}
	if b.budget != nil {
		a.Budget = b.budget.Figures()
	}
}
