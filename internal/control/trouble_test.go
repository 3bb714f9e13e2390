package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/send/outgoing"
)

var errBroken = errors.New("broken")

func TestServe_InvalidToken(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "p", 1, campaign.BatchPending)
	for want, unfit := range map[string]error{
		"401 invalid_token": accesstoken.InvalidToken(),
		"403 insufficient_scope": &httpapi.Problem{
			Status: http.StatusForbidden, Code: "insufficient_scope", Detail: "The access token lacks the scope.",
			Header: http.Header{"Www-Authenticate": {"Bearer"}},
		},
	} {
		d.unfit = unfit
		for path, body := range map[string]string{"/cancel": "", "/reschedule": `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`} {
			if got := d.post(path, body); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
	if c := d.campaign(); c.Status() != campaign.StatusScheduled || len(d.handed)+len(d.tasks) > 0 {
		t.Errorf("%s after refused calls", c.Status())
	}
}

func TestServe_OtherTenant(t *testing.T) {
	t.Parallel()
	d, other := newService(t), newService(t)
	d.accept(1, "p", 1, campaign.BatchPending)
	for path, body := range map[string]string{
		"/cancel": "", "/cancel?revoke=true": "", "/reschedule": `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`,
	} {
		if got := other.post(path, body); got != "404 campaign_not_found" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := d.campaign().Status(); got != campaign.StatusScheduled {
		t.Errorf("the campaign is %s", got)
	}
}

// stubborn is a store in which one batch cannot be cancelled.
type stubborn struct {
	*dynamotest.Store
	batchID string
}

func (s stubborn) CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, next time.Time) error {
	if ref.BatchID == s.batchID {
		return errBroken
	}
	return s.Store.CancelBatch(ctx, ref, at, revoke, next)
}

func TestServeCancel_OneBatchFails(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "broken", 3, campaign.BatchPending)
	d.accept(2, "whole", 3, campaign.BatchPending)
	d.service.Store = stubborn{d.store, campaign.BatchID("broken")}
	d.canceller.Store = stubborn{d.store, campaign.BatchID("broken")}
	if got := d.post("/cancel", ""); got != "500 internal_error" {
		t.Errorf("answered %s, want an error that the client retries", got)
	}
	task := campaign.RevokeTask{BatchRef: campaign.BatchRef{ID: d.id}}
	if errs := d.canceller.Handle(t.Context(), []campaign.RevokeTask{task}); !errors.Is(errs[0], errBroken) {
		t.Errorf("error %v, want the task to be retried", errs[0])
	}
	c := d.campaign()
	if broken, whole := c.Batches[0], c.Batches[1]; broken.Status() != campaign.StatusScheduled || whole.Head.Counts[campaign.OutcomeStopped] != 3 {
		t.Errorf("%s and %v", broken.Status(), whole.Head.Counts)
	}
}

