package campaign

import "time"

// Due is an item whose check is due: a delivery, a campaign that may have expired, a submission
// whose task may be lost, or a batch.
type Due struct {
	Batch      BatchRef
	Delivery   *NotifyTask // nil for other items
	Campaign   *ID         // nil for other items
	Submission *ID         // nil for other items
	Check      time.Time   // the check time stored in the index
}
