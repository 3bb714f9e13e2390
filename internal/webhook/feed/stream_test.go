package feed_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// streamStack is an Outcomes table whose stream invokes a real feeder.
type streamStack struct {
	env                 stackenv.Env
	store               *dynamotest.Store
	stream              string
	notify, unread      string
	queues              *sqs.Client
	seen                map[string]int // tasks by endpoint, batch and sequence
	table, tenantsTable string
	writersDie          bool // after each of their calls, before they record
}

func newStreamStack(t *testing.T) *streamStack {
	t.Helper()
	w := &streamStack{env: stackenv.Load(t), seen: map[string]int{}}
	w.table, w.stream = w.env.LedgerTable(t)
	w.tenantsTable, _ = w.env.LedgerTable(t)
	client := dynamodb.NewFromConfig(w.env.AWS())
	w.store = dynamotest.New(dynamo.Tables{Client: client, Campaigns: w.tenantsTable, Outcomes: w.table, Now: time.Now})
	w.queues = sqs.NewFromConfig(w.env.AWS())
	w.notify, w.unread = w.newQueue(t), w.newQueue(t)
	return w
}

func (w *streamStack) newQueue(t *testing.T) string {
	t.Helper()
	made, err := w.queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("feed-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = w.queues.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl})
	})
	return *made.QueueUrl
}

