package arrival

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/reaction"
)

// figures are the numbers of events and batches of a shape.
type figures struct {
	Messages, Delivered, Read int
	DeliveredAlone, ReadAlone int   // events without another of their batch in the call
	Batches                   []int // batches in each call
}

func figuresOf(s Shape) figures {
	f := figures{Messages: s.Messages}
	for _, call := range slices.Concat(s.First, s.Then) {
		ofBatch := map[int]int{}
		for _, e := range call {
			ofBatch[e.Batch]++
		}
		for _, e := range call {
			alone := 0
			if ofBatch[e.Batch] == 1 {
				alone = 1
			}
			if e.Kind == reaction.EventRead {
				f.Read, f.ReadAlone = f.Read+1, f.ReadAlone+alone
			} else {
				f.Delivered, f.DeliveredAlone = f.Delivered+1, f.DeliveredAlone+alone
			}
		}
		f.Batches = append(f.Batches, len(ofBatch))
	}
	return f
}

func TestShapes_BatchesPerCall(t *testing.T) {
	t.Parallel()
	size := Size{PerCall: 500, Batches: 500, Rounds: 1}
	for _, test := range []struct {
		shape Shape
		want  figures
	}{
		{Clustered(size), figures{Messages: 1000, Delivered: 1000, Read: 1000, Batches: []int{1, 1, 1, 1}}},
		{Interleaved(size), figures{Messages: 500, Delivered: 500, Read: 500, DeliveredAlone: 500, ReadAlone: 500, Batches: []int{500, 500}}},
		{DayMix(size), figures{Messages: 1000, Delivered: 1000, Read: 1000, ReadAlone: 500, Batches: []int{1, 1, 1, 500}}},
	} {
		if diff := cmp.Diff(test.want, figuresOf(test.shape)); diff != "" {
			t.Errorf("%s (-want +got): %s", test.shape.Name, diff)
		}
		if events := test.want.Delivered + test.want.Read; test.shape.Events() != events || test.shape.Calls() != len(test.want.Batches) {
			t.Errorf("%s: %d events in %d calls, want %d in %d", test.shape.Name, test.shape.Events(), test.shape.Calls(), events, len(test.want.Batches))
		}
	}
}

// A repeated event costs almost nothing, so a shape must not contain one.
func TestShapes_NoRepeatedEvents(t *testing.T) {
	t.Parallel()
	for _, size := range []Size{{PerCall: 500, Batches: 500, Rounds: 2}, {PerCall: 4, Batches: 10, Rounds: 3}} {
		for _, s := range Shapes(size, size) {
			delivered, seen := map[Event]bool{}, map[Event]bool{}
			for i, call := range slices.Concat(s.First, s.Then) {
				for _, e := range call {
					if seen[e] || e.Batch > s.Copies || e.Batch > 0 && i < len(s.First) {
						t.Fatalf("%s: event %+v is repeated, or precedes its batch", s.Name, e)
					}
					seen[e] = true
					before := Event{Batch: e.Batch, Message: e.Message, Kind: reaction.EventDelivered}
					original := Event{Message: e.Message, Kind: reaction.EventDelivered}
					if e.Kind == reaction.EventRead && !delivered[before] && !delivered[original] {
						t.Fatalf("%s: event %+v precedes its delivery", s.Name, e)
					}
					if e.Kind == reaction.EventDelivered {
						delivered[e] = true
					}
				}
				if len(call) > size.PerCall {
					t.Errorf("%s: %d events in a call", s.Name, len(call))
				}
			}
		}
	}
}
