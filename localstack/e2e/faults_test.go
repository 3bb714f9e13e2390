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
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

func TestProviderDownForLongerThanEveryRetry(t *testing.T) { //nolint:paralleltest // the provider is down for all
	const lastAttempt = 7 // after which a task is not put back
	c := newClient(t).ownTenant()
	given, queued := messages(150), messages(150)
	b := c.acceptAlone(c.call(given))
	c.release(b, 0)
	c.behave(map[string]any{"errorRate": 1})
	call := c.call(queued)
	if got := c.dispatch(call); got.Accepted != 150 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	for frame := range b.Frames() {
		c.runTask("send", campaign.SendTask{BatchRef: b.BatchRef, Frame: frame, Attempt: lastAttempt})
	}
	c.eventually(3*time.Minute, "released", func() bool { return c.batch(c.ref(call)).State == campaign.BatchSending })
	if n := c.accepted(append(queued, given...)); n > 0 {
		t.Fatalf("%d messages were accepted by a provider that is down", n)
	}

	c.behave(map[string]any{})

	c.eventually(5*time.Minute, "sent after the outage", func() bool { c.sweep(); return c.sentOnce(append(queued, given...)) })
	for _, deliveries := range c.atProvider(given) {
		if deliveries[0].Attempts < 2 {
			t.Fatal("a message was not tried during the outage")
		}
	}
}

// Each step of a batch may be the last of the process that does it.
func TestSweepFindsWhatWasLostOnTheWay(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *client, b campaign.Batch){
		"the hand-off": func(*client, campaign.Batch) {},
		"the rest of the release": func(c *client, b campaign.Batch) {
			_, err := c.store().StartRelease(c.t.Context(), b.BatchRef, "", time.Now(), time.Now())
			must(c.t, err)
		},
		"the frames": func(c *client, b campaign.Batch) { c.release(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			all := messages(150)
			b := c.acceptAlone(c.call(all))
			lose(c, b)
			c.eventually(5*time.Minute, "sent", func() bool { c.sweep(); return c.sentOnce(all) })
			c.eventually(5*time.Minute, "finished", func() bool { return c.finished(b.BatchRef) })
		})
	}
}

func TestTasksThatComeAgainChangeNothing(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // of whose messages the provider tells nothing
	all := messages(150)
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != 150 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	ref := c.ref(call)
	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) && c.finished(ref) })
	before, batchLedger := c.batch(ref), c.counts(ref)

	for range 3 {
		c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: ref})
		c.put("SEND_QUEUE_URL", campaign.SendTask{BatchRef: ref})
		c.put("SEND_QUEUE_URL", campaign.SendTask{BatchRef: ref, Frame: 1, Only: []int{7}, Attempt: 3})
	}
	c.eventually(5*time.Minute, "taken from the queues", func() bool { return c.empty("RELEASE_QUEUE_URL") && c.empty("SEND_QUEUE_URL") })
	later := messages(1)
	if got := c.dispatch(c.call(later)); got.Accepted != 1 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "sent after them", func() bool { return c.sentOnce(later) })

	c.checkTriedOnce(all)
	if after := c.batch(ref); after.State != before.State || !after.NextCheck.Equal(before.NextCheck) {
		t.Errorf("the batch is %s until %v, it was %s until %v", after.State, after.NextCheck, before.State, before.NextCheck)
	}
	if got := c.counts(ref); got[campaign.OutcomeSent] != 150 || len(got) != len(batchLedger) {
		t.Errorf("the books say %v, they said %v", got, batchLedger)
	}
}

func TestAScheduleMayFireEarlyAndTwice(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	all := messages(3)
	call := c.call(all)
	due := time.Now().Add(5 * time.Second).UTC()
	call["schedule"] = due.Format(time.RFC3339Nano)
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Status != "scheduled" {
		t.Fatalf("answered %d %s", got.status, got.body)
	}

	for range 3 {
		c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: c.ref(call)})
	}

	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	c.eventually(5*time.Minute, "finished", func() bool { return c.finished(c.ref(call)) })
	for _, d := range c.atProvider(all) {
		if at, err := time.Parse(time.RFC3339Nano, d[0].AcceptedAt); err != nil || at.Before(due) {
			t.Errorf("sent at %v (%v), due at %v", at, err, due)
		}
	}
}

