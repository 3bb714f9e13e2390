package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

func failing(status int) func(http.ResponseWriter, string) int {
	return func(http.ResponseWriter, string) int { return status }
}

func TestHandle_EveryChange(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 150)
	w.record(
		campaign.Change{Index: 0, Outcome: campaign.OutcomeSent, At: start},
		campaign.Change{Index: 120, Outcome: campaign.OutcomeFailed, Code: "opted_out", At: start.Add(time.Second)},
		campaign.Change{Index: 0, Outcome: campaign.OutcomeRead, At: start.Add(2 * time.Second)},
	)
	w.run(time.Second, w.notifier())
	want := map[string]map[string]any{
		"message.sent": {
			"occurredAt": "2100-05-04T12:00:00.000Z", "campaignId": w.batch.CampaignID, "batch": "lote", "uid": "uid-0",
			"phone": "+5511900000000", "messageId": w.batch.Key.MessageID(0), "sequence": 1.0,
		},
		"message.failed": {
			"occurredAt": "2100-05-04T12:00:01.000Z", "campaignId": w.batch.CampaignID, "batch": "lote", "uid": "uid-120",
			"phone": "+5511900000120", "messageId": w.batch.Key.MessageID(120), "sequence": 2.0,
			"code": "opted_out", "reason": "The recipient has opted out of messages.",
		},
		"message.read": {
			"occurredAt": "2100-05-04T12:00:02.000Z", "campaignId": w.batch.CampaignID, "batch": "lote", "uid": "uid-0",
			"phone": "+5511900000000", "messageId": w.batch.Key.MessageID(0), "sequence": 3.0,
		},
	}
	got := map[string]map[string]any{}
	for _, p := range w.receiver.posts {
		var body struct {
			ID, Type, Timestamp string
			Data                map[string]any
		}
		if err := json.Unmarshal(p.body, &body); err != nil {
			t.Fatal(err)
		}
		if body.ID != p.header.Get("webhook-id") || body.Timestamp != body.Data["occurredAt"] {
			t.Errorf("webhook %s has the id %s and the timestamp %s", p.header.Get("webhook-id"), body.ID, body.Timestamp)
		}
		got[body.Type] = body.Data
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	if due := w.due(start.Add(time.Hour)); len(due) != 0 {
		t.Errorf("%d rows are left", len(due))
	}
}

func TestHandle_Kinds(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 2)
	other := newReceiver(t)
	w.newEndpoint(other.URL, "message.failed", "campaign.completed")
	w.record(sent(2)...)
	w.record(campaign.Change{Index: 1, Outcome: campaign.OutcomeStopped, At: start})
	w.run(time.Second, w.notifier())
	if ids, _ := w.receiver.taken(); len(ids) != 3 {
		t.Errorf("the endpoint for all kinds got %d webhooks, want 3", len(ids))
	}
	if ids, _ := other.taken(); len(ids) != 1 || !strings.Contains(string(other.posts[0].body), `"code":"cancelled"`) {
		t.Errorf("the endpoint for failures got %d webhooks, want the one of the stopped message", len(ids))
	}
}

func TestHandle_Reply(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	w.record(sent(1)...)
	webhookEvent, err := json.Marshal(delivery.Event{
		Kind: delivery.KindReplied, EventID: "e", At: start, Phone: "+5511900000000", Text: "Oi", MessageID: w.batch.Key.MessageID(0),
	})
	w.must(err)
	blob := "events/" + w.tenant + "/e"
	w.must(w.blobs.Put(t.Context(), blob, webhookEvent, "application/json"))
	d := delivery.Delivery{Tenant: w.tenant, EndpointID: w.endpoint.ID, Kind: delivery.KindReplied, Blob: blob, Next: start}.Identified()
	w.must(w.store.AddDeliveries(t.Context(), []delivery.Delivery{d}))
	w.run(time.Second, w.notifier())
	var reply string
	for _, p := range w.receiver.posts {
		if strings.Contains(string(p.body), `"type":"message.replied"`) {
			reply = string(p.body)
		}
	}
	for _, part := range []string{`"text":"Oi"`, `"uid":"uid-0"`, `"campaignId":"` + w.batch.CampaignID, `"batch":"lote"`} {
		if !strings.Contains(reply, part) {
			t.Errorf("the webhook lacks %s", part)
		}
	}
}

