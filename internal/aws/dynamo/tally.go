package dynamo

import (
	"encoding/binary"
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// The tally of a head contains the counts, reasons and timeline of a batch in about 100
// bytes: the counts in the order of packed.Outcomes, the reasons, and the changed counts of
// each slot.

// packTally encodes the tally of a head.
func packTally(head campaign.LedgerSummary) []byte {
	var b []byte
	for _, outcome := range packed.Outcomes[1:] {
		b = binary.AppendUvarint(b, uint64(head.Counts[outcome])) //nolint:gosec // a count is not negative
	}
	b = packReasons(b, head.Reasons)
	if head.Timeline.Start.IsZero() {
		return b
	}
	b = binary.AppendVarint(b, head.Timeline.Start.Unix()/60)
	for _, slot := range head.Timeline.Slots {
		b = packSlot(b, slot)
	}
	return b
}

func packReasons(b []byte, reasons map[campaign.Reason]int) []byte {
	b = binary.AppendUvarint(b, uint64(len(reasons)))
	for _, r := range packed.Reasons(reasons) {
		b = append(b, packed.Number(r.Outcome))
		b = binary.AppendUvarint(b, uint64(len(r.Code)))
		b = append(b, r.Code...)
		b = binary.AppendVarint(b, int64(reasons[r]))
	}
	return b
}

// packSlot encodes a slot's number, a bit set of the changed outcomes, and their changes.
func packSlot(b []byte, slot campaign.Slot) []byte {
	b = binary.AppendUvarint(b, uint64(slot.Number)) //nolint:gosec // a slot's number is not negative
	at := len(b)
	b = append(b, 0)
	for state, outcome := range packed.Outcomes {
		if n := slot.Net[outcome]; n != 0 {
			b[at] |= 1 << state
			b = binary.AppendVarint(b, int64(n))
		}
	}
	return b
}

var errDamagedTally = errors.New("damaged tally")

// unpackTally decodes the result of packTally. An empty tally means no outcomes.
func unpackTally(tally []byte) (campaign.LedgerSummary, error) {
	head := campaign.LedgerSummary{Counts: map[campaign.Outcome]int{}, Reasons: map[campaign.Reason]int{}}
	if len(tally) == 0 {
		return head, nil
	}
	r := pageReader{packed.Reader{Rest: tally}}
	for _, outcome := range packed.Outcomes[1:] {
		if n := r.Uvarint(); n > 0 && n <= campaign.MaxMessages {
			head.Counts[outcome] = int(n)
		}
	}
	for range r.count() {
		outcome, code := r.outcome(), r.Text(r.Uvarint())
		head.Reasons[campaign.Reason{Outcome: outcome, Code: code}] = int(r.Varint())
	}
	if r.More() {
		head.Timeline.Start = time.Unix(60*r.Varint(), 0).UTC()
	}
	for r.More() {
		head.Timeline.Slots = append(head.Timeline.Slots, r.slot())
	}
	if r.Err != nil {
		return head, errDamagedTally
	}
	return head, nil
}

func (r *pageReader) outcome() campaign.Outcome {
	return packed.Outcomes[int(r.Byte())%len(packed.Outcomes)]
}

func (r *pageReader) slot() campaign.Slot {
	slot := campaign.Slot{Number: int(r.Uvarint()), Net: map[campaign.Outcome]int{}} //nolint:gosec // written by packSlot
	changed := r.Byte()
	for state, outcome := range packed.Outcomes {
		if changed&(1<<state) != 0 {
			slot.Net[outcome] = int(r.Varint())
		}
	}
	return slot
}
