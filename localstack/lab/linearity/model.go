// Package linearity checks that concurrent dispatch calls have the effects and the answers of some
// sequential order.
package linearity

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A history uses few values, so that its calls conflict.
const (
	campaigns = 3
	names     = 3
	batches   = 4 // 0 is a call without a batch
	numbers   = 6
)

// call is a dispatch call: the indexes of its campaign, name and batch, and its numbers as bits.
type call struct {
	campaign, name, batch int
	numbers               uint8
}

func (c call) String() string {
	return fmt.Sprintf("campaign %d, name %d, batch %d, numbers %0*b", c.campaign, c.name, c.batch, numbers, c.numbers)
}

// answer is the answer to a call: accepted, unknown if it may have been accepted, or the codes of all
// reasons to refuse it, in order.
type answer string

const (
	accepted answer = "accepted"
	unknown  answer = "unknown"
)

// state is the service's state of a history's campaigns.
type state [campaigns]struct {
	name    int // 1 and up, 0 for a campaign that does not exist
	batches uint8
	numbers uint8
}

// reasons returns the codes of all reasons to refuse a call, in order.
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
	if c.batch == 0 { // a 400, which precedes all conflicts
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

// next returns the possible states after a call with an answer, none if the answer is wrong.
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

// model returns the sequential model of the service.
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
