// Package linearity checks that dispatch calls which overlap have the effects, and
// get the answers, that they would have one after the other.
package linearity

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A history is about few things, so that its calls get into each other's way.
const (
	campaigns = 3
	names     = 3
	batches   = 4 // of which the first one is none
	numbers   = 6
)

// call is a dispatch call: which campaign, name and batch of a history's, and the numbers as bits.
type call struct {
	campaign, name, batch int
	numbers               uint8
}

func (c call) String() string {
	return fmt.Sprintf("campaign %d, name %d, batch %d, numbers %0*b", c.campaign, c.name, c.batch, numbers, c.numbers)
}

// answer is what a call got: accepted, unknown where nobody can say whether it was
// carried out, or all reasons to refuse it, in order.
type answer string

const (
	accepted answer = "accepted"
	unknown  answer = "unknown"
)

// state is what the service knows of a history's campaigns.
type state [campaigns]struct {
	name    int // 1 and up, 0 for a campaign that does not exist
	batches uint8
	numbers uint8
}

// reasons are the codes of all reasons to refuse a call (parts 4.2 and 7 of the interface), in order.
func (s state) reasons(c call) (codes []string) {
	now := s[c.campaign]
	if now.name == 0 {
		for _, other := range s {
			if other.name == c.name+1 {
				return []string{"campaign_name_taken"}
			}
		}
		return nil
	}
	if c.batch == 0 { // a 400, which is told before any conflict
		return []string{"batch_required"}
	}
	if now.batches&(1<<c.batch) != 0 {
		codes = append(codes, "batch_already_used")
	}
	if now.name != c.name+1 {
		codes = append(codes, "campaign_name_mismatch")
	}
	if now.numbers&c.numbers != 0 {
		codes = append(codes, "number_already_dispatched")
	}
	slices.Sort(codes)
	return codes
}

func (s state) with(c call) state {
	now := &s[c.campaign]
	now.name = c.name + 1
	now.batches |= 1 << c.batch
	now.numbers |= c.numbers
	return s
}

// next returns the states that may follow when a call gets an answer, none where it must not get it.
func (s state) next(c call, a answer) []any {
	codes := s.reasons(c)
	switch {
	case a == unknown && len(codes) == 0:
		return []any{s, s.with(c)}
	case a == unknown:
		return []any{s}
	case a == accepted && len(codes) == 0:
		return []any{s.with(c)}
	case a == answer(strings.Join(codes, " ")) && len(codes) > 0:
		return []any{s}
	}
	return nil
}

// model is what one call after the other would do.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{state{}} },
		Step:  func(before, in, out any) []any { return before.(state).next(in.(call), out.(answer)) },
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(in, out any) string {
			c := in.(call)
			return fmt.Sprintf("%v (%d numbers): %v", c, bits.OnesCount8(c.numbers), out)
		},
	}
	return nondeterministic.ToModel()
}
