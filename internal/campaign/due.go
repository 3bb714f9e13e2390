package campaign

import "time"

// Due is something whose next check has come: a notice, or else a batch.
type Due struct {
	Batch  BatchRef
	Notice *NotifyTask // nil for a batch
	Check  time.Time   // the next check, as the index knows it
}