// A cancellation with revoke follows one without.
func TestServeCancel_RevokeAfterCancel(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	d.record(b, campaign.OutcomeStopped, 0, 2)
	d.work()
	if len(d.asked)+len(d.tasks) > 0 {
		t.Errorf("%d messages and %d tasks of a campaign cancelled without revoke", len(d.asked), len(d.tasks))
	}
	if got := d.post("/cancel?revoke=true", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	d.work()
	d.work()
	if len(d.asked) < 3 || len(d.tasks) > 0 {
		t.Errorf("%d of 3 messages were revoked, %d tasks are left", len(d.asked), len(d.tasks))
	}
}

//nolint:paralleltest // captures the process's log
func TestHandle_RevokeFails(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	defer slog.SetDefault(before)
	d := newService(t)
	b := d.accept(1, "", 5, campaign.BatchSending)
	d.record(b, campaign.OutcomeSent, 0, 4)
	for i := range 4 {
		d.refuse[b.Key.MessageID(i)] = &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
	}
	d.refuse[b.Key.MessageID(3)] = &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}
	d.must(d.store.CancelBatch(t.Context(), b.BatchRef, noon, true, noon))
	task := campaign.RevokeTask{BatchRef: b.BatchRef}
	for range 8 {
		d.tasks = nil
		d.must(d.canceller.Handle(t.Context(), []campaign.RevokeTask{task})[0])
		task = d.tasks[0]
	}
	want := []time.Duration{
		20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 640 * time.Second,
		15 * time.Minute, 15 * time.Minute,
	}
	if diff := cmp.Diff(want, d.delays); diff != "" {
		t.Error(diff)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	var line map[string]any
	d.must(json.Unmarshal([]byte(lines[0]), &line))
	if len(lines) != 8 || line["level"] != "WARN" || line["failed"] != 3.0 || line["refused"] != 1.0 || line["revoked"] != 1.0 {
		t.Errorf("%d lines, the first %s", len(lines), lines[0])
	}
	if strings.Contains(log.String(), "+55") {
		t.Error("a number is in the log")
	}
	d.canceller.Now = func() time.Time { return noon.Add(25 * time.Hour) }
	d.tasks = nil
	d.must(d.canceller.Handle(t.Context(), []campaign.RevokeTask{task})[0])
	if len(d.tasks) > 0 {
		t.Error("the task is retried although the provider no longer delivers")
	}
}

// rival is a store in which other calls reschedule a batch just before this one does.
type rival struct {
	*dynamotest.Store
	times []time.Time // left to move it to
}

func (r *rival) RescheduleBatch(ctx context.Context, b campaign.Batch, due, next time.Time) (bool, error) {
	if len(r.times) > 0 {
		now, err := r.Batch(ctx, b.BatchRef)
		if err == nil {
			_, err = r.Store.RescheduleBatch(ctx, now, r.times[0], next)
		}
		if err != nil {
			return false, err
		}
		r.times = r.times[1:]
	}
	return r.Store.RescheduleBatch(ctx, b, due, next)
}

func TestServeReschedule_Concurrent(t *testing.T) {
	t.Parallel()
	due := noon.Add(time.Hour)
	for name, test := range map[string]struct {
		rivals []time.Time
		want   string
	}{
		"one":               {[]time.Time{noon.Add(2 * time.Hour)}, "200 scheduled"},
		"two":               {[]time.Time{noon.Add(2 * time.Hour), noon.Add(4 * time.Hour)}, "503 try_again"},
		"to one's own time": {[]time.Time{due}, "200 scheduled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			b := d.accept(1, "p", 1, campaign.BatchPending)
			d.service.Store = &rival{d.store, test.rivals}
			if got := d.post("/reschedule", `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			now, err := d.store.Batch(t.Context(), b.BatchRef)
			d.must(err)
			moved := strings.HasPrefix(test.want, "200")
			if moved != now.Due.Equal(due) || moved != (len(d.handed) == 1) {
				t.Errorf("due at %v, scheduled %v", now.Due, d.handed)
			}
		})
	}
}

// repeated is a store whose answer to the first attempt is lost. The batch is released before
// the second attempt.
type repeated struct{ *dynamotest.Store }

func (r *repeated) RescheduleBatch(ctx context.Context, b campaign.Batch, due, next time.Time) (bool, error) {
	if _, err := r.Store.RescheduleBatch(ctx, b, due, next); err != nil {
		return false, err
	}
	if _, err := r.StartRelease(ctx, b.BatchRef, "agent", due, next); err != nil {
		return false, err
	}
	return r.Store.RescheduleBatch(ctx, b, due, next)
}

func TestServeReschedule_ReleasedBeforeSecondAttempt(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "p", 1, campaign.BatchPending)
	d.service.Store = &repeated{d.store}
	if got := d.post("/reschedule", `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`); got != "200 scheduled" {
		t.Error(got)
	}
	now, err := d.store.Batch(t.Context(), b.BatchRef)
	d.must(err)
	if now.State != campaign.BatchReleasing || !now.Due.Equal(noon.Add(time.Hour)) {
		t.Errorf("%s, due at %v", now.State, now.Due)
	}
}

// Sweep releases a batch whose new trigger could not be created.
func TestServeReschedule_SchedulingFails(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "p", 1, campaign.BatchPending)
	d.handErr = errBroken
	if got := d.post("/reschedule", `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`); got != "200 scheduled" {
		t.Error(got)
	}
	found := false
	for shard := range dynamo.DueShards {
		for due, err := range d.store.Due(t.Context(), shard, noon.Add(time.Hour+2*time.Minute)) {
			d.must(err)
			found = found || due.Batch == b.BatchRef
		}
	}
	if now, err := d.store.Batch(t.Context(), b.BatchRef); err != nil || !found || !now.Due.Equal(noon.Add(time.Hour)) {
		t.Errorf("due at %v (%v), found by sweep %v", now.Due, err, found)
	}
}
