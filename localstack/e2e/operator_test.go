package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/operator/redrive"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/sweep"
)

func TestPause_Tenant(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	subject := settings.Subject{Tenant: c.env["TENANT"]}
	must(t, c.service().Pause(t.Context(), subject))
	all := messages(150)
	call := c.call(all)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(3*time.Minute, "released", func() bool { return c.batch(ref).State == campaign.BatchSending })
	for range 3 {
		c.sweepNow(ref)
	}
	if wait := time.Until(c.batch(ref).NextCheck); wait < 30*time.Second {
		t.Errorf("sweep checks the paused batch again in %v, want 30 s at least", wait)
	}
	if n := c.accepted(all); n > 0 {
		t.Fatalf("%d messages were sent during the pause", n)
	}

	must(t, c.service().Resume(t.Context(), subject))

	c.eventually(5*time.Minute, "sent after the pause", func() bool { c.sweepNow(ref); return c.sentOnce(all) })
}

func TestSend_ExpiredMessages(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	subject := settings.Subject{Tenant: c.env["TENANT"]}
	must(t, c.service().Pause(t.Context(), subject))
	all := messages(150)
	call := c.call(all)
	notAfter := time.Now().Add(campaign.MinTTL + 3*time.Second)
	call["notAfter"] = notAfter.UTC().Format(time.RFC3339Nano)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(5*time.Minute, "finished", func() bool {
		return time.Now().After(notAfter) && c.finished(ref)
	})
	must(t, c.service().Resume(t.Context(), subject))
	c.sweepNow(ref)
	if diff := cmp.Diff(map[campaign.Outcome]int{campaign.OutcomeExpired: 150}, c.counts(ref)); diff != "" {
		t.Errorf("counts of the batch (-want +got):\n%s", diff)
	}
	if n := c.accepted(all); n > 0 {
		t.Errorf("%d expired messages were sent", n)
	}
}

func TestLedger_Counts(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // without a webhook for events
	all := messages(250)
	fates := map[string]string{}
	for i, fate := range map[int]string{3: "unreachable", 120: "unsupported", 249: "forbidden", 17: "answer_lost", 201: "unavailable"} {
		fates[all[i]["phone"].(string)] = fate
	}
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", fates, nil)
	call := c.call(all)

	got := c.dispatch(call)

	ref := c.ref(call)
	c.eventually(5*time.Minute, "finished", func() bool { return c.finished(ref) })
	want := map[campaign.Outcome]int{campaign.OutcomeSent: 247, campaign.OutcomeFailed: 3}
	if diff := cmp.Diff(want, c.counts(ref)); diff != "" {
		t.Errorf("counts of the batch (-want +got):\n%s", diff)
	}
	if n := c.accepted(all); got.Accepted != 250 || n != 247 {
		t.Errorf("%d accepted and %d at the provider, want 250 and 247", got.Accepted, n)
	}
}

// A failing task reaches the dead-letter queue. After its cause is fixed, a redrive
// completes it.
func TestRedrive(t *testing.T) { //nolint:paralleltest // it sets a visibility timeout of one second on the send queue
	c := newClient(t).ownTenant()
	all := messages(3)
	b := c.acceptWithoutRelease(c.call(all))
	c.release(b, time.Hour) // keeps sweep from sending the batch
	payload, err := c.blobs().Get(t.Context(), b.Payload)
	must(t, err)
	must(t, c.blobs().Put(t.Context(), b.Payload, []byte("damaged"), "application/octet-stream"))
	hidden := c.setVisibilityTimeout("SEND_QUEUE_URL", "1")
	c.put("SEND_QUEUE_URL", outgoing.SendTask{BatchRef: b.BatchRef})
	c.eventually(5*time.Minute, "task in the dead-letter queue", func() bool { return c.queueContains("SEND_DEAD_LETTERS_URL", b.CampaignID) })
	c.setVisibilityTimeout("SEND_QUEUE_URL", hidden)
	if n := c.accepted(all); n > 0 {
		t.Fatalf("%d messages of a damaged payload were sent", n)
	}

	must(t, c.blobs().Put(t.Context(), b.Payload, payload, "application/octet-stream"))
	mover := redrive.Mover{Client: c.sqs(), Hidden: 2}
	moved, err := mover.Move(t.Context(), c.env["SEND_DEAD_LETTERS_URL"], c.env["SEND_QUEUE_URL"], func(int) {})
	if err != nil || moved == 0 {
		t.Fatalf("moved %d, %v", moved, err)
	}

	c.eventually(3*time.Minute, "sent after the redrive", func() bool { return c.sentOnce(all) })
	if c.queueContains("SEND_DEAD_LETTERS_URL", b.CampaignID) {
		t.Error("the task is still in the dead-letter queue")
	}
}