// checkTriedOnce fails the test where a message was given to the provider more
// than once, which it would not delivery by itself.
func (c *client) checkTriedOnce(messages []fields) {
	c.t.Helper()
	for _, deliveries := range c.atProvider(messages) {
		if len(deliveries) != 1 || deliveries[0].Attempts != 1 {
			c.t.Fatalf("a message came to the provider as %+v, want it once", deliveries)
		}
	}
}

// behave sets how the provider behaves until the end of the test.
func (c *client) behave(behaviour map[string]any) {
	c.t.Helper()
	address := c.env["RCS_URL"] + "/_sim/behaviour"
	c.control(http.MethodPut, address, behaviour, nil)
	c.t.Cleanup(func() { c.control(http.MethodPut, address, map[string]any{}, nil) })
}

// lostHandoff is the hand-off of a process that dies before it.
type lostHandoff struct{}

var errLost = errors.New("the hand-off is lost")

func (lostHandoff) Schedule(context.Context, campaign.Batch) error { return errLost }

// acceptAlone accepts a call on the stack's tables and bucket, and tells nobody:
// as a process does that dies after its commit. Its next check is due at once.
func (c *client) acceptAlone(call fields) campaign.Batch {
	c.t.Helper()
	service := &dispatch.Service{
		Tokens:      &accesstoken.Verifier{Keys: &kms.Signer{Client: awskms.NewFromConfig(c.env.AWS()), KeyID: c.env["SIGNING_KEY_ID"]}, Now: time.Now},
		Store:       c.store(),
		Blobs:       c.blobs(),
		Releases:    lostHandoff{},
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
		c.t.Fatalf("answered %d %s", answer.Code, answer.Body)
	}
	return c.batch(c.ref(call))
}

// release moves the batch on as if its frames had been queued, and lets sweep
// look at it after the time.
func (c *client) release(b campaign.Batch, next time.Duration) {
	c.t.Helper()
	at := time.Now().Add(next)
	_, err := c.store().StartRelease(c.t.Context(), b.BatchRef, "", time.Now(), at)
	must(c.t, err)
	_, err = c.store().EndRelease(c.t.Context(), b.BatchRef, at)
	must(c.t, err)
}

// runTask runs a queue's function with a task, and returns when it is done.
func (c *client) runTask(function string, task any) {
	c.t.Helper()
	body, err := json.Marshal(task)
	must(c.t, err)
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "1", Body: string(body)}}})
	must(c.t, err)
	if got := compact(c.t, c.invoke(function, event)); got != `{"batchItemFailures":[]}` {
		c.t.Fatalf("%s answered %s", function, got)
	}
}

// empty reports whether no message of the queue waits to be taken.
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

// The emulator deletes nothing by itself: sweep ends what has no end of its own.
func TestSweepForgetsACampaignThatHasEnded(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	call := c.call(messages(1))
	old := campaign.Batch{BatchRef: c.ref(call), AcceptedAt: time.Now().Add(-campaign.Retention), Accepted: 1, State: campaign.BatchCompleted}
	_, _ = rand.Read(old.Key[:])
	must(t, c.store().Accept(t.Context(), campaign.AcceptCommand{Batch: old, Campaign: call["name"].(string), Ordinal: 1, Packed: []byte{0}}, rand.Text()))
	c.eventually(5*time.Minute, "forgotten", func() bool {
		c.sweep()
		_, err := c.store().Lifetime(t.Context(), old.ID)
		return errors.Is(err, campaign.ErrNotFound)
	})
	if got := c.dispatch(call); got.Accepted != 1 { // the id and the name are free again
		t.Errorf("answered %d %s", got.status, got.body)
	}
}

// A call of which every number is rejected leaves nothing to send: sweep ends its
// campaign, and tells so.
func TestSweepTellsTheEndOfACampaignOfNobody(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().hear()
	told := c.receiver("campaign.completed")
	nobody := messages(1)
	nobody[0]["phone"] = "11 is no number"
	call := c.call(nobody)
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Accepted != 0 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "told to be completed", func() bool { c.sweep(); return len(told.taken()) > 0 })
}
