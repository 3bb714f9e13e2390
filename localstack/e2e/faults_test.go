package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/send/outgoing"
)

func TestSend_ProviderOutage(t *testing.T) { //nolint:paralleltest // the outage affects all tests
	const lastAttempt = 7 // the send function does not queue the task again after it
	c := newClient(t).ownTenant()
	given, queued := messages(150), messages(150)
	b := c.acceptWithoutRelease(c.call(given))
	c.release(b, 0)
	c.setBehaviour(map[string]any{"errorRate": 1})
	call := c.call(queued)
	if got := c.dispatch(call); got.Accepted != 150 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	for frame := range b.Frames() {
		c.runTask("send", outgoing.SendTask{BatchRef: b.BatchRef, Frame: frame, Attempt: lastAttempt})
	}
	c.eventually(3*time.Minute, "released", func() bool { return c.batch(c.ref(call)).State == campaign.BatchSending })
	if n := c.accepted(append(queued, given...)); n > 0 {
		t.Fatalf("the provider accepted %d messages during the outage", n)
	}

	c.setBehaviour(map[string]any{})

	c.eventually(5*time.Minute, "sent after the outage", func() bool {
		c.sweep(b.BatchRef, c.ref(call))
		return c.sentOnce(append(queued, given...))
	})
	for _, deliveries := range c.atProvider(given) {
		if deliveries[0].Attempts < 2 {
			t.Fatal("a message was not attempted during the outage")
		}
	}
}

// A process may crash after each step of a batch.
func TestSweep_LostTasks(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *client, b campaign.Batch){
		"release task": func(*client, campaign.Batch) {},
		"rest of the release": func(c *client, b campaign.Batch) {
			c.startRelease(b, time.Now())
		},
		"frames": func(c *client, b campaign.Batch) { c.release(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t).ownTenant() // without a webhook for events
			all := messages(150)
			b := c.acceptWithoutRelease(c.call(all))
			lose(c, b)
			c.eventually(5*time.Minute, "sent", func() bool { c.sweep(b.BatchRef); return c.sentOnce(all) })
			c.eventually(5*time.Minute, "finished", func() bool { return c.finished(b.BatchRef) })
		})
	}
}

func TestTasks_Repeated(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // without a webhook for events
	all := messages(150)
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != 150 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) && c.finished(ref) })
	before, batchLedger := c.batch(ref), c.counts(ref)

	for range 3 {
		c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: ref})
		c.put("SEND_QUEUE_URL", outgoing.SendTask{BatchRef: ref})
		c.put("SEND_QUEUE_URL", outgoing.SendTask{BatchRef: ref, Frame: 1, Only: []int{7}, Attempt: 3})
	}
	c.eventually(5*time.Minute, "release and send queues empty", func() bool { return c.empty("RELEASE_QUEUE_URL") && c.empty("SEND_QUEUE_URL") })
	later := messages(1)
	if got := c.dispatch(c.call(later)); got.Accepted != 1 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "later message sent", func() bool { return c.sentOnce(later) })

	c.checkAttemptedOnce(all)
	if after := c.batch(ref); after.State != before.State || !after.NextCheck.Equal(before.NextCheck) {
		t.Errorf("the batch is %s with the next check at %v, was %s with %v", after.State, after.NextCheck, before.State, before.NextCheck)
	}
	if got := c.counts(ref); got[campaign.OutcomeSent] != 150 || len(got) != len(batchLedger) {
		t.Errorf("counts %v, were %v", got, batchLedger)
	}
}

func TestRelease_EarlyAndRepeatedTask(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	all := messages(3)
	call := c.call(all)
	due := time.Now().Add(5 * time.Second).UTC()
	call["schedule"] = due.Format(time.RFC3339Nano)
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Status != "scheduled" {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}

	for range 3 {
		c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: c.ref(call)})
	}

	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	c.eventually(5*time.Minute, "finished", func() bool { return c.finished(c.ref(call)) })
	c.checkSentFrom(due, all)
}

// checkAttemptedOnce fails the test if a message was sent more than once. The provider
// ignores repeated messages, so that its accepted messages alone do not show them.
func (c *client) checkAttemptedOnce(messages []fields) {
	c.t.Helper()
	for _, deliveries := range c.atProvider(messages) {
		if len(deliveries) != 1 || deliveries[0].Attempts != 1 {
			c.t.Fatalf("the provider received %+v, want one attempt", deliveries)
		}
	}
}

// setBehaviour sets the provider's behaviour. The test's cleanup resets it.
func (c *client) setBehaviour(behaviour map[string]any) {
	c.t.Helper()
	address := c.env["RCS_URL"] + "/_sim/behaviour"
	c.control(http.MethodPut, address, behaviour, nil)
	c.t.Cleanup(func() { c.control(http.MethodPut, address, map[string]any{}, nil) })
}

