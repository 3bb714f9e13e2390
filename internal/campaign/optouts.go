package campaign

import "time"

// OptOuts is one shard of the phone numbers that opted out of a tenant's messages. A shard
// too large for one row is split into parts. Its own row then contains no numbers.
type OptOuts struct {
	Shard   int
	Version int          // counts changes of the shard and its parts; 0 if the shard does not exist yet
	Packed  []byte       // the phone numbers, packed by numberset
	Recent  []byte       // recent changes, see package optout
	Origins []byte       // of the numbers, see package optout
	Parts   []OptOutPart // ordered by From; empty for a shard in one row
}

// OptOutPart is a part of a shard: the phone numbers from From up to the next part. Its ID
// changes with its range, so a reader with an outdated list of parts gets "not found", not
// an incomplete set.
type OptOutPart struct {
	ID      string
	From    uint64 // 0 for the first part
	Version int    // counts changes of the part
	Packed  []byte // nil when only the reference is set
	Recent  []byte
	Origins []byte
}

// OptChange is an opt-out or opt-in of a phone number.
type OptChange struct {
	Phone  string // E.164, with the leading +
	Out    bool
	At     time.Time
	Origin Origin // where an opt-out comes from
}

// OptedOut is a phone number that opted out.
type OptedOut struct {
	Phone  string    // E.164, with the leading +
	Since  time.Time // zero if it is no longer known
	Origin Origin    // that of the opt-out, not of later repetitions
}

// Origin is where an opt-out comes from, 0 for a number that is not opted out. Stored opt-outs contain its number.
type Origin byte

// The origins of opt-outs.
const (
	OriginMessage Origin = iota + 1 // the person wrote or tapped it, or used the phone's menu
	OriginHand                      // entered in the dashboard
	OriginFile                      // imported in the dashboard
)

// String returns the name of the origin, "" for 0.
func (o Origin) String() string {
	return [...]string{"", "message", "hand", "file"}[o&3]
}
