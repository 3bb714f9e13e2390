package reach_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
)

// Zones with the same time and the same clock are a group. Those that never open, and unknown ones, come last.
func TestGroups(t *testing.T) {
	t.Parallel()
	opening := func(z window.Zone, messages int, at time.Time) reach.Opening {
		return reach.Opening{Count: window.Count{Zone: z, Messages: messages}, OpensAt: at}
	}
	nine := night.Add(9 * time.Hour)
	got := reach.Groups([]reach.Opening{
		opening(0, 7, time.Time{}), opening(window.Recife, 5, time.Time{}), opening(window.Amazonas, 4, nine.Add(2*time.Hour)),
		opening(window.RioBranco, 3, nine.Add(2*time.Hour)), opening(window.Manaus, 2, nine), opening(window.SaoPaulo, 1, nine),
	})
	want := []reach.Group{
		{OpensAt: nine, Zones: []window.Zone{window.SaoPaulo}, Messages: 1},
		{OpensAt: nine, Zones: []window.Zone{window.Manaus}, Messages: 2},
		{OpensAt: nine.Add(2 * time.Hour), Zones: []window.Zone{window.RioBranco, window.Amazonas}, Messages: 7},
		{Messages: 7},
		{Zones: []window.Zone{window.Recife}, Messages: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

var threeZones = []window.Count{{Zone: window.SaoPaulo, Messages: 3}, {Zone: window.Manaus, Messages: 2}, {Zone: window.RioBranco, Messages: 1}}

func TestTimed(t *testing.T) {
	t.Parallel()
	nine, ten, eleven := night.Add(9*time.Hour), night.Add(10*time.Hour), night.Add(11*time.Hour) // of São Paulo
	for name, test := range map[string]struct {
		change func(b *campaign.BatchProgress)
		goes   time.Time
		waits  []time.Time // by zone
	}{
		"held":                 {func(b *campaign.BatchProgress) { b.ClosedZones = threeZones }, nine, []time.Time{nine, ten, eleven}},
		"one zone is held":     {func(b *campaign.BatchProgress) { b.ClosedZones = threeZones[2:] }, eleven, []time.Time{eleven}},
		"all are on their way": {func(b *campaign.BatchProgress) { b.Zones = threeZones }, time.Time{}, nil},
		"not released": {func(b *campaign.BatchProgress) {
			b.State, b.Zones, b.Due = campaign.BatchPending, threeZones, night.Add(-time.Minute)
		}, nine, []time.Time{nine, ten, eleven}},
		"scheduled":           {func(b *campaign.BatchProgress) { b.State, b.Zones, b.Due = campaign.BatchPending, threeZones, ten }, ten, []time.Time{eleven}},
		"scheduled, and open": {func(b *campaign.BatchProgress) { b.State, b.Zones, b.Due = campaign.BatchPending, threeZones, eleven }, eleven, nil},
		"cancelled": {func(b *campaign.BatchProgress) {
			b.State, b.Zones, b.CancelledAt = campaign.BatchPending, threeZones, night
		}, time.Time{}, nil},
		"too late for some": {func(b *campaign.BatchProgress) { b.ClosedZones, b.NotAfter = threeZones, ten }, nine, []time.Time{nine, ten, eleven}},
		"too late for all":  {func(b *campaign.BatchProgress) { b.ClosedZones, b.NotAfter = threeZones, nine }, time.Time{}, []time.Time{nine, ten, eleven}},
		"unknown zones":     {func(b *campaign.BatchProgress) { b.ClosedZones = []window.Count{{Messages: 6}} }, time.Time{}, []time.Time{{}}},
		"a test": {func(b *campaign.BatchProgress) {
			b.State, b.Zones, b.Due, b.Test = campaign.BatchPending, threeZones, night, true
		}, night, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchSending, Accepted: 6}}
			test.change(&b)
			c := campaign.Campaign{Batches: []campaign.BatchProgress{b}}
			timed, times, err := reach.Timed(t.Context(), &rowsRead{policy: usual()}, c, night)
			if err != nil || !timed.Batches[0].Goes.Equal(test.goes) {
				t.Errorf("goes at %v (%v), want %v", timed.Batches[0].Goes, err, test.goes)
			}
			var waits []time.Time
			for _, w := range times.Waiting {
				waits = append(waits, w.OpensAt)
			}
			if diff := cmp.Diff(test.waits, waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if !c.Batches[0].Goes.IsZero() {
				t.Error("the campaign of the caller was changed")
			}
		})
	}
}

// A pause does not change when the messages would go. While it lasts, they wait for its end.
func TestTimed_Paused(t *testing.T) {
	t.Parallel()
	b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchPending, Accepted: 6, Zones: threeZones, Due: night}}
	c := campaign.Campaign{PausedAt: night, Batches: []campaign.BatchProgress{b}}
	timed, times, err := reach.Timed(t.Context(), &rowsRead{policy: usual()}, c, night)
	if nine := night.Add(9 * time.Hour); err != nil || !timed.Batches[0].Goes.Equal(nine) {
		t.Errorf("goes at %v (%v), want %v", timed.Batches[0].Goes, err, nine)
	}
	if w := times.Waiting; len(w) != 1 || w[0].Reason != reach.ReasonPaused || w[0].Messages != 6 {
		t.Errorf("%+v waits, want the 6 messages of the pause", w)
	}
	c.CancelledAt = night
	if timed, times, err = reach.Timed(t.Context(), unreadable{}, c, night); err != nil || len(times.Waiting) > 0 || !timed.Batches[0].Goes.IsZero() {
		t.Errorf("after a cancellation, %+v waits (%v)", times.Waiting, err)
	}
}

