// Package redrive puts dead letters back on the SQS queue that they came from.
package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

const (
	perCall = 10 // messages that one SQS call carries at most
	// wait is how many seconds a receive waits for messages. One that waits asks
	// all of the queue's servers, so that an empty answer means that none is
	// visible.
	wait = 2
	// standardHidden is long enough for ten messages to be moved.
	standardHidden = 60
)

// ErrLeft says that some dead letters could not be moved. They are still dead
// messages.
var ErrLeft = errors.New("some dead letters could not be moved: try again in a minute")

// Mover moves messages between queues.
type Mover struct {
	Client *sqs.Client
	// Hidden is for how many seconds the messages being moved are hidden from
	// others, 0 for a minute. Those that were not moved come back after it.
	Hidden int32
}

// Count returns about how many messages a queue has, those that somebody holds among
// them.
func (m Mover) Count(ctx context.Context, queue string) (int, error) {
	out, err := m.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &queue, AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		},
	})
	if err != nil {
		return 0, fmt.Errorf("count the messages of a queue: %w", err)
	}
	total := 0
	for name, value := range out.Attributes {
		n, err := strconv.Atoi(value)
		if err != nil {
			return 0, fmt.Errorf("count the messages of a queue: %s: %w", name, err)
		}
		total += n
	}
	return total, nil
}

// Move sends every message of the queue with URL from to the queue with URL to,
// in its group, and deletes it only then: a message may come twice, none is
// lost. It returns how many were sent, after an error too, and calls progress
// with that number after every step. Letters that somebody else holds, or that
// were in a reply that got lost, are waited for; where they do not come back the
// error wraps ErrLeft.
func (m Mover) Move(ctx context.Context, from, to string, progress func(moved int)) (int, error) {
	m.Hidden = cmp.Or(m.Hidden, standardHidden)
	moved := 0
	for waited := int32(0); waited <= m.Hidden+wait; {
		letters, err := m.receive(ctx, from)
		if err != nil {
			return moved, fmt.Errorf("receive dead letters: %w", err)
		}
		if len(letters) == 0 {
			if held, err := m.held(ctx, from); err != nil || !held {
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
	return moved, ErrLeft
}

// held reports whether the queue holds messages that cannot be received now.
func (m Mover) held(ctx context.Context, from string) (bool, error) {
	const hidden = types.QueueAttributeNameApproximateNumberOfMessagesNotVisible
	out, err := m.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &from, AttributeNames: []types.QueueAttributeName{hidden},
	})
	if err != nil {
		return false, fmt.Errorf("count the dead letters that are held: %w", err)
	}
	return out.Attributes[string(hidden)] != "0", nil
}

func (m Mover) receive(ctx context.Context, from string) ([]types.Message, error) {
	out, err := m.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &from, MaxNumberOfMessages: perCall, VisibilityTimeout: m.Hidden, WaitTimeSeconds: wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// moveSome returns how many of the messages were sent.
func (m Mover) moveSome(ctx context.Context, from, to string, letters []types.Message) (int, error) {
	sent, err := m.send(ctx, to, letters)
	if err != nil {
		return 0, fmt.Errorf("send dead letters: %w", err)
	}
	if err := m.remove(ctx, from, sent); err != nil {
		return len(sent), fmt.Errorf("delete dead letters that were sent: %w", err)
	}
	if len(sent) < len(letters) {
		return len(sent), ErrLeft
	}
	return len(sent), nil
}

// send returns the messages that the queue took.
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
	out, err := m.Client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &to, Entries: entries})
	if err != nil {
		return nil, err
	}
	sent := make([]types.Message, 0, len(out.Successful))
	for _, entry := range out.Successful {
		i, err := strconv.Atoi(aws.ToString(entry.Id))
		if err != nil || i < 0 || i >= len(letters) {
			return sent, fmt.Errorf("the queue answered for a message %q that it was not sent", aws.ToString(entry.Id))
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
	out, err := m.Client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &from, Entries: entries})
	if err != nil {
		return err
	}
	for _, failed := range out.Failed {
		// A handle that is no longer valid is of a message that is gone, or that
		// is visible again and will be moved again.
		if code := aws.ToString(failed.Code); code != "ReceiptHandleIsInvalid" {
			return fmt.Errorf("a letter was not deleted: %s", code)
		}
	}
	return nil
}
