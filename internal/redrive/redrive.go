// Package redrive puts dead letters back on the SQS queue that they came from.
package redrive

import (
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
	// hidden is for how many seconds the messages being moved are hidden from
	// others; those that were not moved come back after it.
	hidden = 60
	// wait is how many seconds a receive waits for messages. One that waits asks
	// all of the queue's servers, so that an empty answer means an empty queue.
	wait = 2
)

// ErrLeft says that some dead letters could not be moved. They are still dead
// letters.
var ErrLeft = errors.New("some dead letters could not be moved, try again in a minute")

// Mover moves messages between queues.
type Mover struct {
	Client *sqs.Client
}

// Move sends every message of the queue with URL from to the queue with URL to,
// in its group, and deletes it only then: a message may come twice, none is
// lost. It returns how many were sent, after an error too, and calls progress
// with that number after every step.
func (m Mover) Move(ctx context.Context, from, to string, progress func(moved int)) (int, error) {
	moved := 0
	for {
		letters, err := m.receive(ctx, from)
		if err != nil {
			return moved, fmt.Errorf("receive dead letters: %w", err)
		}
		if len(letters) == 0 {
			return moved, nil
		}
		n, err := m.moveSome(ctx, from, to, letters)
		moved += n
		progress(moved)
		if err != nil {
			return moved, err
		}
	}
}

func (m Mover) receive(ctx context.Context, from string) ([]types.Message, error) {
	out, err := m.Client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &from, MaxNumberOfMessages: perCall, VisibilityTimeout: hidden, WaitTimeSeconds: wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// moveSome returns how many of the letters were sent.
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

// send returns the letters that the queue took.
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
	if len(out.Failed) > 0 {
		return fmt.Errorf("%d of them: %s", len(out.Failed), aws.ToString(out.Failed[0].Code))
	}
	return nil
}
