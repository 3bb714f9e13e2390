package ledger

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// packTally encodes the reasons and the timeline. The counts by outcome follow from the
// states.
func packTally(reasons map[campaign.Reason]int, t campaign.Timeline) []byte {
	b := packReasons(nil, reasons)
	if t.Start.IsZero() {
		return b
	}
	b = binary.AppendVarint(b, t.Start.Unix()/60)
	next := 0
	for _, slot := range t.Slots {
		b = packSlot(b, slot, next)
		next = slot.Number + 1
	}
	return b
}

func packReasons(b []byte, reasons map[campaign.Reason]int) []byte {
	b = binary.AppendUvarint(b, uint64(len(reasons)))
	for _, r := range slices.SortedFunc(maps.Keys(reasons), compareReasons) {
		b = packCode(append(b, stateOf(r.Outcome)), r.Code)
		b = binary.AppendVarint(b, int64(reasons[r]))
	}
	return b
}

func compareReasons(a, b campaign.Reason) int {
	if a.Outcome != b.Outcome {
		return strings.Compare(string(a.Outcome), string(b.Outcome))
	}
	return strings.Compare(a.Code, b.Code)
}

// packSlot encodes a bit set of the changed outcomes, then their changes. Bit 0 marks an
// explicit slot number.
func packSlot(b []byte, slot campaign.Slot, next int) []byte {
	at := len(b)
	b = append(b, 0)
	if slot.Number != next {
		b[at] = 1
		b = binary.AppendUvarint(b, uint64(slot.Number)) //nolint:gosec // not negative
	}
	for state, outcome := range outcomes[1:] {
		if n := slot.Net[outcome]; n != 0 {
			b[at] |= 2 << state
			b = binary.AppendVarint(b, int64(n))
		}
	}
	return b
}

func unpackTally(packed []byte) (map[campaign.Reason]int, campaign.Timeline, error) {
	reasons, t := map[campaign.Reason]int{}, campaign.Timeline{}
	if len(packed) == 0 {
		return reasons, t, nil
	}
	r := reader{rest: packed}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		outcome, code := outcomes[r.byte()%byte(len(outcomes))], r.code()
		reasons[campaign.Reason{Outcome: outcome, Code: code}] = int(r.varint())
	}
	if r.more() {
		t.Start = time.Unix(60*r.varint(), 0).UTC()
	}
	for next := 0; r.more(); {
		t.Slots = append(t.Slots, r.slot(next))
		next = t.Slots[len(t.Slots)-1].Number + 1
	}
	return reasons, t, r.err
}

func (r *reader) slot(next int) campaign.Slot {
	slot := campaign.Slot{Number: next, Net: map[campaign.Outcome]int{}}
	changed := r.byte()
	if changed&1 != 0 {
		slot.Number = int(min(r.uvarint(), 1<<16))
	}
	for state, outcome := range outcomes[1:] {
		if changed&(2<<state) != 0 {
			slot.Net[outcome] = int(r.varint())
		}
	}
	return slot
}
