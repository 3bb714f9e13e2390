package dynamo

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

// stateOutcomes maps states to outcomes. A batch's states have three bits per message,
// lowest bit first; 0 means no outcome.
var stateOutcomes = [8]campaign.Outcome{
	"", campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead,
	campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
}

const stateBits = 3

// stateOf returns the state of an outcome.
func stateOf(outcome campaign.Outcome) byte {
	return byte(max(0, slices.Index(stateOutcomes[:], outcome))) //nolint:gosec // there are eight
}

// stateAt returns the state of the message at index, 0 beyond the end.
func stateAt(states []byte, index int) (state int) {
	for i := range stateBits {
		bit := index*stateBits + i
		if bit/8 < len(states) && states[bit/8]&(1<<(bit%8)) != 0 {
			state |= 1 << i
		}
	}
	return state
}

// withStates returns a copy of the states for the given number of messages, updated by
// news.
func withStates(states []byte, messages int, news []campaign.Change) []byte {
	next := make([]byte, max(len(states), (messages*stateBits+7)/8))
	copy(next, states)
	for _, c := range news {
		state := stateOf(c.Outcome)
		for i := range stateBits {
			bit := c.Index*stateBits + i
			next[bit/8] &^= 1 << (bit % 8)
			next[bit/8] |= (state >> i & 1) << (bit % 8)
		}
	}
	return next
}

func readFrame(states []byte, frame int) campaign.FrameState {
	outcomes := map[int]campaign.Outcome{}
	for index := frame * campaign.FrameSize; index < (frame+1)*campaign.FrameSize; index++ {
		if state := stateAt(states, index); state > 0 {
			outcomes[index] = stateOutcomes[state]
		}
	}
	return campaign.FrameState{Outcomes: outcomes}
}
