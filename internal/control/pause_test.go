package control_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/send/outgoing"
)

// holds reports whether send holds the batch.
func (d *service) holds(b campaign.Batch) bool {
	d.t.Helper()
	d.must(d.store.SaveAgent(d.t.Context(), campaign.Agent{ID: "agent-" + d.id.Tenant}))
	route, err := d.store.Route(d.t.Context(), d.id.Tenant, "agent-"+d.id.Tenant)
	d.must(err)
	return route.Pauses(b, noon)
}

func (d *service) calls(want map[string]string, paths ...string) {
	d.t.Helper()
	for _, path := range paths {
		if got := d.post(path, ""); got != want[path] {
			d.t.Errorf("%s: %s, want %s", path, got, want[path])
		}
	}
}

func TestServePause(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	other := b
	other.CampaignID = "1190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"
	want := map[string]string{"/pause": "200 sending", "/resume": "200 sending"}
	d.calls(want, "/resume", "/pause", "/pause")
	if at := d.campaign().PausedAt; !at.Equal(noon) || !d.holds(b) || d.holds(other) {
		t.Errorf("paused at %v; held: %v, another campaign: %v", at, d.holds(b), d.holds(other))
	}
	d.calls(want, "/resume", "/resume")
	queued := map[reaction.EventKind]map[string]bool{reaction.EventPaused: {}, reaction.EventResumed: {}}
	for _, e := range d.events {
		if e.Campaign != d.id || !e.At.Equal(noon) {
			t.Errorf("queued %+v", e)
		}
		queued[e.Kind][e.EventID] = true
	}
	if len(queued[reaction.EventPaused]) != 1 || len(queued[reaction.EventResumed]) != 1 {
		t.Errorf("queued %v, want one event of each kind", queued)
	}
	if at := d.campaign().PausedAt; !at.IsZero() || d.holds(b) {
		t.Errorf("after the pause: paused at %v; held: %v", at, d.holds(b))
	}
}

// overtaken is a store whose pauses and resumptions come after those of concurrent calls.
type overtaken struct {
	control.Store

	first func()
}

func (o overtaken) PauseCampaign(ctx context.Context, id campaign.ID, at time.Time) (time.Time, error) {
	o.first()
	return o.Store.PauseCampaign(ctx, id, at)
}

func (o overtaken) ResumeCampaign(ctx context.Context, id campaign.ID, since time.Time) error {
	o.first()
	return o.Store.ResumeCampaign(ctx, id, since)
}

// Two calls that pause a campaign at once make one pause and one event.
func TestPause_Concurrent(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "", 3, campaign.BatchSending)
	earlier := noon.Add(-time.Minute)
	d.service.Store = overtaken{d.service.Store, func() { d.pauseAt(earlier) }}
	c, err := d.service.Pause(t.Context(), d.id)
	d.must(err)
	if !c.PausedAt.Equal(earlier) || len(d.events) != 1 || !d.events[0].At.Equal(earlier) {
		t.Errorf("paused at %v, events %+v, want %v", c.PausedAt, d.events, earlier)
	}
}

// pauseAt pauses the campaign without an event.
func (d *service) pauseAt(at time.Time) {
	d.t.Helper()
	_, err := d.store.PauseCampaign(d.t.Context(), d.id, at)
	d.must(err)
}

// resumedSoon is a store whose pauses are ended by a concurrent call at once.
type resumedSoon struct {
	control.Store

	resume func()
}

func (r resumedSoon) PauseCampaign(ctx context.Context, id campaign.ID, at time.Time) (time.Time, error) {
	since, err := r.Store.PauseCampaign(ctx, id, at)
	r.resume()
	return since, err
}

// One pause has one event, also if it ends before the second of two calls that pause the campaign answers.
func TestPause_ConcurrentWithResume(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "", 3, campaign.BatchSending)
	earlier := noon.Add(-time.Minute)
	second := *d.service
	second.Store = resumedSoon{
		overtaken{d.service.Store, func() { d.pauseAt(earlier) }},
		func() { d.must(d.store.ResumeCampaign(t.Context(), d.id, earlier)) },
	}
	c, err := second.Pause(t.Context(), d.id)
	d.must(err)
	if !c.PausedAt.Equal(earlier) || len(d.events) != 1 || !d.events[0].At.Equal(earlier) {
		t.Errorf("paused at %v, events %+v, want the event of the pause at %v", c.PausedAt, d.events, earlier)
	}
}