// verifier verifies a webhook with the Standard Webhooks library for Python.
const verifier = `
import os, sys
from standardwebhooks import Webhook
headers = {"webhook-" + name: os.environ[name.upper()] for name in ("id", "timestamp", "signature")}
Webhook(os.environ["SECRET"]).verify(sys.stdin.buffer.read(), headers)`

func verifyInPython(t *testing.T, secret string, body []byte, h http.Header) error {
	t.Helper()
	python := stackenv.Load(t)["PYTHON"]
	command := exec.CommandContext(t.Context(), python, "-c", verifier)
	command.Env = append(os.Environ(), "SECRET="+secret, "ID="+h.Get("webhook-id"),
		"TIMESTAMP="+h.Get("webhook-timestamp"), "SIGNATURE="+h.Get("webhook-signature"))
	command.Stdin = bytes.NewReader(body)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func TestSign_Rotation(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	next := newSecret()
	w.must(w.store.RotateEndpoint(t.Context(), w.tenant, w.endpoint.ID, next, time.Now().Add(time.Hour)))
	clock := time.Now().Truncate(time.Second) // the library uses the real clock
	w.now = clock
	w.record(sent(1)...)
	w.run(time.Second, w.notifier())
	p := w.receiver.posts[0]
	for name, secret := range map[string]string{"previous": w.endpoint.Secret, "next": next} {
		library, err := standardwebhooks.NewWebhook(secret)
		w.must(err)
		if err := library.Verify(p.body, p.header); err != nil {
			t.Errorf("the %s secret: %v", name, err)
		}
		if err := verifyInPython(t, secret, p.body, p.header); err != nil {
			t.Errorf("the %s secret in Python: %v", name, err)
		}
		err = verifyInPython(t, secret, append(p.body, ' '), p.header)
		if err == nil || !strings.Contains(err.Error(), "WebhookVerificationError") {
			t.Errorf("the %s secret in Python, another body: %v", name, err)
		}
	}
	if n := len(strings.Fields(p.header.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures, want 2", n)
	}
	w.now = clock.Add(2 * time.Hour)
	w.record(campaign.Change{Index: 0, Outcome: campaign.OutcomeRead, At: clock})
	w.run(time.Second, w.notifier())
	if n := len(strings.Fields(w.receiver.posts[1].header.Get("webhook-signature"))); n != 1 {
		t.Errorf("after the rotation %d signatures, want 1", n)
	}
}

func TestCircuit_FailingEndpoint(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 300)
	w.receiver.set(failing(503))
	other := w.another(10)
	process := w.notifier()
	for i := range 3 {
		var changes []campaign.Change
		for k := range 100 {
			changes = append(changes, campaign.Change{Index: 100*i + k, Outcome: campaign.OutcomeSent, At: start})
		}
		w.record(changes...)
		w.run(time.Minute, process)
	}
	w.run(2*time.Hour, process)
	_, posts := w.receiver.taken()
	// A few posts until the circuit opens, then probes every 15 minutes.
	if posts < 10 || posts > 3+20 {
		t.Errorf("an endpoint that was down for two hours got %d posts", posts)
	}
	other.record(sent(10)...)
	process.Handle(t.Context(), other.arrived())
	if ids, _ := other.receiver.taken(); len(ids) != 10 {
		t.Errorf("another tenant got %d webhooks, want 10", len(ids))
	}
	w.receiver.set(nil)
	w.run(time.Hour, process)
	ids, again := w.receiver.taken()
	if len(ids) != 300 || again-posts > 300 {
		t.Errorf("%d webhooks arrived in %d posts, want all 300 in as many", len(ids), again-posts)
	}
	w.checkNothingIsDue()
	failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 100)
	if err != nil || len(failures) != posts || failures[0].Code != "status_503" {
		t.Errorf("%d failures are recorded, %v; want %d", len(failures), err, posts)
	}
}

func TestSwitchOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		span   time.Duration
		reason string
		most   int
	}{
		"after five days":      {500, 5*24*time.Hour + time.Hour, "failing", 40},
		"after a 410":          {410, time.Minute, "gone", 1},
		"not after some hours": {302, 5 * time.Hour, "", 50},
		"not by a short pause": {429, time.Hour, "", 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 50)
			w.receiver.set(failing(test.status))
			w.record(sent(50)...)
			if day := 24 * time.Hour; test.span > day { // the days in between are like the hours
				w.run(2*time.Hour, w.notifier())
				w.mu.Lock()
				w.now = start.Add(test.span - 2*time.Hour)
				w.mu.Unlock()
				test.span = 2 * time.Hour
			}
			w.run(test.span, w.notifier())
			e, err := w.store.Endpoint(t.Context(), w.tenant, w.endpoint.ID)
			if err != nil || e.OffReason != test.reason {
				t.Errorf("it is off because %q, %v; want %q", e.OffReason, err, test.reason)
			}
			if _, posts := w.receiver.taken(); posts > test.most {
				t.Errorf("%d posts, want %d at most", posts, test.most)
			}
			parked, err := w.store.ParkedDeliveries(t.Context(), w.tenant, w.endpoint.ID, 10)
			if err != nil || len(parked) != 1 {
				t.Errorf("%d deliveries wait, %v; want 1", len(parked), err)
			}
		})
	}
}

func TestRetry_RefusedMessage(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 5)
	refused := w.batch.Key.MessageID(3)
	var at []time.Duration
	w.receiver.set(func(_ http.ResponseWriter, body string) int {
		if strings.Contains(body, refused) {
			at = append(at, w.Now().Sub(start))
			return http.StatusBadRequest
		}
		return http.StatusOK
	})
	w.record(sent(5)...)
	w.run(100*time.Hour, w.notifier())
	if diff := cmp.Diff(schedule(), at); diff != "" {
		t.Errorf("posts (-want +got):\n%s", diff)
	}
	dead, err := w.store.DeadDeliveries(t.Context(), w.tenant, w.endpoint.ID, time.Time{}, 10)
	if err != nil || len(dead) != 1 {
		t.Fatalf("%d deliveries are dead, %v; want 1", len(dead), err)
	}
	if left := w.left(w.delivery(dead[0])); !slices.Equal(left, []int{3}) {
		t.Errorf("left %v, want the refused one", left)
	}
	failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 20)
	if err != nil || len(failures) != len(schedule()) || failures[0].Task != dead[0] || failures[0].Entry == nil {
		t.Errorf("failures %+v, %v; want one for each post, which names its delivery", failures, err)
	}
	hours, err := w.store.HourlyPosts(t.Context(), w.tenant, w.endpoint.ID, start)
	taken, failed := 0, 0
	for _, h := range hours {
		taken, failed = taken+h.Accepted, failed+h.Failed
	}
	if taken != 4 || failed != len(schedule()) || hours[0].Accepted != 4 || hours[0].Failed != 4 || err != nil {
		t.Errorf("counted %+v, %v; want 4 taken, and %d failed, 4 of them in the first hour", hours, err, len(schedule()))
	}
}

func TestRetry_RetryAfter(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"seconds": "3600", "a date": start.Add(time.Hour).Format(http.TimeFormat)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 20)
			w.receiver.set(func(h http.ResponseWriter, _ string) int {
				if w.Now().Before(start.Add(time.Hour)) {
					h.Header().Set("Retry-After", value)
					return http.StatusTooManyRequests
				}
				return http.StatusOK
			})
			w.record(sent(20)...)
			process := w.notifier()
			w.run(59*time.Minute, process)
			if _, posts := w.receiver.taken(); posts != 1 {
				t.Errorf("%d posts within the hour, want 1", posts)
			}
			w.run(10*time.Minute, process)
			if ids, _ := w.receiver.taken(); len(ids) != 20 {
				t.Errorf("%d webhooks after the hour, want 20", len(ids))
			}
		})
	}
}

