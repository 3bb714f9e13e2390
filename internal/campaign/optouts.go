package campaign

import "time"

// OptOuts is one shard of the numbers that opted out of a tenant's messages. A
// shard that grew too large for one row is in parts, and holds no numbers itself.
type OptOuts struct {
	Shard   int
	Version int          // counts the changes of the shard and its parts; 0 for a shard that does not exist yet
	Packed  []byte       // the numbers, as numberset packs them
	Recent  []byte       // the last changes, see package optout
	Parts   []OptOutPart // in the order of From; none for a shard in one row
}

// OptOutPart is a part of a shard: its numbers from one up to where the next part
// begins. A part keeps its ID as long as it has these numbers, so that a reader who
// knows the parts of before finds no part rather than fewer numbers.
type OptOutPart struct {
	ID      string
	From    uint64 // 0 for the first part
	Version int    // counts the changes of the part
	Packed  []byte // nil where the part is named only
	Recent  []byte
}

// OptChange says that a number opted out of a tenant's messages, or in again.
type OptChange struct {
	Phone string // E.164, with the leading +
	Out   bool
	At    time.Time
}
