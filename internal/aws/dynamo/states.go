package dynamo

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// A batch's states have three bits per message, lowest bit first.

// stateAt returns the state of the message at index, 0 beyond the end.
func stateAt(states []byte, index int) (state int) {
	for i := range packed.OutcomeBits {
		bit := index*packed.OutcomeBits + i
		if bit/8 < len(states) && states[bit/8]&(1<<(bit%8)) != 0 {
			state |= 1 << i
		}
	}
	return state
}

// withStates returns a copy of the states for the given number of messages, updated by
// news.
func withStates(states []byte, messages int, news []campaign.Change) []byte {
	next := make([]byte, max(len(states), (messages*packed.OutcomeBits+7)/8))
	copy(next, states)
	for _, c := range news {
		state := packed.Number(c.Outcome)
		for i := range packed.OutcomeBits {
			bit := c.Index*packed.OutcomeBits + i
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
			outcomes[index] = packed.Outcomes[state]
		}
	}
	return campaign.FrameState{Outcomes: outcomes}
}
