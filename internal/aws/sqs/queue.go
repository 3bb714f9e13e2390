// Package sqs sends messages to SQS queues and handles the SQS events of a function.
package sqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"
)

// maxDelay is the maximum message delay of SQS.
const maxDelay = 15 * time.Minute

const (
	maxBatch = 10 // messages per SendMessageBatch call
	tries    = 3  // attempts for rejected messages
	atOnce   = 4  // concurrent batch calls
)

// errUnsent reports that SQS accepted a batch call but not all of its messages.
var errUnsent = errors.New("SQS rejected some messages")

// Queue is an SQS queue. Messages can be duplicated: the SDK repeats calls without a
// response, and SQS delivers at least once.
type Queue struct {
	Client *sqs.Client
	URL    string
}

// New returns the queue with the URL.
func New(cfg aws.Config, url string) *Queue {
	return &Queue{Client: sqs.NewFromConfig(cfg), URL: url}
}

// Send sends a message that becomes visible after delay (in whole seconds, at most
// maxDelay). SQS fair queues balance the message groups, and charge each request for a
// message with one. An empty group is none.
func (q *Queue) Send(ctx context.Context, group string, body []byte, delay time.Duration) error {
	_, err := q.Client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.URL, MessageBody: aws.String(string(body)),
		MessageGroupId: groupID(group), DelaySeconds: seconds(delay),
	})
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return nil
}

// SendAll sends messages of one group, ten per call. After an error, some may be queued.
func (q *Queue) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for some := range slices.Chunk(entriesOf(func(int) string { return group }, bodies), maxBatch) {
		if err := q.sendBatch(ctx, some); err != nil {
			return fmt.Errorf("send messages: %w", err)
		}
	}
	return nil
}

// SendGroups sends messages, ten per call; groups[i] is the message group of bodies[i].
// After an error, some may be queued.
func (q *Queue) SendGroups(ctx context.Context, groups []string, bodies [][]byte) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(atOnce)
	for some := range slices.Chunk(entriesOf(func(i int) string { return groups[i] }, bodies), maxBatch) {
		calls.Go(func() error { return q.sendBatch(ctx, some) })
	}
	if err := calls.Wait(); err != nil {
		return fmt.Errorf("send messages: %w", err)
	}
	return nil
}

func entriesOf(group func(i int) string, bodies [][]byte) []types.SendMessageBatchRequestEntry {
	entries := make([]types.SendMessageBatchRequestEntry, len(bodies))
	for i, body := range bodies {
		entries[i] = types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i % maxBatch)), MessageBody: aws.String(string(body)), MessageGroupId: groupID(group(i)),
		}
	}
	return entries
}

func groupID(group string) *string {
	if group == "" {
		return nil
	}
	return &group
}

// Waiting returns the approximate number of visible messages.
func (q *Queue) Waiting(ctx context.Context) (int, error) {
	return Count(ctx, q.Client, q.URL, types.QueueAttributeNameApproximateNumberOfMessages)
}

// Count returns the sum of the approximate numbers of messages that the attributes of a queue have.
func Count(ctx context.Context, client *sqs.Client, queue string, attributes ...types.QueueAttributeName) (total int, err error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: attributes})
	if err != nil {
		return 0, fmt.Errorf("count the messages of a queue: %w", err)
	}
	for _, name := range attributes {
		n, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("count the messages of a queue: %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}

func (q *Queue) sendBatch(ctx context.Context, entries []types.SendMessageBatchRequestEntry) error {
	for range tries {
		out, err := q.Client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.URL, Entries: entries})
		if err != nil {
			return err
		}
		if entries = unsent(entries, out.Failed); len(entries) == 0 {
			return nil
		}
	}
	return errUnsent
}

func unsent(entries []types.SendMessageBatchRequestEntry, failed []types.BatchResultErrorEntry) []types.SendMessageBatchRequestEntry {
	ids := make(map[string]bool, len(failed))
	for _, f := range failed {
		ids[aws.ToString(f.Id)] = true
	}
	var left []types.SendMessageBatchRequestEntry
	for _, e := range entries {
		if ids[aws.ToString(e.Id)] {
			left = append(left, e)
		}
	}
	return left
}

func seconds(d time.Duration) int32 {
	return int32(min(max(d, 0), maxDelay).Round(time.Second) / time.Second) //nolint:gosec // 900 at most
}