// dying makes processes crash at a step, three times. It returns the number of crashes.
func (w *harness) dying(step string) func() int {
	deaths := 0
	w.broken = func(at string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if at != step || deaths >= 3 {
			return nil
		}
		deaths++
		return errDied
	}
	return func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return deaths
	}
}

// After a crash before or after any step, the next process completes the work.
func TestCrash_NothingLost(t *testing.T) {
	t.Parallel()
	steps := []string{
		"save delivery", "saved delivery", "delete delivery", "deleted delivery",
		"save circuit", "saved circuit", "end circuit", "ended circuit", "queue", "claim delivery", "claimed delivery",
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 20)
			w.receiver.set(func(http.ResponseWriter, string) int {
				if w.Now().Before(start.Add(10 * time.Minute)) {
					return http.StatusInternalServerError
				}
				return http.StatusOK
			})
			deaths := w.dying(step)
			for i := range 3 { // each is a separate step
				w.record(sent(20)[6*i : 6*i+6+2*(i/2)]...)
			}
			for range 25 {
				w.run(2*time.Minute, w.notifier())
				w.mu.Lock()
				w.now = w.now.Add(time.Second)
				w.mu.Unlock()
			}
			if ids, _ := w.receiver.taken(); len(ids) != 20 {
				t.Errorf("%d webhooks arrived, want 20", len(ids))
			}
			if c, err := w.store.Circuit(t.Context(), w.tenant, w.endpoint.ID); err != nil || c.Version != 0 {
				t.Errorf("the circuit is %+v, %v; want none", c, err)
			}
			if n := deaths(); n < 1 {
				t.Errorf("crashed %d times", n)
			}
		})
	}
}

func TestCrash_RefusedMessage(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"save delivery", "saved delivery", "queue", "last save"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 5)
			w.refusing(bad, 3)
			w.record(sent(5)...)
			if step == "last save" { // the save that marks it dead
				w.run(70*time.Hour, w.notifier())
				step = "saved delivery"
			}
			deaths := w.dying(step)
			w.run(100*time.Hour, w.notifier())
			if ids, _ := w.receiver.taken(); len(ids) != 4 || deaths() < 1 {
				t.Errorf("%d webhooks arrived, want 4; crashed %d times", len(ids), deaths())
			}
			if left := w.left(w.delivery(w.dead(1)[0])); !slices.Equal(left, []int{3}) {
				t.Errorf("left %v, want the refused one", left)
			}
		})
	}
}

func TestSwitchOff_Crash(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"switch endpoint", "switched endpoint", "save delivery", "saved delivery"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 20)
			w.receiver.set(failing(http.StatusGone))
			deaths := w.dying(step)
			w.record(sent(20)...)
			w.run(time.Hour, w.notifier())
			e, err := w.store.Endpoint(t.Context(), w.tenant, w.endpoint.ID)
			if err != nil || e.OffReason != "gone" || deaths() < 1 {
				t.Errorf("it is off because %q, %v; crashed %d times", e.OffReason, err, deaths())
			}
			w.receiver.set(nil)
			_, err = w.store.SwitchEndpoint(t.Context(), w.tenant, w.endpoint.ID, "")
			w.must(err)
			_, err = w.store.SaveCircuit(t.Context(), delivery.Circuit{Tenant: w.tenant, EndpointID: w.endpoint.ID, Closing: true, Next: w.Now()})
			w.must(err)
			w.run(time.Hour, w.notifier())
			if ids, _ := w.receiver.taken(); len(ids) != 20 {
				t.Errorf("%d webhooks arrived once it was on, want 20", len(ids))
			}
		})
	}
}

