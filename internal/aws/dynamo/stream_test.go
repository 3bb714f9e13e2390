package dynamo_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

type image = map[string]events.DynamoDBAttributeValue

type unreadQueue struct {
	bodies []string
	err    error
}

func (q *unreadQueue) SendAll(_ context.Context, _ string, bodies [][]byte) error {
	for _, b := range bodies {
		q.bodies = append(q.bodies, string(b))
	}
	return q.err
}

// streamRow is the new image of a batch's row.
func streamRow(sk string, numbers map[string]int, packed map[string][]byte) image {
	row := image{"pk": events.NewStringAttribute("00010203040506070809"), "sk": events.NewStringAttribute(sk)}
	for name, n := range numbers {
		row[name] = events.NewNumberAttribute(strconv.Itoa(n))
	}
	for name, b := range packed {
		row[name] = events.NewBinaryAttribute(b)
	}
	return row
}

func TestOfStream(t *testing.T) {
	t.Parallel()
	changes := changesOf(0, 3, campaign.OutcomeSent)
	packed := ledger.Pack(changes)
	tests := map[string]struct {
		row    image
		want   []ledger.Entry
		unread bool
	}{
		"the newest of the tail is new":      {streamRow("HEAD", map[string]int{"newAfter": 11, "newest": 12}, map[string][]byte{"tail": packed}), ledger.Numbered(12, changes[2:]), false},
		"the whole tail is new":              {streamRow("HEAD", map[string]int{"newAfter": 9, "newest": 12}, map[string][]byte{"tail": packed}), ledger.Numbered(10, changes), false},
		"what is new stands in pages":        {streamRow("HEAD", map[string]int{"newAfter": 9, "newest": 600}, map[string][]byte{"tail": {}}), nil, false},
		"a page of news":                     {streamRow("LOG#00000010", map[string]int{"newAfter": 9}, map[string][]byte{"entries": packed}), ledger.Numbered(10, changes), false},
		"entries that moved":                 {streamRow("LOG#00000010", nil, map[string][]byte{"entries": packed}), nil, false},
		"an identity":                        {streamRow("BATCH", map[string]int{"accepted": 3}, nil), nil, false},
		"a removal":                          {nil, nil, false},
		"a damaged tail":                     {streamRow("HEAD", map[string]int{"newAfter": 9, "newest": 12}, map[string][]byte{"tail": {0x80}}), nil, true},
		"no sequence":                        {streamRow("HEAD", map[string]int{"newAfter": 9}, map[string][]byte{"tail": packed}), nil, true},
		"a tail that lacks some of the news": {streamRow("HEAD", map[string]int{"newAfter": 5, "newest": 12}, map[string][]byte{"tail": packed}), nil, true},
		"a damaged key":                      {image{"pk": events.NewStringAttribute("?"), "newAfter": events.NewNumberAttribute("1")}, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []ledger.Entry
			queue := &unreadQueue{}
			event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{Change: events.DynamoDBStreamRecord{NewImage: tt.row, SequenceNumber: "7"}}}}
			err := dynamo.OfStream(func(_ context.Context, fresh []ledger.NewEntries) error {
				for _, n := range fresh {
					got = append(got, n.Entries...)
				}
				return nil
			}, queue)(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if (len(queue.bodies) > 0) != tt.unread {
				t.Errorf("the queue of unreadable records has %v", queue.bodies)
			}
		})
	}
}

func TestOfStream_Failures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{Change: events.DynamoDBStreamRecord{NewImage: image{"newAfter": events.NewNumberAttribute("1")}}}}}
	for name, errs := range map[string]struct{ feed, queue error }{"the feeder": {broken, nil}, "the queue of unreadable records": {nil, broken}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := dynamo.OfStream(func(context.Context, []ledger.NewEntries) error { return errs.feed }, &unreadQueue{err: errs.queue})
			if err := handler(t.Context(), event); !errors.Is(err, broken) {
				t.Errorf("error %v, want that of %s: the call has to be repeated", err, name)
			}
		})
	}
}

// Batches that the feeder cannot process are sent to the queue of unreadable records, and
// the call succeeds.
func TestOfStream_UnfedBatch(t *testing.T) {
	t.Parallel()
	row := streamRow("HEAD", map[string]int{"newAfter": 9, "newest": 12}, map[string][]byte{"tail": ledger.Pack(changesOf(0, 3, campaign.OutcomeSent))})
	event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{Change: events.DynamoDBStreamRecord{NewImage: row}}}}
	queue := &unreadQueue{}
	err := dynamo.OfStream(func(_ context.Context, fresh []ledger.NewEntries) error {
		return &ledger.UnqueuedError{Keys: []campaign.BatchKey{fresh[0].Key}}
	}, queue)(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"pk":"00010203040506070809","sk":"HEAD","sequenceNumber":""}`}
	if diff := cmp.Diff(want, queue.bodies); diff != "" {
		t.Errorf("the queue of unreadable records (-want +got):\n%s", diff)
	}
}
