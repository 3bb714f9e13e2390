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

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/ops/redrive"
)

func TestNothingIsSentWhileATenantIsPaused(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	subject := admin.Subject{Tenant: c.env["TENANT"]}
	must(t, c.service().Pause(t.Context(), subject))
	all := messages(150)
	call := c.call(all)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(3*time.Minute, "released", func() bool { return c.batch(ref).State == campaign.BatchSending })
	for range 3 {
		c.sweepNow(ref)
	}
	if wait := time.Until(c.batch(ref).NextCheck); wait < 30*time.Second {
		t.Errorf("sweep looks at the paused batch again in %v, as if it were not paused", wait)
	}
	if n := c.accepted(all); n > 0 {
		t.Fatalf("%d messages were sent in spite of the pause", n)
	}

	must(t, c.service().Resume(t.Context(), subject))

	c.eventually(5*time.Minute, "sent after the pause", func() bool { c.sweepNow(ref); return c.sentOnce(all) })
}

func TestMessagesExpireWhenTheirTimeHasPassed(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	subject := admin.Subject{Tenant: c.env["TENANT"]}
	must(t, c.service().Pause(t.Context(), subject))
	all := messages(150)
	call := c.call(all)
	notAfter := time.Now().Add(3 * time.Second)
	call["notAfter"] = notAfter.UTC().Format(time.RFC3339Nano)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(5*time.Minute, "finished", func() bool {
		return time.Now().After(notAfter) && c.finished(ref)
	})
	must(t, c.service().Resume(t.Context(), subject))
	c.sweepNow(ref)
	if diff := cmp.Diff(map[campaign.Outcome]int{campaign.OutcomeExpired: 150}, c.counts(ref)); diff != "" {
		t.Errorf("the batch's books (-want +got):\n%s", diff)
	}
	if n := c.accepted(all); n > 0 {
		t.Errorf("%d expired messages were sent", n)
	}
}

func TestTheBatchLedgerOfABatchBalance(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // of whose messages the provider tells nothing
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
		t.Errorf("the batch's books (-want +got):\n%s", diff)
	}
	if n := c.accepted(all); got.Accepted != 250 || n != 247 {
		t.Errorf("%d accepted and %d at the provider, want 250 and 247", got.Accepted, n)
	}
}

// A task that cannot be done ends with the dead letters, and does its work once
// the cause is gone and an operator has put it back.
func TestRedriveBringsADeadLetterBack(t *testing.T) { //nolint:paralleltest // for its time the send queue repeats everything after a second
	c := newClient(t).ownTenant()
	all := messages(3)
	b := c.acceptAlone(c.call(all))
	c.release(b, time.Hour) // sweep is not to help
	payload, err := c.blobs().Get(t.Context(), b.Payload)
	must(t, err)
	must(t, c.blobs().Put(t.Context(), b.Payload, []byte("damaged"), "application/octet-stream"))
	hidden := c.hideFor("SEND_QUEUE_URL", "1")
	c.put("SEND_QUEUE_URL", campaign.SendTask{BatchRef: b.BatchRef})
	c.eventually(5*time.Minute, "a dead letter", func() bool { return c.holds("SEND_DEAD_LETTERS_URL", b.CampaignID) })
	c.hideFor("SEND_QUEUE_URL", hidden)
	if n := c.accepted(all); n > 0 {
		t.Fatalf("%d messages were sent of a damaged payload", n)
	}

	must(t, c.blobs().Put(t.Context(), b.Payload, payload, "application/octet-stream"))
	mover := redrive.Mover{Client: c.sqs(), Hidden: 2}
	moved, err := mover.Move(t.Context(), c.env["SEND_DEAD_LETTERS_URL"], c.env["SEND_QUEUE_URL"], func(int) {})
	if err != nil || moved == 0 {
		t.Fatalf("moved %d, %v", moved, err)
	}

	c.eventually(3*time.Minute, "sent after the redrive", func() bool { return c.sentOnce(all) })
	if c.holds("SEND_DEAD_LETTERS_URL", b.CampaignID) {
		t.Error("the letter is still dead")
	}
}

// ownTenant returns a client of a new tenant, with an agent, a template and a
// credential of its own: what is paused, slowed down or limited there disturbs
// no other test.
func (c *client) ownTenant() *client {
	c.t.Helper()
	ctx, service := c.t.Context(), c.service()
	id := "e2e-" + strings.ToLower(rand.Text())
	_, err := service.SaveTenant(ctx, admin.TenantForm{ID: id, Agent: admin.AgentForm{ID: id, KeyDocument: c.keyDocument(id)}})
	must(c.t, err)
	template, err := service.SaveTemplate(ctx, admin.TemplateForm{Tenant: id, Text: "Olá {{nome}}, seu pedido {{pedido}} saiu para entrega."})
	must(c.t, err)
	credential, err := service.CreateCredential(ctx, id, "e2e", "")
	must(c.t, err)
	return c.with("TENANT", id, "TEMPLATE_ID", template.ID, "CLIENT_ID", credential.ClientID, "CLIENT_SECRET", credential.Secret)
}

