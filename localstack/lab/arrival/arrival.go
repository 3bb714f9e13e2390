// Package arrival generates the provider's events in different orders of arrival, to meter their cost for each order.
package arrival

import "campaign-dispatch/internal/campaign/reaction"

// Event is an event of one message.
type Event struct {
	Batch   int // 0 for the original batch, from 1 on for its copies
	Message int // index in the batch
	Kind    reaction.EventKind
}

// Call holds the events of one invocation of the outcomes function.
type Call []Event

// Shape is an order of the events of a number of messages. Each message is delivered and read.
type Shape struct {
	Name     string
	Messages int
	// First arrives before the original batch is copied and Then after, so that each
	// copy has already received the events of First.
	First, Then []Call
	Copies      int
}

// Size is the number of events of a shape.
type Size struct {
	PerCall int // events in a call
	Batches int // batches with one event each in a round of isolated events
	Rounds  int // isolated events of each kind in a batch
}

// Shapes returns all shapes. Their sizes differ because a day's mix has more events in a batch than isolated ones.
func Shapes(interleaved, mix Size) []Shape {
	return []Shape{Clustered(mix), Interleaved(interleaved), DayMix(mix)}
}

// Clustered returns a shape where all events of a call belong to one batch.
func Clustered(s Size) Shape {
	messages := 2 * s.isolated()
	return Shape{
		Name: "clustered", Messages: messages,
		First: append(s.together(reaction.EventDelivered, messages), s.together(reaction.EventRead, messages)...),
	}
}

// Interleaved returns a shape where all events of a call belong to different batches.
func Interleaved(s Size) Shape {
	return Shape{
		Name: "interleaved", Messages: s.isolated(), Copies: s.Batches,
		Then: append(s.alone(reaction.EventDelivered), s.alone(reaction.EventRead)...),
	}
}

// DayMix returns a shape with clustered deliveries, half of the reads clustered and
// half interleaved: some recipients read at once, others over hours.
func DayMix(s Size) Shape {
	half := s.isolated()
	return Shape{
		Name: "a day's mix", Messages: 2 * half, Copies: s.Batches,
		First: s.together(reaction.EventDelivered, 2*half),
		Then:  append(s.together(reaction.EventRead, half), s.alone(reaction.EventRead)...),
	}
}

func (s Size) isolated() int { return s.Batches * s.Rounds }

// together returns events of the original batch's first messages.
func (s Size) together(kind reaction.EventKind, messages int) (calls []Call) {
	for first := 0; first < messages; first += s.PerCall {
		var call Call
		for i := first; i < min(first+s.PerCall, messages); i++ {
			call = append(call, Event{Message: i, Kind: kind})
		}
		calls = append(calls, call)
	}
	return calls
}

// alone returns calls whose events belong to different batches.
func (s Size) alone(kind reaction.EventKind) (calls []Call) {
	for round := range s.Rounds {
		for first := 1; first <= s.Batches; first += s.PerCall {
			var call Call
			for batch := first; batch < min(first+s.PerCall, s.Batches+1); batch++ {
				call = append(call, Event{Batch: batch, Message: round, Kind: kind})
			}
			calls = append(calls, call)
		}
	}
	return calls
}

// Events returns the number of events.
func (s Shape) Events() (n int) { return Count(s.First) + Count(s.Then) }

// Calls returns the number of calls.
func (s Shape) Calls() int { return len(s.First) + len(s.Then) }

// Count returns the number of events in the calls.
func Count(calls []Call) (n int) {
	for _, call := range calls {
		n += len(call)
	}
	return n
}
