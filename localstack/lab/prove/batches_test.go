package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/localstack/lab/arrival"
	"campaign-dispatch/localstack/stackenv"
)

// batches call the outcomes function with chosen events, as many as its trigger in the
// template allows. The emulator's trigger passes the events that are there.
type batches struct {
	queues          *sqs.Client
	functions       *lambda.Client
	queue, function string
	agent           string
	size            int // batch size of the trigger
}

// newBatches stops the emulator's trigger.
func newBatches(ctx context.Context, env stackenv.Env) (*batches, error) {
	b := &batches{
		queues: sqs.NewFromConfig(env.AWS()), functions: lambda.NewFromConfig(env.AWS()),
		queue: env["EVENTS_QUEUE_URL"], function: env["OUTCOMES_FUNCTION"], agent: env["DEMO_AGENT_ID"],
	}
	found, err := b.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &b.function})
	if err != nil || len(found.EventSourceMappings) != 1 {
		return nil, fmt.Errorf("find the trigger of outcomes: %w", err)
	}
	trigger := found.EventSourceMappings[0]
	b.size = int(aws.ToInt32(trigger.BatchSize))
	if _, err := b.functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: trigger.UUID, Enabled: aws.Bool(false)}); err != nil {
		return nil, fmt.Errorf("stop the trigger of outcomes: %w", err)
	}
	return b, nil
}

// forget empties the events queue.
func (b *batches) forget(ctx context.Context) error {
	_, err := b.queues.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &b.queue})
	return err
}

// arrive calls the function with the events of each call. The batches have these keys.
func (b *batches) arrive(ctx context.Context, calls []arrival.Call, keys []campaign.BatchKey) error {
	for _, call := range calls {
		if err := b.call(ctx, call, keys); err != nil {
			return fmt.Errorf("give outcomes its events: %w", err)
		}
	}
	return nil
}

var errLeft = errors.New("outcomes left events")

func (b *batches) call(ctx context.Context, call arrival.Call, keys []campaign.BatchKey) error {
	payload, err := b.event(call, keys)
	if err != nil {
		return err
	}
	out, err := b.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &b.function, Payload: payload})
	if err != nil {
		return err
	}
	var answer struct{ BatchItemFailures []json.RawMessage }
	if err := json.Unmarshal(out.Payload, &answer); err != nil || out.FunctionError != nil {
		return fmt.Errorf("outcomes answered %.200s: %w", out.Payload, err)
	}
	if left := len(answer.BatchItemFailures); left > 0 {
		return fmt.Errorf("%w: %d of %d", errLeft, left, len(call))
	}
	return nil
}

// event is the SQS event of a call: the tasks that the events function makes of the
// provider's events.
func (b *batches) event(call arrival.Call, keys []campaign.BatchKey) ([]byte, error) {
	type record struct {
		MessageID  string            `json:"messageId"`
		Body       string            `json:"body"`
		Attributes map[string]string `json:"attributes"`
		Source     string            `json:"eventSource"`
	}
	var event struct{ Records []record }
	for i, e := range call {
		id := keys[e.Batch].MessageID(e.Message)
		task, err := json.Marshal(reaction.EventTask{Kind: e.Kind, EventID: string(e.Kind) + " of " + id, AgentID: b.agent, MessageID: id, At: time.Now().UTC()})
		if err != nil {
			return nil, err
		}
		event.Records = append(event.Records, record{strconv.Itoa(i), string(task), map[string]string{"ApproximateReceiveCount": "1"}, "aws:sqs"})
	}
	return json.Marshal(event)
}
