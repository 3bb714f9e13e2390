package campaign

import "time"

// OptOuts is one shard of the numbers that opted out of a tenant's messages.
type OptOuts struct {
	Shard   int
	Version int    // 0 for a shard that does not exist yet
	Packed  []byte // the numbers, as numberset packs them
	Recent  []byte // the last changes, see package optout
}

// OptChange says that a number opted out of a tenant's messages, or in again.
type OptChange struct {
	Phone string // E.164, with the leading +
	Out   bool
	At    time.Time
}
