package dynamo

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// The tally of a head contains the counts, reasons and timeline of a batch in about 100
// bytes: the counts in the order of stateOutcomes, the reasons, and the changed counts of
// each slot.

// packTally encodes the tally of a head.
func packTally(head campaign.LedgerSummary) []byte {
	var b []byte
	for _, outcome := range stateOutcomes[1:] {
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
	for _, r := range slices.SortedFunc(maps.Keys(reasons), compareReasons) {
		b = append(b, stateOf(r.Outcome))
		b = binary.AppendUvarint(b, uint64(len(r.Code)))
		b = append(b, r.Code...)
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

// packSlot encodes a slot's number, a bit set of the changed outcomes, and their changes.
func packSlot(b []byte, slot campaign.Slot) []byte {
	b = binary.AppendUvarint(b, uint64(slot.Number)) //nolint:gosec // a slot's number is not negative
	at := len(b)
	b = append(b, 0)
	for state, outcome := range stateOutcomes {
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
	r := pageReader{rest: tally}
	for _, outcome := range stateOutcomes[1:] {
		if n := r.uvarint(); n > 0 && n <= campaign.MaxMessages {
			head.Counts[outcome] = int(n)
		}
	}
	for range r.count() {
		outcome, code := r.outcome(), string(r.bytes())
		head.Reasons[campaign.Reason{Outcome: outcome, Code: code}] = int(r.varint())
	}
	if r.err == nil && len(r.rest) > 0 {
		head.Timeline.Start = time.Unix(60*r.varint(), 0).UTC()
	}
	for r.err == nil && len(r.rest) > 0 {
		head.Timeline.Slots = append(head.Timeline.Slots, r.slot())
	}
	if r.err != nil {
		return head, errDamagedTally
	}
	return head, nil
}

func (r *pageReader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *pageReader) outcome() campaign.Outcome {
	return stateOutcomes[int(r.byte())%len(stateOutcomes)]
}

func (r *pageReader) slot() campaign.Slot {
	slot := campaign.Slot{Number: int(r.uvarint()), Net: map[campaign.Outcome]int{}} //nolint:gosec // written by packSlot
	changed := r.byte()
	for state, outcome := range stateOutcomes {
		if changed&(1<<state) != 0 {
			slot.Net[outcome] = int(r.varint())
		}
	}
	return slot
}
