package redrive_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/operator/redrive"
	"campaign-dispatch/localstack/stackenv"
)

func TestMove_Groups(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	dead, live := newQueue(t, client), newQueue(t, client)
	want := make([]string, 0, 23)
	for i := range 23 {
		body, group := fmt.Sprintf(`{"frame":%02d}`, i), fmt.Sprint("tenant-", i%3)
		want = append(want, group+" "+body)
		put(t, client, dead, body, group)
	}
	var steps []int
	moved, err := redrive.Mover{Client: client, Hidden: 2}.Move(t.Context(), dead, live, func(n int) { steps = append(steps, n) })
	// The SDK repeats a call whose reply was lost, so a message may be duplicated.
	if err != nil || moved < 23 {
		t.Fatalf("moved %d, %v; want 23", moved, err)
	}
	if !slices.IsSorted(steps) || len(steps) == 0 || steps[len(steps)-1] != moved {
		t.Errorf("progress %v, want rising numbers up to %d", steps, moved)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, drain(t, client, live)); diff != "" {
		t.Errorf("messages of the queue (-want +got):\n%s", diff)
	}
	if left := drain(t, client, dead); len(left) > 0 {
		t.Errorf("still dead: %v", left)
	}
}

func TestMove_EmptyQueue(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	moved, err := redrive.Mover{Client: client}.Move(t.Context(), newQueue(t, client), newQueue(t, client), func(int) {
		t.Error("progress was reported")
	})
	if moved != 0 || err != nil {
		t.Errorf("moved %d, %v", moved, err)
	}
}

func TestMove_WaitsForMessagesInFlight(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	dead, live := newQueue(t, client), newQueue(t, client)
	put(t, client, dead, "held", "")
	if out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &dead, VisibilityTimeout: 3}); err != nil || len(out.Messages) != 1 {
		t.Fatalf("received %v, %v", out, err)
	}
	if moved, err := (redrive.Mover{Client: client}).Move(t.Context(), dead, live, func(int) {}); moved < 1 || err != nil {
		t.Errorf("moved %d, %v; want the message that was in flight", moved, err)
	}
}

func TestMove_MessagesLeft(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	dead, live := newQueue(t, client), newQueue(t, client)
	put(t, client, dead, "held", "")
	if out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &dead, VisibilityTimeout: 600}); err != nil || len(out.Messages) != 1 {
		t.Fatalf("received %v, %v", out, err)
	}
	moved, err := redrive.Mover{Client: client, Hidden: 1}.Move(t.Context(), dead, live, func(int) {})
	if moved != 0 || !errors.Is(err, redrive.ErrNotMoved) {
		t.Errorf("moved %d, %v; want ErrNotMoved", moved, err)
	}
}

func TestMove_UnknownQueue(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	dead := newQueue(t, client)
	put(t, client, dead, "{}", "")
	moved, err := redrive.Mover{Client: client, Hidden: 1}.Move(t.Context(), dead, dead+"-not-there", func(int) {})
	if err == nil || moved != 0 {
		t.Fatalf("moved %d, %v; want an error", moved, err)
	}
	live := newQueue(t, client)
	if moved, err := (redrive.Mover{Client: client}).Move(t.Context(), dead, live, func(int) {}); moved < 1 || err != nil {
		t.Errorf("moved %d, %v; want the message that was left", moved, err)
	}
}

func newClient(t *testing.T) *sqs.Client {
	t.Helper()
	cfg := stackenv.Load(t).AWS()
	cfg.HTTPClient = config.HTTPClientFor(10 * time.Second)
	return sqs.NewFromConfig(cfg)
}

func put(t *testing.T, client *sqs.Client, url, body, group string) {
	t.Helper()
	in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}
	if group != "" {
		in.MessageGroupId = &group
	}
	if _, err := client.SendMessage(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func newQueue(t *testing.T, client *sqs.Client) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("redrive-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context is already cancelled
		_, _ = client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
	})
	return *out.QueueUrl
}

// drain returns the groups and bodies of the queue's messages, without duplicates.
func drain(t *testing.T, client *sqs.Client, url string) []string {
	t.Helper()
	var found []string
	for {
		out, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameMessageGroupId},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range out.Messages {
			found = append(found, m.Attributes["MessageGroupId"]+" "+*m.Body)
		}
		if len(out.Messages) == 0 {
			slices.Sort(found)
			return slices.Compact(found)
		}
	}
}
