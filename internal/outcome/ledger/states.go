package ledger

import (
	"encoding/binary"
	"slices"

	"campaign-dispatch/internal/campaign"
)

// outcomes maps stored numbers to outcomes. 0 means no outcome.
var outcomes = [8]campaign.Outcome{
	"", campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead,
	campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
}

const stateBits = 3

// stateOf returns the stored number of an outcome.
func stateOf(outcome campaign.Outcome) byte {
	return byte(max(0, slices.Index(outcomes[:], outcome))) //nolint:gosec // there are eight
}

// packStates encodes a batch's states: their number, then the bits of each state, in the
// context of its preceding bits. 2,000 states take about 300 bytes if nearly all are
// delivered or read, 500 for four equally frequent outcomes, and 750 for eight.
func packStates(states []byte) []byte {
	if len(states) == 0 {
		return nil
	}
	var contexts [1 << stateBits]bitCounts
	e := newEncoder(binary.AppendUvarint(nil, uint64(len(states))))
	for _, s := range states {
		node := byte(1)
		for i := stateBits - 1; i >= 0; i-- {
			bit := s >> i & 1
			e.put(bit, &contexts[node])
			node = node<<1 | bit
		}
	}
	return e.end()
}

// unpackStates decodes the result of packStates. The code has no redundancy, so corruption
// can yield wrong states.
func unpackStates(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r := reader{rest: packed}
	n := r.uvarint()
	if r.err != nil || n > campaign.MaxMessages {
		return nil, errDamaged
	}
	var contexts [1 << stateBits]bitCounts
	d := newDecoder(r.rest)
	states := make([]byte, n)
	for i := range states {
		node := byte(1)
		for range stateBits {
			node = node<<1 | d.get(&contexts[node])
		}
		states[i] = node & (1<<stateBits - 1)
	}
	return states, nil
}
