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
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/aws/awsjson"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/base/trace"
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

// Queue is an SQS queue. Messages can be duplicated: the client repeats calls without a
// response, and SQS delivers at least once.
type Queue struct {
	client *awsjson.Client
	url    string
}

// New returns the queue with the URL.
func New(cfg aws.Config, url string, now func() time.Time) *Queue {
	service := awsjson.Service{Name: "sqs", Target: "AmazonSQS", Version: "1.0"}
	return &Queue{client: awsjson.New(cfg, service, now), url: url}
}

// message is a message of a call. Of a call with a single message it has the queue's URL and no ID.
type message struct {
	ID    string `json:"Id,omitempty"`
	URL   string `json:"QueueUrl,omitempty"`
	Body  string `json:"MessageBody"`
	Group string `json:"MessageGroupId,omitempty"`
	Delay int    `json:"DelaySeconds,omitempty"`
	// System passes the trace of a sampled call on to the function that gets the message.
	System map[string]systemAttribute `json:"MessageSystemAttributes,omitempty"`
}

type systemAttribute struct {
	Type  string `json:"DataType"`
	Value string `json:"StringValue"`
}

// systemOf returns the system attributes of the messages of a call, nil if the call is not sampled.
func systemOf(ctx context.Context) map[string]systemAttribute {
	header := trace.Header(ctx)
	if header == "" {
		return nil
	}
	return map[string]systemAttribute{"AWSTraceHeader": {"String", header}}
}

// Send sends a message that becomes visible after delay (in whole seconds, at most
// maxDelay). SQS fair queues balance the message groups, and charge each request for a
// message with one. An empty group is none.
func (q *Queue) Send(ctx context.Context, group string, body []byte, delay time.Duration) error {
	sent := message{URL: q.url, Body: string(body), Group: group, Delay: seconds(delay), System: systemOf(ctx)}
	if err := q.client.Call(ctx, "SendMessage", sent, &struct{}{}); err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	return nil
}

// SendAll sends messages of one group, ten per call. After an error, some may be queued.
func (q *Queue) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for some := range slices.Chunk(entriesOf(ctx, func(int) string { return group }, bodies), maxBatch) {
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
	for some := range slices.Chunk(entriesOf(ctx, func(i int) string { return groups[i] }, bodies), maxBatch) {
		calls.Go(func() error { return q.sendBatch(ctx, some) })
	}
	if err := calls.Wait(); err != nil {
		return fmt.Errorf("send messages: %w", err)
	}
	return nil
}

func entriesOf(ctx context.Context, group func(i int) string, bodies [][]byte) []message {
	entries, system := make([]message, len(bodies)), systemOf(ctx)
	for i, body := range bodies {
		entries[i] = message{ID: strconv.Itoa(i % maxBatch), Body: string(body), Group: group(i), System: system}
	}
	return entries
}

// Queued returns the approximate number of visible messages.
func (q *Queue) Queued(ctx context.Context) (int, error) {
	const visible = "ApproximateNumberOfMessages"
	asked := map[string]any{"QueueUrl": q.url, "AttributeNames": []string{visible}}
	var answer struct{ Attributes map[string]string }
	if err := q.client.Call(ctx, "GetQueueAttributes", asked, &answer); err != nil {
		return 0, fmt.Errorf("count the messages of a queue: %w", err)
	}
	n, err := strconv.Atoi(answer.Attributes[visible])
	if err != nil {
		return 0, fmt.Errorf("count the messages of a queue: %w", err)
	}
	return n, nil
}

func (q *Queue) sendBatch(ctx context.Context, entries []message) error {
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return err
		}
		var answer struct {
			Failed []struct {
				ID string `json:"Id"`
			}
		}
		if err := q.client.Call(ctx, "SendMessageBatch", map[string]any{"QueueUrl": q.url, "Entries": entries}, &answer); err != nil {
			return err
		}
		failed := make(map[string]bool, len(answer.Failed))
		for _, f := range answer.Failed {
			failed[f.ID] = true
		}
		entries = slices.DeleteFunc(slices.Clone(entries), func(m message) bool { return !failed[m.ID] })
		if len(entries) == 0 {
			return nil
		}
	}
	return errUnsent
}

func seconds(d time.Duration) int {
	return int(min(max(d, 0), maxDelay).Round(time.Second) / time.Second)
}