// A call that resumes a campaign does not end the pause of a later call.
func TestResume_NewerPause(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	d.post("/pause", "")
	later := noon.Add(time.Minute)
	d.service.Store = overtaken{d.service.Store, func() {
		d.must(d.store.ResumeCampaign(t.Context(), d.id, noon))
		d.pauseAt(later)
	}}
	c, err := d.service.Resume(t.Context(), d.id)
	d.must(err)
	if !c.PausedAt.Equal(later) || !d.holds(b) {
		t.Errorf("paused at %v, held: %v, want %v", c.PausedAt, d.holds(b), later)
	}
}

func TestServePause_Refused(t *testing.T) {
	t.Parallel()
	completed := newService(t)
	completed.record(completed.accept(1, "", 2, campaign.BatchCompleted), campaign.OutcomeRead, 0, 1)
	cancelled := newService(t)
	cancelled.accept(1, "", 3, campaign.BatchPending)
	cancelled.post("/cancel", "")
	unsent := newService(t)
	unsent.file(submission.StateSending)
	for want, d := range map[string]*service{
		"409 campaign_completed": completed, "409 campaign_cancelled": cancelled, "409 campaign_not_accepted": unsent,
		"404 campaign_not_found": newService(t),
	} {
		if got := d.post("/pause", ""); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := completed.post("/pause?dryRun=true", ""); got != "400 invalid_dry_run" {
		t.Errorf("a dry run: %s", got)
	}
}

// A campaign that completes after a call has read it is not paused.
func TestPause_CompletedMeanwhile(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 2, campaign.BatchSending)
	d.record(b, campaign.OutcomeSent, 0, 1)
	d.service.Store = overtaken{d.service.Store, func() {
		d.record(b, campaign.OutcomeRead, 0, 1)
		_, err := d.store.CompleteBatch(t.Context(), b, 0, noon)
		d.must(err)
	}}
	if got := d.post("/pause", ""); got != "409 campaign_completed" || len(d.events) > 0 {
		t.Errorf("%s, events %v", got, d.events)
	}
	if at := d.campaign().PausedAt; !at.IsZero() || d.holds(b) {
		t.Errorf("paused at %v; held: %v", at, d.holds(b))
	}
}

// The campaign is cancelled after the call has read it.
func TestPauseCampaign_Cancelled(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	d.must(d.store.CancelCampaign(t.Context(), d.id, noon, false))
	if _, err := d.store.PauseCampaign(t.Context(), d.id, noon); !errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("%v, want a lost race", err)
	}
	if d.holds(b) {
		t.Error("the campaign is paused")
	}
}

// A cancellation leaves no pause behind, and queues the check of what waited.
func TestServeCancel_Paused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	d.post("/pause", "")
	waiting := b
	waiting.Waits.Paused = true
	_, err := d.store.PostponeCheck(t.Context(), waiting, noon.Add(outgoing.PauseCheck))
	d.must(err)
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	d.work()
	now, err := d.store.Batch(t.Context(), b.BatchRef)
	d.must(err)
	if at := d.campaign().PausedAt; !at.IsZero() || d.holds(b) || now.NextCheck.After(noon) {
		t.Errorf("paused at %v; held: %v; checked at %v, want %v", at, d.holds(b), now.NextCheck, noon)
	}
}

func TestServeReschedule_Paused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchPending)
	d.post("/pause", "")
	if got := d.post("/reschedule", `{"schedule":"2037-11-22T15:00:00Z"}`); got != "200 scheduled" {
		t.Fatal(got)
	}
	if due := d.campaign().Batches[0].Due; !due.Equal(time.Date(2037, 11, 22, 15, 0, 0, 0, time.UTC)) || !d.holds(b) {
		t.Errorf("due at %v; held: %v", due, d.holds(b))
	}
}
