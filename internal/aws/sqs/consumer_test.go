package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign/reaction"
)

type task struct {
	Name string `json:"name"`
}

func TestBatchHandler(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	tests := map[string]struct {
		bodies []string
		errs   map[string]error
		got    []task
		answer string
	}{
		"no messages": {nil, nil, nil, `{"batchItemFailures":[]}`},
		"all done":    {[]string{`{"name":"a"}`, `{"name":"b"}`}, nil, []task{{"a"}, {"b"}}, `{"batchItemFailures":[]}`},
		"one fails": {
			[]string{`{"name":"a"}`, `{"name":"b"}`, `{"name":"c"}`},
			map[string]error{"b": bad},
			[]task{{"a"}, {"b"}, {"c"}},
			`{"batchItemFailures":[{"itemIdentifier":"1"}]}`,
		},
		"a field of the version to come is ignored": {[]string{`{"name":"a","later":{}}`}, nil, []task{{"a"}}, `{"batchItemFailures":[]}`},
		"what cannot be read fails alone": {
			[]string{`{`, `{"name":"b"}`, `[]`, `{"name":"d"}`},
			map[string]error{"d": bad},
			[]task{{"b"}, {"d"}},
			`{"batchItemFailures":[{"itemIdentifier":"0"},{"itemIdentifier":"2"},{"itemIdentifier":"3"}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var event events.SQSEvent
			for i, body := range tt.bodies {
				event.Records = append(event.Records, events.SQSMessage{MessageId: string(rune('0' + i)), Body: body})
			}
			var got []task
			answer, err := sqs.BatchHandler(func(_ context.Context, tasks []task) []error {
				got = tasks
				errs := make([]error, len(tasks))
				for i, task := range tasks {
					errs[i] = tt.errs[task.Name]
				}
				return errs
			})(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.got, got); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
			if body, err := json.Marshal(answer); err != nil || string(body) != tt.answer {
				t.Errorf("answer %s (%v), want %s", body, err, tt.answer)
			}
		})
	}
}

func TestCountingBatchHandler(t *testing.T) {
	t.Parallel()
	var got []int
	handle := func(_ context.Context, tasks []reaction.EventTask) []error {
		for _, task := range tasks {
			got = append(got, task.Receives)
		}
		return nil
	}
	handler := sqs.CountingBatchHandler(handle, (*reaction.EventTask).Received)
	event := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "1", Body: `{}`, Attributes: map[string]string{"ApproximateReceiveCount": "3"}}, {MessageId: "2", Body: `{}`},
	}}
	if _, err := handler(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 0}, got); diff != "" {
		t.Errorf("receives (-want +got):\n%s", diff)
	}
}
