// Package baseline sends messages by a simple design and meters it, for comparison with the
// cost of the service. Each message is a row with its payload, put if it does not exist, and
// one queue task. Each event of the provider finds the row by a secondary index, updates it,
// and queues one task for one webhook. Functions take ten tasks a call, the default of
// Lambda, one after the other.
package baseline

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/localstack/lab/metering"
)

// index finds a row by the message's id at the provider.
const index = "messages"

// Design is the simple design on its own table and queue.
type Design struct {
	rows         *dynamodb.Client
	queue        *sqs.Client
	meter        *metering.Meter
	table, tasks string
}

// New creates the table and the queue. Close deletes them.
func New(ctx context.Context, cfg aws.Config) (*Design, error) {
	d := &Design{table: "naive-" + rand.Text(), meter: &metering.Meter{Rules: metering.Rules{
		IndexKeys: []string{"messageId"}, RowSize: metering.RowSizes(ctx, dynamodb.NewFromConfig(cfg)),
	}}}
	d.meter.Attach(&cfg)
	d.rows, d.queue = dynamodb.NewFromConfig(cfg), sqs.NewFromConfig(cfg)
	text := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := d.rows.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &d.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text("pk"), text("messageId")},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(index), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("messageId"), KeyType: types.KeyTypeHash}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("make the table: %w", err)
	}
	out, err := d.queue.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &d.table})
	if err != nil {
		return nil, fmt.Errorf("make the queue: %w", err)
	}
	d.tasks = aws.ToString(out.QueueUrl)
	return d, nil
}

// Close deletes the table and the queue.
func (d *Design) Close(ctx context.Context) error {
	_, rows := d.rows.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &d.table})
	_, queue := d.queue.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &d.tasks})
	return errors.Join(rows, queue)
}

// Step is the use of one function for the messages, without Lambda's units of computing.
type Step struct {
	Function string
	Units    metering.Units
	// Waited is the time that one call of the function waits for AWS and others.
	Waited time.Duration
}

// Send accepts the messages of one campaign, sends them, and processes their events until they are read.
// The units of a step are those of all messages.
func (d *Design) Send(ctx context.Context, numbers []uint64) ([]Step, error) {
	const events = 2 // delivered and read
	d.meter.Take()
	ids, campaign := make([]string, len(numbers)), random.UUID()
	for i := range ids {
		ids[i] = random.UUID()
	}
	var steps []Step
	for _, s := range []struct {
		name   string
		calls  float64 // of a message
		queued bool
		beside time.Duration // waiting time of a call for others than AWS
		do     func(i int) error
	}{
		{"dispatch", 1.0 / perCall, false, 0, func(i int) error { return d.accept(ctx, campaign, ids, numbers, i) }},
		{"send", 1.0 / perTask, true, perTask * metering.ProviderRoundTrip, func(i int) error { return d.send(ctx, campaign, numbers[i]) }},
		{"events", events, false, 0, func(i int) error {
			return errors.Join(d.event(ctx, ids[i], "delivered"), d.event(ctx, ids[i], "read"))
		}},
		// The task contains the body to post.
		{"notify", 1.0 * events / perTask, true, perTask * metering.WebhookRoundTrip, func(int) error { return nil }},
	} {
		if err := each(len(numbers), s.do); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		made, calls := d.meter.Take(), float64(len(numbers))*s.calls
		step := Step{Function: s.name, Units: metering.Sum(made)}
		step.Units.Invocations = calls
		step.Waited = s.beside + metering.AWSRoundTrip*time.Duration(float64(len(made))/calls)
		if s.name == "dispatch" { // makes its calls side by side
			step.Waited /= metering.SendConcurrency
		}
		if s.queued {
			step.Units.SQSRequests += metering.Polling(calls, calls*perTask)
		}
		steps = append(steps, step)
	}
	return steps, nil
}

const (
	// perCall is the number of messages of one call.
	perCall = 2000
	// perTask is the number of tasks of one call of a function, and of one request to a queue.
	perTask = 10
)

func each(n int, do func(i int) error) error {
	var group errgroup.Group
	const atOnce = 8
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func (d *Design) key(campaign string, number uint64) metering.Item {
	return metering.Item{"pk": text(campaign + "#+" + strconv.FormatUint(number, 10))}
}

// accept puts the row if the number has none, and queues ten tasks at every tenth.
func (d *Design) accept(ctx context.Context, campaign string, ids []string, numbers []uint64, position int) error {
	row := d.key(campaign, numbers[position])
	for name, value := range map[string]string{
		"messageId": ids[position], "tenant": "demo", "campaignId": campaign, "batch": "1", "uid": strconv.Itoa(position),
		"templateId": random.UUID(),
		"status":     "pending", "createdAt": time.Now().UTC().Format(time.RFC3339Nano),
	} {
		row[name] = text(value)
	}
	row["vars"] = &types.AttributeValueMemberM{Value: metering.Item{"nome": text("Ana"), "pedido": text(strconv.Itoa(position))}}
	_, err := d.rows.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &d.table, Item: row, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	if err != nil {
		return err
	}
	if position%perTask > 0 {
		return nil
	}
	return d.putAll(ctx, campaign, ids[position:min(position+perTask, len(ids))])
}

func (d *Design) putAll(ctx context.Context, campaign string, ids []string) error {
	entries := make([]sqstypes.SendMessageBatchRequestEntry, len(ids))
	for i, id := range ids {
		task := map[string]string{"campaignId": campaign, "messageId": id}
		entries[i] = sqstypes.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: body(task)}
	}
	_, err := d.queue.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &d.tasks, Entries: entries})
	return err
}

func body(task map[string]string) *string {
	text, _ := json.Marshal(task) //nolint:errchkjson // strings only
	return aws.String(string(text))
}

// send reads the message, and marks it sent.
func (d *Design) send(ctx context.Context, campaign string, number uint64) error {
	key := d.key(campaign, number)
	if _, err := d.rows.GetItem(ctx, &dynamodb.GetItemInput{TableName: &d.table, Key: key, ConsistentRead: aws.Bool(true)}); err != nil {
		return err
	}
	return d.update(ctx, key, "sent")
}

func (d *Design) update(ctx context.Context, key metering.Item, status string) error {
	_, err := d.rows.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: key, UpdateExpression: aws.String("SET #status = :status"),
		ExpressionAttributeNames: map[string]string{"#status": "status"}, ExpressionAttributeValues: metering.Item{":status": text(status)},
	})
	return err
}

var errNoRow = errors.New("an event's message has no row")

// event finds the message of an event, updates it, and queues its webhook.
func (d *Design) event(ctx context.Context, id, status string) error {
	found, err := d.rows.Query(ctx, &dynamodb.QueryInput{
		TableName: &d.table, IndexName: aws.String(index), KeyConditionExpression: aws.String("messageId = :id"),
		ExpressionAttributeValues: metering.Item{":id": text(id)},
	})
	if err != nil {
		return err
	}
	if len(found.Items) != 1 {
		return errNoRow
	}
	if err := d.update(ctx, metering.Item{"pk": found.Items[0]["pk"]}, status); err != nil {
		return err
	}
	task := map[string]string{"messageId": id, "type": "message." + status, "timestamp": time.Now().UTC().Format(time.RFC3339Nano)}
	_, err = d.queue.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &d.tasks, MessageBody: body(task)})
	return err
}
