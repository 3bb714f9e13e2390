package redrive_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/redrive"
	"campaign-dispatch/localstack/stackenv"
)

func TestMoveBringsEveryLetterBackInItsGroup(t *testing.T) {
	t.Parallel()
	client := sqs.NewFromConfig(stackenv.Load(t).AWS())
	dead, live := newQueue(t, client), newQueue(t, client)
	want := make([]string, 0, 23)
	for i := range 23 {
		body, group := fmt.Sprintf(`{"frame":%02d}`, i), fmt.Sprint("tenant-", i%3)
		want = append(want, group+" "+body)
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &dead, MessageBody: &body, MessageGroupId: &group}); err != nil {
			t.Fatal(err)
		}
	}
	var steps []int
	moved, err := redrive.Mover{Client: client}.Move(t.Context(), dead, live, func(n int) { steps = append(steps, n) })
	if err != nil || moved != 23 {
		t.Fatalf("moved %d, %v; want 23", moved, err)
	}
	if !slices.IsSorted(steps) || len(steps) == 0 || steps[len(steps)-1] != 23 {
		t.Errorf("progress %v, want rising numbers up to 23", steps)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, drain(t, client, live, 23)); diff != "" {
		t.Errorf("messages of the queue (-want +got):\n%s", diff)
	}
	if left := drain(t, client, dead, 0); len(left) > 0 {
		t.Errorf("still dead: %v", left)
	}
}

func TestMoveOfNothing(t *testing.T) {
	t.Parallel()
	client := sqs.NewFromConfig(stackenv.Load(t).AWS())
	moved, err := redrive.Mover{Client: client}.Move(t.Context(), newQueue(t, client), newQueue(t, client), func(int) {
		t.Error("progress was reported")
	})
	if moved != 0 || err != nil {
		t.Errorf("moved %d, %v", moved, err)
	}
}

func TestMoveToAQueueThatIsNotThereKeepsTheLetters(t *testing.T) {
	t.Parallel()
	client := sqs.NewFromConfig(stackenv.Load(t).AWS())
	dead := newQueue(t, client)
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &dead, MessageBody: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
	moved, err := redrive.Mover{Client: client}.Move(t.Context(), dead, dead+"-not-there", func(int) {})
	if err == nil || moved != 0 {
		t.Fatalf("moved %d, %v; want an error", moved, err)
	}
	out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &dead, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameApproximateNumberOfMessagesNotVisible},
	})
	if err != nil || out.Attributes["ApproximateNumberOfMessagesNotVisible"] != "1" {
		t.Errorf("the letter is gone: %v, %v", out, err)
	}
}

func newQueue(t *testing.T, client *sqs.Client) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("redrive-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's own context has ended by then
		_, _ = client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
	})
	return *out.QueueUrl
}

// drain receives until it has as many messages as expected, or none come.
func drain(t *testing.T, client *sqs.Client, url string, expected int) []string {
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
		if len(out.Messages) == 0 || len(found) > expected {
			slices.Sort(found)
			return found
		}
	}
}
