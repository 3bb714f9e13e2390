// Package redrive moves dead letters back to the SQS queue that they came from.
package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	perCall = 10 // maximum messages per SQS call
	// wait is the wait time of a receive in seconds. A long poll queries all SQS
	// servers, so an empty answer means that no message is visible.
	wait = 2
	// standardHidden is the default visibility timeout in seconds. Moving ten messages
	// takes less.
	standardHidden = 60
)

// ErrNotMoved means that some dead letters could not be moved. They remain in the
// dead-letter queue.
var ErrNotMoved = errors.New("some dead letters could not be moved: retry in a minute")

// Mover moves messages between queues.
type Mover struct {
	Client *awssqs.Client
	// Hidden is the visibility timeout in seconds of the messages being moved, 0 for a
	// minute. Messages that were not moved are visible again after it.
	Hidden int32
}

// Count returns the approximate number of messages in a queue, including those in
// flight.
func (m Mover) Count(ctx context.Context, queue string) (int, error) {
	return m.count(ctx, queue, types.QueueAttributeNameApproximateNumberOfMessages, hidden)
}

// count returns the sum of the approximate numbers of messages that the attributes of a queue have.
func (m Mover) count(ctx context.Context, queue string, attributes ...types.QueueAttributeName) (total int, err error) {
	out, err := m.Client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: attributes})
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

const hidden = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible

// Move sends every message of queue from to queue to, in its group, and then deletes
// it. A message may be duplicated, but none is lost. Move returns the number of
// messages sent, also with an error, and calls progress with that number after every
// step. It waits for messages in flight; if they do not become visible, the error wraps
// ErrNotMoved.
func (m Mover) Move(ctx context.Context, from, to string, progress func(moved int)) (int, error) {
	m.Hidden = cmp.Or(m.Hidden, standardHidden)
	moved := 0
	for waited := int32(0); waited <= m.Hidden+wait; {
		letters, err := m.receive(ctx, from)
		if err != nil {
			return moved, fmt.Errorf("receive dead letters: %w", err)
		}
		if len(letters) == 0 {
			if held, err := m.count(ctx, from, hidden); err != nil || held == 0 {
				return moved, err
			}
			waited += wait
			continue
		}
		n, err := m.moveSome(ctx, from, to, letters)
		moved, waited = moved+n, 0
		progress(moved)
		if err != nil {
			return moved, err
		}
	}
	return moved, ErrNotMoved
}

func (m Mover) receive(ctx context.Context, from string) ([]types.Message, error) {
	out, err := m.Client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: &from, MaxNumberOfMessages: perCall, VisibilityTimeout: m.Hidden, WaitTimeSeconds: wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// moveSome returns the number of messages sent.
func (m Mover) moveSome(ctx context.Context, from, to string, letters []types.Message) (int, error) {
	sent, err := m.send(ctx, to, letters)
	if err != nil {
		return 0, fmt.Errorf("send dead letters: %w", err)
	}
	if err := m.remove(ctx, from, sent); err != nil {
		return len(sent), fmt.Errorf("delete moved dead letters: %w", err)
	}
	if len(sent) < len(letters) {
		return len(sent), ErrNotMoved
	}
	return len(sent), nil
}

// send returns the messages that the queue accepted.
func (m Mover) send(ctx context.Context, to string, letters []types.Message) ([]types.Message, error) {
	entries := make([]types.SendMessageBatchRequestEntry, len(letters))
	for i, letter := range letters {
		entries[i] = types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: letter.Body, MessageAttributes: letter.MessageAttributes,
		}
		if group := letter.Attributes[string(types.MessageSystemAttributeNameMessageGroupId)]; group != "" {
			entries[i].MessageGroupId = &group
		}
	}
	out, err := m.Client.SendMessageBatch(ctx, &awssqs.SendMessageBatchInput{QueueUrl: &to, Entries: entries})
	if err != nil {
		return nil, err
	}
	sent := make([]types.Message, 0, len(out.Successful))
	for _, entry := range out.Successful {
		i, err := strconv.Atoi(aws.ToString(entry.Id))
		if err != nil || i < 0 || i >= len(letters) {
			return sent, fmt.Errorf("SQS answered for an unknown message %q", aws.ToString(entry.Id))
		}
		sent = append(sent, letters[i])
	}
	return sent, nil
}

func (m Mover) remove(ctx context.Context, from string, letters []types.Message) error {
	if len(letters) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(letters))
	for i, letter := range letters {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: letter.ReceiptHandle}
	}
	out, err := m.Client.DeleteMessageBatch(ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: &from, Entries: entries})
	if err != nil {
		return err
	}
	for _, failed := range out.Failed {
		// An invalid handle belongs to a message that is deleted, or visible again and
		// moved later.
		if code := aws.ToString(failed.Code); code != "ReceiptHandleIsInvalid" {
			return fmt.Errorf("a dead letter was not deleted: %s", code)
		}
	}
	return nil
}
