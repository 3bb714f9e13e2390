package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/trace"
)

// Handler is a Lambda handler for SQS events with ReportBatchItemFailures.
type Handler func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error)

// batchTask is a task about one batch, whose trace names it.
type batchTask interface {
	TracedBatch() (campaignID, batchID string)
}

// BatchHandler returns the handler of a queue with JSON tasks. handle gets the decoded
// tasks of an event and returns an error by position, nil for completed tasks. Failed and
// undecodable tasks are received again until they move to the dead-letter queue.
func BatchHandler[T any](handle func(ctx context.Context, tasks []T) []error) Handler {
	return CountingBatchHandler(handle, func(*T, int) {})
}

// CountingBatchHandler is BatchHandler with received, which gets each decoded task and the
// number of times that it was received.
func CountingBatchHandler[T any](handle func(ctx context.Context, tasks []T) []error, received func(task *T, times int)) Handler {
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		failures := []events.SQSBatchItemFailure{} // [], not null, in JSON
		fail := func(m events.SQSMessage, err error) {
			slog.ErrorContext(ctx, "task failed", "sqs_message_id", m.MessageId, "receives", m.Attributes["ApproximateReceiveCount"], "error", err)
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
			times, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
			received(&task, times)
			if b, ok := any(task).(batchTask); ok {
				campaignID, batchID := b.TracedBatch()
				trace.Batch(ctx, campaignID, batchID)
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
