package campaign

import "time"

// Due is something whose next check has come: a delivery, a campaign that may have
// to be forgotten, or else a batch.
type Due struct {
	Batch    BatchRef
	Delivery *NotifyTask // nil for all else
	Campaign *ID         // nil for all else
	Check    time.Time   // the next check, as the index knows it
}