// ownTenant returns a client of a new tenant with an agent, a template and a credential,
// so that pauses and rate limits do not affect other tests.
func (c *client) ownTenant() *client {
	c.t.Helper()
	ctx, service := c.t.Context(), c.service()
	id := "e2e-" + strings.ToLower(rand.Text())
	_, err := service.SaveTenant(ctx, settings.TenantForm{ID: id, Agent: settings.AgentForm{ID: id, KeyDocument: c.keyDocument(id)}})
	must(c.t, err)
	template, err := service.SaveTemplate(ctx, settings.TemplateForm{Tenant: id, Text: "Olá {{nome}}, seu pedido {{pedido}} saiu para entrega."})
	must(c.t, err)
	credential, err := service.CreateCredential(ctx, id, "e2e", "")
	must(c.t, err)
	return c.with("TENANT", id, "TEMPLATE_ID", template.ID, "CLIENT_ID", credential.ClientID, "CLIENT_SECRET", credential.Secret)
}

// with returns a client with other values of stack.env.
func (c *client) with(pairs ...string) *client {
	env := maps.Clone(c.env)
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return &client{c.t, env, c.http, c.began}
}

// keyDocument returns the agent's key document. All agents of the simulator have the demo
// agent's key.
func (c *client) keyDocument(agentID string) []byte {
	c.t.Helper()
	reader := ssm.New(c.env.AWS(), time.Now)
	document, err := reader.KeyDocument(c.t.Context(), "/campaign-dispatch/"+c.env["STACK_NAME"]+"/agents/"+c.env["DEMO_AGENT_ID"])
	must(c.t, err)
	return []byte(strings.ReplaceAll(string(document), c.env["DEMO_AGENT_ID"], agentID))
}

func (c *client) service() *settings.Service {
	return &settings.Service{
		Store: settingsstore.New(dynamo.New(c.tables())), Auth: c.auth(), Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(c.env.AWS())},
		Now: time.Now, Stack: c.env["STACK_NAME"],
	}
}

func (c *client) store() *dynamotest.Store {
	return dynamotest.New(c.tables())
}

func (c *client) auth() *dynamo.AuthStore { return dynamo.NewAuthStore(c.tables()) }

func (c *client) tables() dynamo.Tables {
	return dynamo.FromEnv(dynamodb.NewFromConfig(c.env.AWS()), c.env.Get, time.Now)
}

func (c *client) sqs() *sqs.Client { return sqs.NewFromConfig(c.env.AWS()) }

// ref returns the reference of a call's batch.
func (c *client) ref(call fields) campaign.BatchRef {
	batch, _ := call["batch"].(string)
	id := campaign.ID{Tenant: c.env["TENANT"], CampaignID: call["campaignId"].(string)}
	return campaign.BatchRef{ID: id, BatchID: campaign.BatchID(batch)}
}

func (c *client) batch(ref campaign.BatchRef) campaign.Batch {
	c.t.Helper()
	b, err := c.store().Batch(c.t.Context(), ref)
	must(c.t, err)
	return b
}

// counts returns the number of the batch's messages by outcome.
func (c *client) counts(ref campaign.BatchRef) map[campaign.Outcome]int {
	c.t.Helper()
	head, err := c.store().LedgerHead(c.t.Context(), c.batch(ref).Key)
	must(c.t, err)
	return head.Summary().Counts
}

// accepted returns how many of the messages the provider has accepted.
func (c *client) accepted(messages []fields) int {
	c.t.Helper()
	n := 0
	for _, deliveries := range c.atProvider(messages) {
		n += len(deliveries)
	}
	return n
}

