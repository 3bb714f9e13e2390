// Package overdue has the items whose check is due.
package overdue

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// Item is an item whose check is due: a delivery, a campaign that may have expired, a submission
// whose task may be lost, or a batch.
type Item struct {
	Batch      campaign.BatchRef
	Delivery   *delivery.NotifyTask // nil for other items
	Campaign   *campaign.ID         // nil for other items
	Submission *campaign.ID         // nil for other items
	Check      time.Time            // the check time stored in the index
}
