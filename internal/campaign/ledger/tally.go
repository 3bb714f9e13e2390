package ledger

import (
	"encoding/binary"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// packTally encodes the reasons and the timeline. The counts by outcome follow from the states.
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
	for _, r := range packed.Reasons(reasons) {
		b = packCode(append(b, packed.Number(r.Outcome)), r.Code, r.List)
		b = binary.AppendVarint(b, int64(reasons[r]))
	}
	return b
}

// packSlot encodes a bit set of the changed outcomes, then their changes. Bit 0 marks an explicit slot number.
func packSlot(b []byte, slot campaign.Slot, next int) []byte {
	at := len(b)
	b = append(b, 0)
	if slot.Number != next {
		b[at] = 1
		b = binary.AppendUvarint(b, uint64(slot.Number)) //nolint:gosec // not negative
	}
	for state, outcome := range packed.Outcomes[1:] {
		if n := slot.Net[outcome]; n != 0 {
			b[at] |= 2 << state
			b = binary.AppendVarint(b, int64(n))
		}
	}
	return b
}

func unpackTally(value []byte) (map[campaign.Reason]int, campaign.Timeline, error) {
	reasons, t := map[campaign.Reason]int{}, campaign.Timeline{}
	if len(value) == 0 {
		return reasons, t, nil
	}
	r := newReader(value)
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		outcome := packed.Outcomes[r.Byte()%byte(len(packed.Outcomes))]
		code, list := r.code()
		reasons[campaign.Reason{Outcome: outcome, Code: code, List: list}] = int(r.Varint())
	}
	if r.More() {
		t.Start = time.Unix(60*r.Varint(), 0).UTC()
	}
	for next := 0; r.More(); {
		t.Slots = append(t.Slots, r.slot(next))
		next = t.Slots[len(t.Slots)-1].Number + 1
	}
	return reasons, t, r.Err
}

func (r *reader) slot(next int) campaign.Slot {
	slot := campaign.Slot{Number: next, Net: map[campaign.Outcome]int{}}
	changed := r.Byte()
	if changed&1 != 0 {
		slot.Number = int(min(r.Uvarint(), 1<<16))
	}
	for state, outcome := range packed.Outcomes[1:] {
		if changed&(2<<state) != 0 {
			slot.Net[outcome] = int(r.Varint())
		}
	}
	return slot
}
