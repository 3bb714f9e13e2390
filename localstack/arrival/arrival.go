// Package arrival decides in which order the provider's events arrive, so that what
// they cost can be metered for each order.
package arrival

import "campaign-dispatch/internal/campaign"

// Event is what the provider tells of one message.
type Event struct {
	Batch   int // 0 for the original batch, from 1 on for its copies
	Message int // index in the batch
	Kind    campaign.EventKind
}

// Call is the events that one call of the outcomes function gets.
type Call []Event

// Shape is an order in which the events of some messages arrive. Each message is
// delivered and read.
type Shape struct {
	Name     string
	Messages int
	// First arrive before the original batch is copied, Then after: each copy has
	// had the events that arrived first.
	First, Then []Call
	Copies      int
}

// Size is how much arrives.
type Size struct {
	PerCall int // events that a call gets
	Batches int // that have one event each in a round of isolated events
	Rounds  int // isolated events of a batch of each kind
}

// Shapes are all orders. Beside isolated events a batch has as many others as it has
// messages, so that a day's mix has the fewer batches.
func Shapes(interleaved, mix Size) []Shape {
	return []Shape{Clustered(mix), Interleaved(interleaved), DayMix(mix)}
}

// Clustered has only events of one batch in a call.
func Clustered(s Size) Shape {
	messages := 2 * s.isolated()
	return Shape{
		Name: "clustered", Messages: messages,
		First: append(s.together(campaign.EventDelivered, messages), s.together(campaign.EventRead, messages)...),
	}
}

// Interleaved has every event alone in its batch.
func Interleaved(s Size) Shape {
	return Shape{
		Name: "interleaved", Messages: s.isolated(), Copies: s.Batches,
		Then: append(s.alone(campaign.EventDelivered), s.alone(campaign.EventRead)...),
	}
}

// DayMix has deliveries together, and every second read alone in its batch: some
// people read at once, others over hours.
func DayMix(s Size) Shape {
	half := s.isolated()
	return Shape{
		Name: "a day's mix", Messages: 2 * half, Copies: s.Batches,
		First: s.together(campaign.EventDelivered, 2*half),
		Then:  append(s.together(campaign.EventRead, half), s.alone(campaign.EventRead)...),
	}
}

func (s Size) isolated() int { return s.Batches * s.Rounds }

// together are events of the original batch's first messages.
func (s Size) together(kind campaign.EventKind, messages int) (calls []Call) {
	for first := 0; first < messages; first += s.PerCall {
		var call Call
		for i := first; i < min(first+s.PerCall, messages); i++ {
			call = append(call, Event{Message: i, Kind: kind})
		}
		calls = append(calls, call)
	}
	return calls
}

// alone are events of which no two in a call are of the same batch.
func (s Size) alone(kind campaign.EventKind) (calls []Call) {
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

// Events is how many events arrive.
func (s Shape) Events() (n int) { return Count(s.First) + Count(s.Then) }

// Calls is how many calls bring them.
func (s Shape) Calls() int { return len(s.First) + len(s.Then) }

// Count is how many events calls bring.
func Count(calls []Call) (n int) {
	for _, call := range calls {
		n += len(call)
	}
	return n
}