// finished reports whether every message of the batch is sent or failed. It runs sweep on the batch if not.
func (c *client) finished(ref campaign.BatchRef) bool {
	c.t.Helper()
	b := c.batch(ref)
	if b.State == campaign.BatchSent || b.State == campaign.BatchCompleted {
		return true
	}
	c.checkNow(b)
	c.sweep(ref)
	return false
}

// sweepNow makes the batch's next check due and runs sweep on it. It skips a sent batch, whose
// check would expire messages without events.
func (c *client) sweepNow(ref campaign.BatchRef) {
	c.t.Helper()
	if b := c.batch(ref); b.State != campaign.BatchSent {
		c.checkNow(b)
		c.sweep(ref)
	}
}

// checkNow makes the batch's next check due.
func (c *client) checkNow(b campaign.Batch) {
	c.t.Helper()
	if b.NextCheck.After(time.Now()) {
		_, err := c.store().PostponeCheck(c.t.Context(), b, time.Now())
		must(c.t, err)
	}
}

// sweep runs the sweep function on the shards of batches alone: a sweep of all reads 144 shards, and repeats what other
// tests have just begun.
func (c *client) sweep(batches ...campaign.BatchRef) {
	c.t.Helper()
	for _, ref := range batches {
		c.sweepPart(sweep.Section{Number: c.store().DueShard(ref), Of: dynamo.DueShards})
	}
}

// sweepTenant runs the sweep function on the part of the tenant, as a schedule does. The part has all due rows of the
// tenant, and a quarter of all deliveries.
func (c *client) sweepTenant() {
	c.t.Helper()
	row := campaign.BatchRef{ID: campaign.ID{Tenant: c.env["TENANT"]}}
	c.sweepPart(sweep.Section{Number: c.store().DueShard(row) % dynamo.DueSections, Of: dynamo.DueSections})
}

// sweepAll runs the sweep function on all due rows and deliveries.
func (c *client) sweepAll() {
	c.t.Helper()
	c.sweepPart(sweep.Section{})
}

// sweepPart runs the sweep function. It ignores failed items, which may belong to other tests.
func (c *client) sweepPart(part sweep.Section) {
	c.t.Helper()
	event, err := json.Marshal(part)
	must(c.t, err)
	_, err = lambda.NewFromConfig(c.env.AWS()).Invoke(c.t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(c.env["SWEEP_FUNCTION"]), Payload: event,
	})
	must(c.t, err)
}

// put sends a task to a queue of the stack.
func (c *client) put(queue string, task any) {
	c.t.Helper()
	body, err := json.Marshal(task)
	must(c.t, err)
	_, err = c.sqs().SendMessage(c.t.Context(), &sqs.SendMessageInput{
		QueueUrl: aws.String(c.env[queue]), MessageBody: aws.String(string(body)), MessageGroupId: aws.String(c.env["TENANT"]),
	})
	must(c.t, err)
}

// queueContains reports whether a visible message of the queue contains the word.
func (c *client) queueContains(queue, word string) bool {
	c.t.Helper()
	out, err := c.sqs().ReceiveMessage(c.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(c.env[queue]), MaxNumberOfMessages: 10, VisibilityTimeout: 1,
	})
	must(c.t, err)
	return slices.ContainsFunc(out.Messages, func(m types.Message) bool { return strings.Contains(aws.ToString(m.Body), word) })
}

// setVisibilityTimeout sets a queue's visibility timeout in seconds and returns the previous
// one. The test's cleanup restores it.
func (c *client) setVisibilityTimeout(queue, seconds string) string {
	c.t.Helper()
	const name = types.QueueAttributeNameVisibilityTimeout
	out, err := c.sqs().GetQueueAttributes(c.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(c.env[queue]), AttributeNames: []types.QueueAttributeName{name},
	})
	must(c.t, err)
	before := out.Attributes[string(name)]
	set := func(ctx context.Context, value string) {
		_, err := c.sqs().SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(c.env[queue]), Attributes: map[string]string{string(name): value},
		})
		must(c.t, err)
	}
	set(c.t.Context(), seconds)
	c.t.Cleanup(func() { set(context.WithoutCancel(c.t.Context()), before) })
	return before
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