// deploy builds the feeder and connects it to the stream.
func (w *streamStack) deploy(t *testing.T, deaths string) {
	t.Helper()
	functions := lambda.NewFromConfig(w.env.AWS())
	name := "feeder-" + rand.Text()
	_, err := functions.CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Runtime: lambdatypes.RuntimeProvidedal2023, Handler: aws.String("bootstrap"), Role: aws.String(w.role(t, name)),
		Code: &lambdatypes.FunctionCode{ZipFile: packed(t)}, Timeout: aws.Int32(30), MemorySize: aws.Int32(256),
		Environment: &lambdatypes.Environment{Variables: map[string]string{
			"OUTCOMES_TABLE": w.table, "CAMPAIGNS_TABLE": w.tenantsTable, "NOTIFY_QUEUE_URL": w.notify, "UNREAD_QUEUE_URL": w.unread, "DEATHS": deaths,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := functions.CreateEventSourceMapping(t.Context(), &lambda.CreateEventSourceMappingInput{
		FunctionName: &name, EventSourceArn: &w.stream, StartingPosition: lambdatypes.EventSourcePositionTrimHorizon, BatchSize: aws.Int32(1000),
		FilterCriteria: &lambdatypes.FilterCriteria{Filters: []lambdatypes.Filter{{Pattern: aws.String(dynamo.StreamFilter)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = functions.DeleteEventSourceMapping(context.Background(), &lambda.DeleteEventSourceMappingInput{UUID: mapping.UUID})
		_, _ = functions.DeleteFunction(context.Background(), &lambda.DeleteFunctionInput{FunctionName: &name})
	})
}

// role creates a role with the feeder's permissions and returns its ARN.
func (w *streamStack) role(t *testing.T, name string) string {
	t.Helper()
	roles := iam.NewFromConfig(w.env.AWS())
	made, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}`,
	)})
	if err != nil {
		t.Fatal(err)
	}
	policy := `{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:Query"],"Resource":"arn:aws:dynamodb:*:*:table/test-*"},
		{"Effect":"Allow","Action":["dynamodb:GetRecords","dynamodb:GetShardIterator","dynamodb:DescribeStream"],"Resource":"arn:aws:dynamodb:*:*:table/test-*/stream/*"},
		{"Effect":"Allow","Action":"sqs:SendMessage*","Resource":"arn:aws:sqs:*:*:feed-*"}]}`
	if _, err := roles.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: &name, PolicyDocument: &policy}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = roles.DeleteRolePolicy(context.Background(), &iam.DeleteRolePolicyInput{RoleName: &name, PolicyName: &name})
		_, _ = roles.DeleteRole(context.Background(), &iam.DeleteRoleInput{RoleName: &name})
	})
	return *made.Role.Arn
}

// packed returns the feeder's deployment package.
func packed(t *testing.T) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bootstrap")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "lambda.norpc", "-o", program, "./testdata/feeder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the feeder: %v\n%s", err, out)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Store}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(binary); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// batch accepts a batch of a tenant with the given number of endpoints.
func (w *streamStack) batch(t *testing.T, endpoints ...string) campaign.Batch {
	t.Helper()
	b := campaign.Batch{Accepted: 300, AcceptedAt: time.Now(), State: campaign.BatchSending}
	b.Tenant, b.CampaignID, b.BatchID = "tenant-"+rand.Text(), "campaign", "batch"
	_, _ = rand.Read(b.Key[:])
	if err := w.store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: rand.Text(), Ordinal: 1, Packed: []byte{0}}, rand.Text()); err != nil {
		t.Fatal(err)
	}
	for _, id := range endpoints {
		if err := w.store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: id, Tenant: b.Tenant}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (w *streamStack) record(t *testing.T, b campaign.Batch, first, end int, kind campaign.Outcome) {
	t.Helper()
	var changes []campaign.Change
	for i := first; i < end; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: kind, At: time.Now().Add(time.Duration(i) * time.Second)})
	}
	for calls := 0; w.writersDie && calls < 4; calls++ {
		w.recordAndDie(t, b, changes, calls)
	}
	if _, err := outcome.AppendLedger(t.Context(), w.store, b, changes); err != nil {
		t.Fatal(err)
	}
}

// recordAndDie records changes with a writer that stops after a number of calls.
func (w *streamStack) recordAndDie(t *testing.T, b campaign.Batch, changes []campaign.Change, calls int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	die := func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("die", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error,
			) {
				if calls--; calls < 0 {
					cancel()
					return middleware.InitializeOutput{}, middleware.Metadata{}, context.Canceled
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
		})
	}
	mortal := *w.store
	mortal.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(w.env.AWS(), die) })
	_, _ = outcome.AppendLedger(ctx, &mortal, b, changes) // it stops before or after the record
}

// wantLog fails if a batch's log has another number of entries, or duplicates.
func (w *streamStack) wantLog(t *testing.T, b campaign.Batch, want int) {
	t.Helper()
	entries, err := w.store.Entries(t.Context(), b.Key, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	type change struct {
		index int
		kind  campaign.Outcome
	}
	seen := map[change]bool{}
	for _, e := range entries {
		seen[change{e.Index, e.Outcome}] = true
	}
	if len(entries) != want || len(seen) != want || want > 0 && entries[want-1].Sequence != want {
		t.Errorf("the log has %d entries of %d changes, want %d", len(entries), len(seen), want)
	}
}

// receive receives from a queue, waiting up to a second.
func (w *streamStack) receive(t *testing.T, queue string) (bodies []string) {
	t.Helper()
	out, err := w.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		bodies = append(bodies, *m.Body)
		if _, err := w.queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &queue, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	return bodies
}

// await receives tasks until each endpoint got each entry of the batches.
func (w *streamStack) await(t *testing.T, entries map[string]int) {
	t.Helper()
	missing := func() (name string, n int) {
		for batch, last := range entries {
			for sequence := 1; sequence <= last; sequence++ {
				if key := batch + " " + strconv.Itoa(sequence); w.seen[key] == 0 {
					name, n = key, n+1
				}
			}
		}
		return name, n
	}
	for deadline := time.Now().Add(45 * time.Second); ; {
		name, n := missing()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d entries got no task, among them %s", n, name)
		}
		for _, body := range w.receive(t, w.notify) {
			w.note(t, body)
		}
	}
}

func (w *streamStack) note(t *testing.T, body string) {
	t.Helper()
	var message delivery.NotifyMessage
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatal(err)
	}
	for _, task := range message.Tasks() {
		for _, batch := range unpack(t, task) {
			for _, e := range batch.Entries {
				w.seen[fmt.Sprintf("%s %s %d", task.EndpointID, batch.Key, e.Sequence)]++
			}
		}
	}
}

// TestStream lets a table's stream invoke a feeder. With deaths, each writer crashes after
// its first call, the next after the second, and so on, and so do the feeder's processes.
// Each endpoint gets a task for each entry, also for tail moves and pages; without an
// endpoint there are none.
func TestStream(t *testing.T) {
	t.Parallel()
	for _, deaths := range []bool{false, true} {
		t.Run(fmt.Sprintf("deaths %v", deaths), func(t *testing.T) {
			t.Parallel()
			w := newStreamStack(t)
			w.writersDie = deaths
			none, one, two := w.batch(t), w.batch(t, "only"), w.batch(t, "first", "second")
			for _, b := range []campaign.Batch{none, one, two} {
				w.record(t, b, 0, 1, campaign.OutcomeSent)
				w.record(t, b, 1, 300, campaign.OutcomeSent) // more than a tail contains
				for i := 0; i < 300; i += 50 {
					w.record(t, b, i, i+50, campaign.OutcomeRead) // the tail moves
				}
				w.wantLog(t, b, 600)
			}
			file := ""
			if deaths {
				file = filepath.Join(t.TempDir(), "deaths")
			}
			w.deploy(t, file)
			w.await(t, map[string]int{"only " + one.Key.String(): 600, "first " + two.Key.String(): 600, "second " + two.Key.String(): 600})
			tasks, entries := 0, 0
			for _, n := range w.seen {
				tasks, entries = tasks+n, entries+1
			}
			if entries != 1800 {
				t.Errorf("tasks of %d entries, want those of 1800", entries)
			}
			text, _ := os.ReadFile(file)
			if !deaths && tasks != entries {
				t.Errorf("%d entries got %d tasks, want one each without crashes", entries, tasks)
			}
			t.Logf("each entry got %.2f tasks an endpoint; deaths: %q", float64(tasks)/float64(entries), text)
			if died, _ := strconv.Atoi(string(text)); deaths && died < 4 {
				t.Errorf("the feeder crashed %d times, want after each of its calls", died)
			}
		})
	}
}

// TestStream_UnreadableRecord puts an unreadable record before others.
func TestStream_UnreadableRecord(t *testing.T) {
	t.Parallel()
	w := newStreamStack(t)
	b := w.batch(t, "only")
	w.record(t, b, 0, 1, campaign.OutcomeSent)
	_, err := w.store.Tables().Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &w.table, Item: dynamo.Item{
		"pk": &types.AttributeValueMemberS{Value: "00000000000000000000"}, "sk": &types.AttributeValueMemberS{Value: "HEAD"},
		"newAfter": &types.AttributeValueMemberN{Value: "1"}, "newest": &types.AttributeValueMemberN{Value: "2"}, "tail": &types.AttributeValueMemberB{Value: []byte{0x80}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.record(t, b, 1, 3, campaign.OutcomeSent)
	w.deploy(t, "")
	w.await(t, map[string]int{"only " + b.Key.String(): 3})
	var unread dynamo.UnreadRecord
	for _, body := range w.receive(t, w.unread) {
		if err := json.Unmarshal([]byte(body), &unread); err != nil {
			t.Fatal(err)
		}
	}
	if unread.PK != "00000000000000000000" || unread.SK != "HEAD" || unread.SequenceNumber == "" {
		t.Errorf("the record that cannot be read is queued as %+v", unread)
	}
}