// What is not released and never opens is known before it is due, and when it ends.
func TestTimed_NeverOpens(t *testing.T) {
	t.Parallel()
	b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchPending, Accepted: 6, Zones: threeZones, Due: night}}
	b.SendWindow = &window.Week{time.Sunday: {From: 9 * 60, Until: 12 * 60}} // outside the usual hours
	timed, times, err := reach.Timed(t.Context(), &rowsRead{policy: usual()}, campaign.Campaign{Batches: []campaign.BatchProgress{b}}, night)
	if err != nil || !timed.Batches[0].Goes.IsZero() {
		t.Errorf("goes at %v (%v)", timed.Batches[0].Goes, err)
	}
	ends := night.Add(campaign.MaxNeverOpen)
	if n, at := reach.NeverGoing(times.Waiting); n != 6 || !at.Equal(ends) {
		t.Errorf("%d messages never go, and end at %v", n, at)
	}
	if r := insight.ResultsOf(timed, night); r.NeverGo != 6 || !r.EndsAt.Equal(ends) || r.ToGo != 0 || !r.Next.IsZero() {
		t.Errorf("the results have %d that never go, until %v, and %d that go at %v", r.NeverGo, r.EndsAt, r.ToGo, r.Next)
	}
}

// Of a scheduled batch, the messages that go in time are those that wait in the results. A pause keeps all of them.
func TestTimed_SomeNeverOpen(t *testing.T) {
	t.Parallel()
	nine := night.Add(9 * time.Hour)
	b := campaign.BatchProgress{Batch: campaign.Batch{
		State: campaign.BatchPending, Scheduled: true, Accepted: 6, Zones: threeZones, Due: night.Add(time.Hour), NotAfter: nine.Add(30 * time.Minute),
	}}
	c := campaign.Campaign{Batches: []campaign.BatchProgress{b}}
	for paused, want := range map[time.Time][2]int{{}: {3, 3}, night: {6, 0}} {
		c.PausedAt = paused
		timed, _, err := reach.Timed(t.Context(), &rowsRead{policy: usual()}, c, night)
		r := insight.ResultsOf(timed, night)
		if got := [2]int{r.ToGo, r.NeverGo}; err != nil || got != want || !r.Next.Equal(nine) {
			t.Errorf("paused at %v: %v go from %v (%v), want %v from %v", paused, got, r.Next, err, want, nine)
		}
	}
}

func TestTimed_Holidays(t *testing.T) {
	t.Parallel()
	p := usual()
	p.Holidays, p.HolidayNames = []string{"2026-12-01"}, map[string]string{"2026-12-01": "Aniversário da cidade"}
	b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchSending}, ClosedZones: threeZones}
	_, times, err := reach.Timed(t.Context(), &rowsRead{policy: p}, campaign.Campaign{Batches: []campaign.BatchProgress{b, b}}, night)
	want := []window.Holiday{{Date: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Name: "Aniversário da cidade"}}
	if diff := cmp.Diff(want, times.Holidays); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// unreadable fails every reading.
type unreadable struct{}

func (unreadable) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return reach.TenantHours{}, errors.New("the policy is read")
}

func (unreadable) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return campaign.Template{}, errors.New("a template is read")
}

// A campaign to which no sending hours apply costs no reading.
func TestTimed_WithoutHours(t *testing.T) {
	t.Parallel()
	c := campaign.Campaign{Batches: []campaign.BatchProgress{
		{Batch: campaign.Batch{State: campaign.BatchPending, Due: night.Add(time.Hour), Accepted: 5}},
		{Batch: campaign.Batch{State: campaign.BatchSending, Accepted: 5}},
		{Batch: campaign.Batch{State: campaign.BatchSending, Accepted: 5, Waits: campaign.Waits{Paused: true}}},
	}}
	_, times, err := reach.Timed(t.Context(), unreadable{}, c, night)
	if err != nil || len(times.Waiting) != 1 || times.Waiting[0].Reason != reach.ReasonPaused {
		t.Errorf("%+v waits (%v), want the paused batch", times.Waiting, err)
	}
}