// Two processes learn at once that an endpoint is gone, and the topic refuses the notice: there is one notice, and the endpoint
// is off. Neither its address nor a number reaches the operators.
func TestSwitchOff_OperatorsAreToldOnce(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	w.receiver.set(failing(http.StatusGone))
	var learned sync.WaitGroup
	learned.Add(2)
	w.broken = func(step string) error {
		switch step {
		case "switch endpoint":
			learned.Done()
			learned.Wait()
		case "publish":
			return errors.New("no such topic")
		}
		return nil
	}
	w.record(sent(1)...)
	tasks, processes := w.arrived(), []*webhook.Notifier{w.notifier(), w.notifier()}
	var out bytes.Buffer
	call := func(ctx context.Context, _ []byte) ([]byte, error) {
		var both sync.WaitGroup
		for _, p := range processes {
			both.Go(func() { w.must(errors.Join(p.Handle(ctx, tasks)...)) })
		}
		both.Wait()
		return nil, nil
	}
	if _, err := metrics.NewHandler(call, &out, w.Now).Invoke(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	e, err := w.store.Endpoint(t.Context(), w.tenant, w.endpoint.ID)
	if err != nil || e.OffReason != "gone" {
		t.Errorf("it is off because %q, %v", e.OffReason, err)
	}
	if told := strings.Join(w.notices, "\n"); len(w.notices) != 1 || !strings.Contains(told, "TENANT="+w.tenant+" ENDPOINT="+e.ID) ||
		strings.Contains(told, e.URL) || strings.Contains(told, "5511") {
		t.Errorf("told %q", w.notices)
	}
	counted := `"EndpointId":"` + e.ID + `","EndpointsOff":1,`
	if !strings.Contains(out.String(), `"Dimensions":[["Stack","EndpointId"]]`) || !strings.Contains(out.String(), counted) {
		t.Errorf("the endpoint is not counted once: %s", out.String())
	}
}

// A tenant that enables a broken endpoint again and again causes one notice a day.
func TestSwitchOff_EnabledAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 20)
	w.receiver.set(failing(http.StatusGone))
	for i, step := range []struct {
		later time.Duration
		want  int // notices
	}{{0, 1}, {time.Hour, 1}, {22 * time.Hour, 1}, {2 * time.Hour, 2}, {time.Hour, 2}} {
		w.mu.Lock()
		w.now = w.now.Add(step.later)
		w.mu.Unlock()
		_, err := w.store.SwitchEndpoint(t.Context(), w.tenant, w.endpoint.ID, "")
		w.must(err)
		w.record(campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: start})
		w.run(time.Minute, w.notifier())
		e, err := w.store.Endpoint(t.Context(), w.tenant, w.endpoint.ID)
		if err != nil || e.OffReason != "gone" || len(w.notices) != step.want {
			t.Errorf("at %v, it is off because %q, %v; %d notices, want %d", w.Now(), e.OffReason, err, len(w.notices), step.want)
		}
	}
}

func TestPost_Timeout(t *testing.T) {
	t.Parallel()
	if client := (netguard.Guard{}).Client(1, webhook.Timeout); client.Timeout != 15*time.Second {
		t.Errorf("posts are given up after %v, want 15s", client.Timeout)
	}
}

var errDied = errors.New("died")

func TestPost_NonPublicAddress(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a listener of the test
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a webhook was posted")
	})}}
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "2130706433", "localhost", "[::1]", "0.0.0.0"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			w := newHarness(t, 1)
			w.endpoint.URL = "http://" + host + ":" + port
			w.must(w.store.SaveEndpoint(t.Context(), w.endpoint))
			process := w.notifier()
			process.HTTP = netguard.Guard{}.Client(1, time.Minute)
			w.record(sent(1)...)
			w.run(time.Second, process)
			failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 10)
			if err != nil || len(failures) != 1 || failures[0].Status != 0 || failures[0].Code != "address_refused" && host != "2130706433" {
				t.Errorf("failures %+v, %v; want one, without a connection", failures, err)
			}
		})
	}
}

func TestPost_Redirect(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	elsewhere := newReceiver(t)
	w.receiver.set(func(h http.ResponseWriter, _ string) int {
		h.Header().Set("Location", elsewhere.URL)
		return http.StatusTemporaryRedirect
	})
	w.record(sent(1)...)
	w.run(time.Minute, w.notifier())
	if _, posts := elsewhere.taken(); posts != 0 {
		t.Errorf("%d posts went elsewhere", posts)
	}
	if failures, err := w.store.Failures(t.Context(), w.tenant, w.endpoint.ID, 10); err != nil || len(failures) == 0 || failures[0].Code != "status_307" {
		t.Errorf("failures %+v, %v; want status_307", failures, err)
	}
}