// with returns a client for which some of the stack's values are others.
func (c *client) with(pairs ...string) *client {
	env := maps.Clone(c.env)
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return &client{c.t, env, c.http}
}

// keyDocument returns a key for the agent: the simulator knows all agents by
// the demo agent's key.
func (c *client) keyDocument(agentID string) []byte {
	c.t.Helper()
	reader := ssm.Reader{Config: c.env.AWS(), Now: time.Now}
	document, err := reader.KeyDocument(c.t.Context(), "/campaign-dispatch/"+c.env["STACK_NAME"]+"/agents/"+c.env["DEMO_AGENT_ID"])
	must(c.t, err)
	return []byte(strings.ReplaceAll(string(document), c.env["DEMO_AGENT_ID"], agentID))
}

func (c *client) service() *admin.Service {
	return &admin.Service{
		Store: c.store(), Auth: c.auth(), Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(c.env.AWS())},
		Now: time.Now, Stack: c.env["STACK_NAME"],
	}
}

func (c *client) store() *dynamo.CampaignStore {
	return dynamo.NewCampaignStore(c.tables())
}

func (c *client) auth() *dynamo.AuthStore { return dynamo.NewAuthStore(c.tables()) }

func (c *client) tables() dynamo.Tables {
	return dynamo.FromEnv(dynamodb.NewFromConfig(c.env.AWS()), c.env.Get, time.Now)
}

func (c *client) sqs() *sqs.Client { return sqs.NewFromConfig(c.env.AWS()) }

// ref names the batch of a call.
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

// counts returns how many of the batch's messages have which outcome.
func (c *client) counts(ref campaign.BatchRef) map[campaign.Outcome]int {
	c.t.Helper()
	batchLedger, err := c.store().Ledger(c.t.Context(), c.batch(ref), nil)
	must(c.t, err)
	return batchLedger.Head.Counts
}

// accepted returns how many messages the provider has accepted of these.
func (c *client) accepted(messages []fields) int {
	c.t.Helper()
	n := 0
	for _, deliveries := range c.atProvider(messages) {
		n += len(deliveries)
	}
	return n
}

// finished reports whether every message of the batch was given to the provider or
// has failed, after sweep had a look at it.
func (c *client) finished(ref campaign.BatchRef) bool {
	c.t.Helper()
	c.sweepNow(ref)
	state := c.batch(ref).State
	return state == campaign.BatchSent || state == campaign.BatchCompleted
}

// sweepNow sweeps as if the batch's next check had come. One that was sent is
// left alone: its check ends what was not answered.
func (c *client) sweepNow(ref campaign.BatchRef) {
	c.t.Helper()
	if b := c.batch(ref); b.State != campaign.BatchSent {
		c.checkNow(b)
	}
	c.sweep()
}

// checkNow lets the batch's next check come.
func (c *client) checkNow(b campaign.Batch) {
	c.t.Helper()
	if b.NextCheck.After(time.Now()) {
		_, err := c.store().MoveCheck(c.t.Context(), b, time.Now())
		must(c.t, err)
	}
}

// sweep runs the sweep function. What it could not sweep, which may be another
// test's, is a count in its log.
func (c *client) sweep() {
	c.t.Helper()
	_, err := lambda.NewFromConfig(c.env.AWS()).Invoke(c.t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(c.env["SWEEP_FUNCTION"]), Payload: []byte("{}"),
	})
	must(c.t, err)
}

// put puts a task on a queue of the stack.
func (c *client) put(queue string, task any) {
	c.t.Helper()
	body, err := json.Marshal(task)
	must(c.t, err)
	_, err = c.sqs().SendMessage(c.t.Context(), &sqs.SendMessageInput{
		QueueUrl: aws.String(c.env[queue]), MessageBody: aws.String(string(body)), MessageGroupId: aws.String(c.env["TENANT"]),
	})
	must(c.t, err)
}

// holds reports whether a message of the queue that nobody else holds has the word.
func (c *client) holds(queue, word string) bool {
	c.t.Helper()
	out, err := c.sqs().ReceiveMessage(c.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(c.env[queue]), MaxNumberOfMessages: 10, VisibilityTimeout: 1,
	})
	must(c.t, err)
	return slices.ContainsFunc(out.Messages, func(m types.Message) bool { return strings.Contains(aws.ToString(m.Body), word) })
}

// hideFor sets for how many seconds a queue hides what was received, and returns
// for how long it did before. The end of the test sets that again.
func (c *client) hideFor(queue, seconds string) string {
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
