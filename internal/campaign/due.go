package campaign

import "time"

// Due is something whose next check has come: a notice, a campaign that may have
// to be forgotten, or else a batch.
type Due struct {
	Batch    BatchRef
	Notice   *NotifyTask // nil for all else
	Campaign *ID         // nil for all else
	Check    time.Time   // the next check, as the index knows it
}
