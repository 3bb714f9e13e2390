package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"campaign-dispatch/internal/metrics"
)

// Handler is a function that SQS calls with ReportBatchItemFailures.
type Handler func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// BatchHandler returns the handler of a queue whose messages are tasks in JSON. The
// function gets all tasks of an event that can be read, which are told how often
// they have arrived where they have a method Received, and returns as many
// errors by their position: nil where a task is done. The others come again,
// and so does what cannot be read, until the queue puts it with its dead
// letters. The messages beside a failed one are not affected by it.
func BatchHandler[T any](handle func(ctx context.Context, tasks []T) []error) Handler {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		failures := []events.SQSBatchItemFailure{} // a list, never null
		fail := func(m events.SQSMessage, err error) {
			slog.ErrorContext(ctx, "a task failed", "sqs_message_id", m.MessageId, "receives", m.Attributes["ApproximateReceiveCount"], "error", err)
			metrics.Add(ctx, metrics.TasksFailed, 1)
			failures = append(failures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
		var tasks []T
		var messages []events.SQSMessage
		for _, m := range event.Records {
			var task T
			if err := json.Unmarshal([]byte(m.Body), &task); err != nil {
				fail(m, fmt.Errorf("read task: %w", err))
				continue
			}
			if counted, ok := any(&task).(interface{ Received(times int) }); ok {
				times, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
				counted.Received(times)
			}
			tasks, messages = append(tasks, task), append(messages, m)
		}
		for i, err := range handle(ctx, tasks) {
			if err != nil {
				fail(messages[i], err)
			}
		}
		return events.SQSEventResponse{BatchItemFailures: failures}, nil
	}
}
