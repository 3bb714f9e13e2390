package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"campaign-dispatch/localstack/stackenv"
)

// batches call the outcomes function with as many events at once as its trigger in the
// template asks for, as AWS does: the emulator's trigger never gives more than ten.
type batches struct {
	queues          *sqs.Client
	functions       *lambda.Client
	queue, function string
	size            int32
	window          time.Duration
}

// newBatches stops the emulator's trigger.
func newBatches(ctx context.Context, env stackenv.Env) (*batches, error) {
	b := &batches{
		queues: sqs.NewFromConfig(env.AWS()), functions: lambda.NewFromConfig(env.AWS()),
		queue: env["EVENTS_QUEUE_URL"], function: env["OUTCOMES_FUNCTION"],
	}
	found, err := b.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &b.function})
	if err != nil || len(found.EventSourceMappings) != 1 {
		return nil, fmt.Errorf("find the trigger of outcomes: %w", err)
	}
	trigger := found.EventSourceMappings[0]
	b.size = aws.ToInt32(trigger.BatchSize)
	b.window = time.Duration(aws.ToInt32(trigger.MaximumBatchingWindowInSeconds)) * time.Second
	// What outcomes does not take comes again: after six minutes on AWS, which nobody
	// wants to wait for.
	const hidden = "20"
	_, err = b.queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &b.queue, Attributes: map[string]string{"VisibilityTimeout": hidden}})
	if err != nil {
		return nil, fmt.Errorf("let events come again sooner: %w", err)
	}
	if _, err := b.functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: trigger.UUID, Enabled: aws.Bool(false)}); err != nil {
		return nil, fmt.Errorf("stop the trigger of outcomes: %w", err)
	}
	return b, nil
}

// run calls the function until ctx ends, or something fails.
func (b *batches) run(ctx context.Context) error {
	for ctx.Err() == nil {
		got, err := b.gather(ctx)
		if err == nil && len(got) > 0 {
			err = b.call(ctx, got)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("give outcomes its events: %w", err)
		}
	}
	return nil
}

// gather gets messages until there are enough, or the window since the first is over.
func (b *batches) gather(ctx context.Context) (got []sqstypes.Message, err error) {
	var begun time.Time
	for len(got) < int(b.size) && (len(got) == 0 || time.Since(begun) < b.window) {
		out, err := b.queues.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &b.queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			begun = time.Now()
		}
		got = append(got, out.Messages...)
	}
	return got, nil
}

func (b *batches) call(ctx context.Context, got []sqstypes.Message) error {
	type record struct {
		MessageID     string            `json:"messageId"`
		ReceiptHandle string            `json:"receiptHandle"`
		Body          string            `json:"body"`
		Attributes    map[string]string `json:"attributes"`
		Source        string            `json:"eventSource"`
	}
	var event struct{ Records []record }
	handles := map[string]*string{}
	for _, m := range got {
		event.Records = append(event.Records, record{*m.MessageId, *m.ReceiptHandle, *m.Body, map[string]string{"ApproximateReceiveCount": "1"}, "aws:sqs"})
		handles[*m.MessageId] = m.ReceiptHandle
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	out, err := b.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &b.function, Payload: payload})
	if err != nil {
		return err
	}
	var answer struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(out.Payload, &answer); err != nil || out.FunctionError != nil {
		return fmt.Errorf("outcomes answered %.200s: %w", out.Payload, err)
	}
	for _, failed := range answer.BatchItemFailures {
		delete(handles, failed.ItemIdentifier) // it comes again
	}
	return b.remove(ctx, handles)
}

func (b *batches) remove(ctx context.Context, handles map[string]*string) error {
	var entries []sqstypes.DeleteMessageBatchRequestEntry
	for id, handle := range handles {
		entries = append(entries, sqstypes.DeleteMessageBatchRequestEntry{Id: aws.String(id), ReceiptHandle: handle})
	}
	const atOnce = 10
	for some := range slices.Chunk(entries, atOnce) {
		if _, err := b.queues.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &b.queue, Entries: some}); err != nil {
			return err
		}
	}
	return nil
}
