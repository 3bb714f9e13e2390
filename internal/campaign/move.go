package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// MovedAtOnce is the number of batches whose rows change in the same transaction as the
// campaign's due time. The rows of batches with a higher ordinal can be older than the
// campaign's due time. Lowering it takes two deployments, because the previous version
// reads the campaign's due time only for ordinals above its own number.
const MovedAtOnce = 80

// Move is the last change of a campaign's due time. The zero Move is none.
type Move struct {
	Due      time.Time
	Revision int  // number of changes
	Batches  int  // of the campaign at that time; later batches keep their own due time
	Open     bool // whether the rows of some batches are still to be changed
	// Reserved is what is reserved for batches whose rows are still to be changed, by the new date.
	// They also keep their reservation of the old day until then.
	Reserved map[string]Money
	// Hours are the tenant's sending hours by which the dates were found, as the store encodes them; nil without
	// hours, and if the move is not open. Hours that are saved meanwhile do not change a date.
	Hours []byte
}

// Applied returns the batch with the due time of the move, if the batch is unreleased and its row is older than the move.
func (m Move) Applied(b Batch) Batch {
	if b.State == BatchPending && b.Ordinal <= m.Batches && b.Moves < m.Revision {
		b.Due, b.Scheduled, b.Unmoved = m.Due, true, true
	}
	return b
}

// Started reports whether the provider may have messages of the campaign.
func (c Campaign) Started() bool {
	return slices.ContainsFunc(c.Batches, func(b BatchProgress) bool { return b.Released() })
}

// Unreleased returns the batches that are not released and not cancelled, by ordinal.
func (c Campaign) Unreleased() []Batch {
	var unreleased []Batch
	for _, b := range c.Batches {
		if b.State == BatchPending && !b.Cancelled() {
			unreleased = append(unreleased, b.Batch)
		}
	}
	return unreleased
}

// Unmoved returns the unreleased batches whose rows are older than the last move.
func (c Campaign) Unmoved() []Batch {
	var unmoved []Batch
	for _, b := range c.Batches {
		if b.Unmoved {
			unmoved = append(unmoved, b.Batch)
		}
	}
	return unmoved
}

// Plan identifies the unreleased batches and their due times. It changes with every move.
func (c Campaign) Plan() string {
	var plan strings.Builder
	_, _ = fmt.Fprint(&plan, c.Move.Revision, "/", c.BatchCount)
	for _, b := range c.Unreleased() {
		_, _ = fmt.Fprint(&plan, "\n", b.BatchID, " ", b.Due.UnixMilli())
	}
	return Digest(plan.String())
}

// WaitsFor reports whether batches are unreleased, all of them until the due time.
func (c Campaign) WaitsFor(due time.Time) bool {
	unreleased := c.Unreleased()
	otherwise := func(b Batch) bool { return b.Due.UnixMilli() != due.UnixMilli() }
	return len(unreleased) > 0 && !slices.ContainsFunc(unreleased, otherwise)
}
