package scheduler_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"campaign-dispatch/internal/aws/scheduler"
	"campaign-dispatch/localstack/stackenv"
)

// role is not read by the emulator.
const role = "arn:aws:iam::000000000000:role/scheduler"

// target is a queue for scheduled messages.
type target struct {
	client *sqs.Client
	url    *string
	arn    string
}

func newTarget(t *testing.T, cfg aws.Config) target {
	t.Helper()
	client := sqs.NewFromConfig(cfg)
	queue, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("scheduler-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: queue.QueueUrl, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	if err != nil {
		t.Fatal(err)
	}
	return target{client, queue.QueueUrl, attributes.Attributes["QueueArn"]}
}

// receive waits up to 20 seconds for a message and returns its body.
func (q target) receive(t *testing.T) string {
	t.Helper()
	out, err := q.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: q.url, WaitTimeSeconds: 20})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("received %d messages, %v", len(out.Messages), err)
	}
	return *out.Messages[0].Body
}

func TestAt(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	q := newTarget(t, env.AWS())
	s, due := scheduler.New(env.AWS(), env["SCHEDULE_GROUP"], q.arn, role), time.Now().Add(1500*time.Millisecond)
	if err := s.At(t.Context(), rand.Text(), due, []byte(`{"batch":"1"}`)); err != nil {
		t.Fatal(err)
	}
	if got := q.receive(t); got != `{"batch":"1"}` {
		t.Errorf("received %q", got)
	}
	if early := time.Until(due); early > 0 {
		t.Errorf("received %v before the instant", early)
	}
}

func TestAt_SameName(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	q := newTarget(t, env.AWS())
	s, name, due := scheduler.New(env.AWS(), env["SCHEDULE_GROUP"], q.arn, role), rand.Text(), time.Now().Add(time.Hour)
	for range 2 {
		if err := s.At(t.Context(), name, due, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Client.DeleteSchedule(t.Context(), &awsscheduler.DeleteScheduleInput{Name: &name, GroupName: &s.Group}); err != nil {
		t.Errorf("there is no schedule after both calls: %v", err)
	}
}
