package campaigns

import "campaign-dispatch/internal/campaign"

// bill is the cost of the messages of a campaign.
type bill struct {
	Classes   campaign.ClassCounts // of accepted messages
	Billed    campaign.ClassCounts // of delivered messages
	ClassesOf int                  // messages
	Priced    bool                 // some batches have prices
	Cost      campaign.Money       // of delivered messages, in batches with prices
	Unpriced  int                  // delivered messages in batches without prices
}

// addBatch adds the messages of a batch.
func (v *bill) addBatch(b campaign.Progress) {
	delivered := b.Head.Counts[campaign.OutcomeDelivered] + b.Head.Counts[campaign.OutcomeRead]
	if !b.Prices.Set() {
		v.Unpriced += delivered
	}
	v.ClassesOf += b.Accepted
	v.Classes.Add(b.ClassCounts())
	v.Billed.Add(b.Billed())
	if b.Prices.Set() {
		v.Priced = true
		v.Cost += b.Prices.Of(b.Billed())
	}
}
