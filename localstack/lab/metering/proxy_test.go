package metering

import (
	"bytes"
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/localstack/stackenv"
)

// The proxy reads requests, and the meter the SDK's inputs. They count the same for the same calls.
func TestProxy_CountsAsMeter(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	to, err := url.Parse(env["AWS_ENDPOINT_URL"])
	if err != nil {
		t.Fatal(err)
	}
	sizes := RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS()))
	p, err := Start(t.Context(), env["STACK_NAME"], to, sizes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	cfg := env.AWS()
	cfg.BaseEndpoint = aws.String(p.URL())
	m := &Meter{Rules: OfService(sizes)}
	m.Attach(&cfg)
	for name, call := range map[string]func(context.Context) error{
		"rows": aFewRows(cfg, env), "a queue": aFewMessages(cfg), "objects": anObject(cfg, env),
	} {
		if err := call(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	want, got := m.Take(), p.Take()[""]
	for _, c := range want {
		if c.Units == (Units{}) && c.Operation != "CreateQueue" && c.Operation != "DeleteQueue" {
			t.Errorf("%s has no units", c.Operation)
		}
	}
	if diff := cmp.Diff(Sum(want), got.Units); diff != "" || got.Calls != len(want) {
		t.Errorf("%d calls by the meter, %d by the proxy (-meter +proxy): %s", len(want), got.Calls, diff)
	}
	if got.Waits != depth(want) {
		t.Errorf("%d calls waited by the proxy, %d by the meter", got.Waits, depth(want))
	}
}

// Two calls side by side are one wait, even if the service answers each at once. Two calls one
// after the other are two.
func TestProxy_SetDistance(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(service.Close)
	to, err := url.Parse(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), "none", to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	p.SetDistance(250 * time.Millisecond)
	var both errgroup.Group
	for range 2 {
		both.Go(func() error { return callOf(t, p) })
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := p.Take()[""]; got.Calls != 2 || got.Waits != 1 {
		t.Errorf("side by side: %d waits for %d calls, want 1 for 2", got.Waits, got.Calls)
	}
	p.SetDistance(0)
	for range 2 {
		if err := callOf(t, p); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Take()[""]; got.Calls != 2 || got.Waits != 2 {
		t.Errorf("one after the other: %d waits for %d calls, want 2 for 2", got.Waits, got.Calls)
	}
}

func callOf(t *testing.T, p *Proxy) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL(), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func aFewRows(cfg aws.Config, env stackenv.Env) func(context.Context) error {
	table, client := aws.String(env["CAMPAIGNS_TABLE"]), dynamodb.NewFromConfig(cfg)
	pk := &types.AttributeValueMemberS{Value: "METER#" + rand.Text()}
	key := Item{"pk": pk, "sk": &types.AttributeValueMemberS{Value: "ROW"}}
	row := Item{
		"pk": pk, "sk": key["sk"], "bytes": &types.AttributeValueMemberB{Value: make([]byte, 3000)}, "flag": &types.AttributeValueMemberBOOL{Value: true},
		"set": &types.AttributeValueMemberNS{Value: []string{"1", "200"}}, "none": &types.AttributeValueMemberNULL{Value: true},
		"map":  &types.AttributeValueMemberM{Value: Item{"a": &types.AttributeValueMemberN{Value: "12345"}}},
		"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{pk}}, "words": &types.AttributeValueMemberSS{Value: []string{"a"}},
	}
	by := map[string]types.AttributeValue{":more": &types.AttributeValueMemberN{Value: "1"}}
	other := Item{"pk": pk, "sk": &types.AttributeValueMemberS{Value: "OTHER"}}
	return func(ctx context.Context) error {
		return inTurn(
			func() (any, error) { return client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: row}) },
			func() (any, error) {
				return client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: table, Key: key, UpdateExpression: aws.String("ADD more :more"), ExpressionAttributeValues: by,
				})
			},
			func() (any, error) {
				return client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
					{Put: &types.Put{TableName: table, Item: other}},
					{Update: &types.Update{TableName: table, Key: key, UpdateExpression: aws.String("ADD more :more"), ExpressionAttributeValues: by}},
				}})
			},
			func() (any, error) {
				return client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
			},
			func() (any, error) {
				return client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
					*table: {Keys: []Item{key, other, {"pk": pk, "sk": pk}}},
				}})
			},
			func() (any, error) {
				return client.Query(ctx, &dynamodb.QueryInput{
					TableName: table, KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: Item{":pk": pk},
				})
			},
			func() (any, error) {
				return client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key})
			},
			func() (any, error) {
				return client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: other})
			},
		)
	}
}

func aFewMessages(cfg aws.Config) func(context.Context) error {
	client := sqs.NewFromConfig(cfg)
	return func(ctx context.Context) error {
		q, err := client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("meter-" + rand.Text())})
		if err != nil {
			return err
		}
		return inTurn(
			func() (any, error) {
				return client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: q.QueueUrl, MessageBody: aws.String("one"), MessageGroupId: aws.String("g")})
			},
			func() (any, error) {
				return client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: q.QueueUrl, Entries: []sqstypes.SendMessageBatchRequestEntry{
					{Id: aws.String("1"), MessageBody: aws.String(string(bytes.Repeat([]byte("x"), 70<<10)))},
				}})
			},
			func() (any, error) { return client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: q.QueueUrl}) },
		)
	}
}

func anObject(cfg aws.Config, env stackenv.Env) func(context.Context) error {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket, key := aws.String(env["BUCKET"]), aws.String("work/meter-"+rand.Text())
	return func(ctx context.Context) error {
		return inTurn(
			func() (any, error) {
				return client.PutObject(ctx, &s3.PutObjectInput{Bucket: bucket, Key: key, Body: bytes.NewReader([]byte("x"))})
			},
			func() (any, error) { return client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: bucket, Key: key}) },
		)
	}
}

// inTurn makes the calls one after the other, until one fails.
func inTurn(calls ...func() (any, error)) error {
	for _, call := range calls {
		if _, err := call(); err != nil {
			return err
		}
	}
	return nil
}

// depth returns the length of the longest chain of calls in which each started after the end of the
// one before.
func depth(calls []Call) int {
	ordered := slices.SortedFunc(slices.Values(calls), func(a, b Call) int { return a.End.Compare(b.End) })
	var c chain
	for _, call := range ordered {
		c.extend(call.Start, call.End)
	}
	return c.length
}