// failingScheduler fails as a process that crashes before it schedules the release.
type failingScheduler struct{}

var errNotScheduled = errors.New("the release is not scheduled")

func (failingScheduler) Schedule(context.Context, campaign.Batch) error { return errNotScheduled }

// acceptWithoutRelease accepts a call on the stack's tables and bucket without a release
// task, as a process that crashes after its commit. The batch's next check is due.
func (c *client) acceptWithoutRelease(call fields) campaign.Batch {
	c.t.Helper()
	service := &dispatch.Service{
		Tokens:      &accesstoken.Verifier{Keys: kms.New(c.env.AWS(), c.env["SIGNING_KEY_ID"], "", time.Time{}, time.Now), Now: time.Now},
		Store:       c.store(),
		Blobs:       c.blobs(),
		Releases:    failingScheduler{},
		SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20},
		Now:         time.Now, BaseURL: c.env["BASE_URL"],
	}
	body, err := json.Marshal(call)
	must(c.t, err)
	r := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, dispatchPath, bytes.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+c.token())
	answer := httptest.NewRecorder()
	httpapi.HandlerFunc(service.ServeDispatch).ServeHTTP(answer, r)
	if answer.Code != http.StatusAccepted {
		c.t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return c.batch(c.ref(call))
}

// release marks the batch as released without queuing its frames. Sweep checks it after
// next.
func (c *client) release(b campaign.Batch, next time.Duration) {
	c.t.Helper()
	at := time.Now().Add(next)
	c.startRelease(b, at)
	_, err := c.store().EndRelease(c.t.Context(), b, at, true)
	must(c.t, err)
}

// startRelease starts the release of a batch with its tenant's agent. Sweep checks it at next.
func (c *client) startRelease(b campaign.Batch, next time.Time) {
	c.t.Helper()
	tenant, err := c.store().Tenant(c.t.Context(), b.Tenant)
	must(c.t, err)
	_, err = c.store().StartRelease(c.t.Context(), b.BatchRef, tenant.AgentID, time.Now(), next)
	must(c.t, err)
}

// runTask invokes a queue's function with a task and waits for its end.
func (c *client) runTask(function string, task any) {
	c.t.Helper()
	body, err := json.Marshal(task)
	must(c.t, err)
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: string(body)}}})
	must(c.t, err)
	if got := compact(c.t, c.invoke(function, event)); got != `{"batchItemFailures":[]}` {
		c.t.Fatalf("%s returned %s, want no failures", function, got)
	}
}

// empty reports whether the queue has no visible messages.
func (c *client) empty(queue string) bool {
	c.t.Helper()
	const name = types.QueueAttributeNameApproximateNumberOfMessages
	out, err := c.sqs().GetQueueAttributes(c.t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(c.env[queue]), AttributeNames: []types.QueueAttributeName{name},
	})
	must(c.t, err)
	return out.Attributes[string(name)] == "0"
}

func (c *client) blobs() *s3.Store {
	return &s3.Store{
		Client: awss3.NewFromConfig(c.env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: c.env["BUCKET"],
	}
}

// The emulator does not delete expired rows, so sweep must.
func TestSweep_ExpiredCampaign(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	call := c.call(messages(1))
	old := campaign.Batch{BatchRef: c.ref(call), AcceptedAt: time.Now().Add(-campaign.Retention), Accepted: 1, State: campaign.BatchCompleted}
	_, _ = rand.Read(old.Key[:])
	must(t, c.store().Accept(t.Context(), acceptance.Command{Batch: old, Campaign: call["name"].(string), Ordinal: 1, Packed: numberset.Set{}.Pack()}, rand.Text()))
	c.eventually(5*time.Minute, "campaign deleted", func() bool {
		c.sweepTenant()
		_, err := c.store().Lifetime(t.Context(), old.ID)
		return errors.Is(err, campaign.ErrNotFound)
	})
	if got := c.dispatch(call); got.Accepted != 1 { // the id and the name are available again
		t.Errorf("dispatch: status %d: %s", got.status, got.body)
	}
}

// If every number of a call is rejected, sweep completes the campaign and its webhook is
// sent.
func TestSweep_CampaignWithoutMessages(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	hook := c.receiver("campaign.completed")
	invalid := messages(1)
	invalid[0]["phone"] = "not a number"
	call := c.call(invalid)
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Accepted != 0 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "webhook received", func() bool { c.sweep(c.ref(call)); return len(hook.accepted()) > 0 })
}
