package insight_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/insight"
)

// settled are results of a completed campaign, whose last batch was sent an hour before.
func settled(batches int) insight.Results {
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	return insight.Results{At: at, Status: campaign.StatusCompleted, Batches: batches, First: at.Add(-time.Hour), Last: at.Add(-time.Hour)}
}

func TestResults_ShownFor(t *testing.T) {
	t.Parallel()
	const small, large = insight.SmallCampaign, insight.SmallCampaign + 1
	status := func(r insight.Results, status campaign.Status) insight.Results {
		r.Status = status
		return r
	}
	old := func(r insight.Results) insight.Results {
		r.Last = r.At.AddDate(0, 0, -8)
		return r
	}
	for name, test := range map[string]struct {
		results insight.Results
		want    time.Duration
	}{
		"small, sending":     {status(settled(small), campaign.StatusSending), 10 * time.Second},
		"small, scheduled":   {status(settled(small), campaign.StatusScheduled), time.Minute},
		"small, completed":   {settled(small), time.Minute},
		"small, old":         {old(settled(small)), 24 * time.Hour},
		"large, sending":     {status(settled(large), campaign.StatusSending), time.Minute},
		"large, scheduled":   {status(settled(large), campaign.StatusScheduled), time.Minute},
		"large, completed":   {settled(large), 15 * time.Minute},
		"large, cancelled":   {status(settled(large), campaign.StatusCancelled), 15 * time.Minute},
		"large, old":         {old(settled(large)), 24 * time.Hour},
		"large, old sending": {old(status(settled(large), campaign.StatusSending)), time.Minute},
	} {
		if got := test.results.ShownFor(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestResults_Current(t *testing.T) {
	t.Parallel()
	r := settled(2)
	same := campaign.Summary{Batches: 2, Completed: 2}
	scheduled := r
	scheduled.Status, scheduled.First, scheduled.Last = campaign.StatusScheduled, r.At.Add(30*time.Second), r.At.Add(time.Hour)
	for name, test := range map[string]struct {
		results insight.Results
		summary campaign.Summary
		later   time.Duration
		want    bool
	}{
		"recent":            {r, same, 59 * time.Second, true},
		"too old":           {r, same, time.Minute, false},
		"none":              {insight.Results{}, same, 0, false},
		"another batch":     {r, campaign.Summary{Batches: 3, Completed: 2}, 0, false},
		"moved":             {r, campaign.Summary{Batches: 2, Completed: 2, Moves: 1}, 0, false},
		"cancelled":         {r, campaign.Summary{Batches: 2, Completed: 2, CancelledAt: r.At}, 0, false},
		"not completed":     {r, campaign.Summary{Batches: 2, Completed: 1}, 0, false},
		"scheduled":         {scheduled, campaign.Summary{Batches: 2}, 29 * time.Second, true},
		"now due":           {scheduled, campaign.Summary{Batches: 2}, 30 * time.Second, false},
		"completed at last": {scheduled, same, 0, false},
		"parts to come":     {r, campaign.Summary{Batches: 2, Completed: 2, Submission: campaign.SubmissionTotals{PartsToCome: 1}}, 0, false},
	} {
		if got := test.results.Current(test.summary, r.At.Add(test.later)); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// A scheduled campaign whose first batch has gone holds until something changes: it need not be read at each update of a list.
func TestResults_HoldsBetweenBatches(t *testing.T) {
	t.Parallel()
	r := settled(2)
	r.Status, r.First, r.Last = campaign.StatusScheduled, r.At.Add(-time.Hour), r.At.Add(time.Hour)
	half, now := campaign.Summary{Batches: 2, Completed: 1}, r.At.Add(30*time.Second)
	if !r.Holds(half, now) || r.Current(half, now) {
		t.Errorf("half of it has gone: holds %v, current %v", r.Holds(half, now), r.Current(half, now))
	}
	if r.First = r.At.Add(20 * time.Second); r.Holds(half, now) {
		t.Error("its time has come since it was read, and it holds")
	}
}

func TestCampaign_Results(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	batch := func(template string, due time.Time, counts map[campaign.Outcome]int, reasons map[campaign.Reason]int) campaign.BatchProgress {
		return campaign.BatchProgress{
			Batch: campaign.Batch{TemplateID: template, Accepted: 20, AcceptedAt: now, Due: due, State: campaign.BatchSending, TapKey: []byte{1}},
			Head:  campaign.LedgerSummary{Counts: counts, Reasons: reasons, Tapped: 1},
		}
	}
	c := campaign.Campaign{BatchCount: 2, Batches: []campaign.BatchProgress{
		batch("a", now.Add(time.Hour), map[campaign.Outcome]int{campaign.OutcomeSent: 1, campaign.OutcomeDelivered: 2, campaign.OutcomeRead: 3}, nil),
		batch("b", now, map[campaign.Outcome]int{campaign.OutcomeFailed: 2, campaign.OutcomeExpired: 3, campaign.OutcomeRevoked: 1, campaign.OutcomeStopped: 4},
			map[campaign.Reason]int{{Outcome: campaign.OutcomeFailed, Code: "opted_out"}: 2, {Outcome: campaign.OutcomeExpired, Code: "not_after_passed"}: 1, {Outcome: campaign.OutcomeExpired, Code: "window_closed"}: 1}),
	}}
	want := insight.Results{
		At: now, Status: campaign.StatusSending, Batches: 2, First: now, Last: now.Add(time.Hour), TemplateID: "a", Templates: 2,
		Accepted: 40, Sent: 1 + 5 + 1 + 1, Delivered: 5, Read: 3, Lost: 2, Stopped: 4, OptedOut: 2, ExpiredUnsent: 2, Tapped: 2, Tappable: true, Unpriced: 5, ExpiresAt: now.Add(campaign.Retention),
	}
	if diff := cmp.Diff(want, insight.ResultsOf(c, now)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	c.Batches[0].Prices = campaign.Prices{Single: 50_000}
	if r := insight.ResultsOf(c, now); r.Cost != 250_000 || r.Unpriced != 0 {
		t.Errorf("5 delivered messages cost %s, %d have no price", r.Cost, r.Unpriced)
	}
}

// The people of a campaign are those with a message and those of its file who have none.
func TestResults_People(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	c := campaign.Campaign{
		Batches: []campaign.BatchProgress{{
			Batch: campaign.Batch{Accepted: 40, AcceptedAt: at},
			Head:  campaign.LedgerSummary{Counts: map[campaign.Outcome]int{campaign.OutcomeRead: 30, campaign.OutcomeStopped: 10}},
		}},
		Submission: campaign.SubmissionTotals{Lines: 100, People: 100, Erased: 1, Accepted: 40, PartsToCome: 2},
	}
	for toCome, want := range map[int][4]int{2: {99, 59, 10, 0}, 0: {99, 0, 69, 0}} {
		c.Submission.PartsToCome = toCome
		r := insight.ResultsOf(c, at)
		if got := [4]int{r.People(), r.ToCome(), r.NotSent(), r.Lost}; got != want {
			t.Errorf("with %d parts to come: people, to come, not sent, not delivered %v, want %v", toCome, got, want)
		}
	}
}

// Only batches that wait count as waiting, and a failing batch that is being sent as stalled.
func TestResults_Waiting(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	batch := func(state campaign.BatchState, due time.Time) campaign.BatchProgress {
		return campaign.BatchProgress{Batch: campaign.Batch{State: state, Due: due, Accepted: 10}}
	}
	cancelled := batch(campaign.BatchPending, at)
	cancelled.CancelledAt = at
	c := campaign.Campaign{Batches: []campaign.BatchProgress{
		batch(campaign.BatchSent, at.Add(-time.Hour)), cancelled,
		batch(campaign.BatchPending, at.Add(2*time.Hour)), batch(campaign.BatchPending, at.Add(time.Hour)),
	}}
	r := insight.ResultsOf(c, at)
	if !r.Next.Equal(at.Add(time.Hour)) || r.ToGo != 20 || r.Stalled {
		t.Errorf("next %v, %d waiting, stalled %t", r.Next, r.ToGo, r.Stalled)
	}
	failing := batch(campaign.BatchSending, at)
	failing.FailingTime.At = at
	c.Batches = append(c.Batches, failing)
	if !insight.ResultsOf(c, at).Stalled {
		t.Error("a campaign with a failing batch is not stalled")
	}
}

// A campaign awaits its hours if no message can go before them, and never in the API.
func TestResults_AwaitsHours(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	held := func(sent, held int) campaign.BatchProgress {
		return campaign.BatchProgress{
			Batch:       campaign.Batch{State: campaign.BatchSending, Accepted: 10, Due: at},
			Head:        campaign.LedgerSummary{Counts: map[campaign.Outcome]int{campaign.OutcomeSent: sent}},
			ClosedZones: []window.Count{{Zone: window.Manaus, Messages: held}}, Goes: at.Add(time.Hour),
		}
	}
	pending := func(goes time.Time, scheduled bool) campaign.BatchProgress {
		return campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchPending, Accepted: 10, Due: at, Scheduled: scheduled}, Goes: goes}
	}
	for name, test := range map[string]struct {
		batches []campaign.BatchProgress
		want    campaign.Status
		next    time.Duration
		waiting int
	}{
		"all are held":           {[]campaign.BatchProgress{held(0, 10)}, insight.StatusAwaitsHours, time.Hour, 10},
		"the rest is held":       {[]campaign.BatchProgress{held(7, 3)}, insight.StatusAwaitsHours, time.Hour, 3},
		"some are on their way":  {[]campaign.BatchProgress{held(0, 3)}, campaign.StatusSending, time.Hour, 3},
		"one batch is sent":      {[]campaign.BatchProgress{held(10, 0), held(0, 10)}, insight.StatusAwaitsHours, time.Hour, 10},
		"one batch can go":       {[]campaign.BatchProgress{held(0, 0), held(0, 10)}, campaign.StatusSending, time.Hour, 10},
		"not released":           {[]campaign.BatchProgress{pending(at.Add(2*time.Hour), false)}, insight.StatusAwaitsHours, 2 * time.Hour, 10},
		"not released, and open": {[]campaign.BatchProgress{pending(at, false)}, campaign.StatusSending, 0, 10},
		"scheduled":              {[]campaign.BatchProgress{pending(at.Add(2*time.Hour), true)}, campaign.StatusScheduled, 2 * time.Hour, 10},
		"scheduled after held":   {[]campaign.BatchProgress{pending(at.Add(2*time.Hour), true), held(0, 10)}, insight.StatusAwaitsHours, time.Hour, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := campaign.Campaign{BatchCount: len(test.batches), Batches: test.batches}
			r := insight.ResultsOf(c, at)
			if r.Status != test.want || !r.Next.Equal(at.Add(test.next)) || r.ToGo != test.waiting {
				t.Errorf("%s, %d wait until %v, want %s, %d", r.Status, r.ToGo, r.Next, test.want, test.waiting)
			}
			if got := c.Status(); got == insight.StatusAwaitsHours {
				t.Error("the API has the status of the dashboard")
			}
			if c.PausedAt = at; insight.ResultsOf(c, at).Status != campaign.StatusPaused {
				t.Errorf("paused, it is %s", insight.ResultsOf(c, at).Status)
			}
		})
	}
}

// Results of a campaign that awaits its hours are not current when these begin.
func TestResults_CurrentUntilHoursBegin(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	r := insight.Results{At: at, Status: insight.StatusAwaitsHours, Batches: 1, Next: at.Add(30 * time.Second)}
	of := campaign.Summary{Batches: 1}
	if !r.Current(of, at.Add(29*time.Second)) || r.Current(of, at.Add(30*time.Second)) {
		t.Error("the results are not current until the hours begin")
	}
	r.Next = at.Add(time.Hour)
	if r.Current(of, at.Add(time.Minute)) || !r.AwaitsHours(of, at.Add(59*time.Minute)) || r.AwaitsHours(of, at.Add(time.Hour)) {
		t.Error("the campaign does not await its hours until they begin")
	}
	if of.PausedAt = at; r.AwaitsHours(of, at.Add(time.Minute)) {
		t.Error("a campaign that was paused since awaits its hours")
	}
}

// The results count the messages of zones that never open, and have their first end. Those of a paused batch wait.
func TestResults_NeverGo(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	manaus, both := window.Set(0).With(window.Manaus), window.Set(0).With(window.Manaus).With(window.Belem)
	batch := func(since time.Time, zones window.Set, held ...window.Count) campaign.BatchProgress {
		b := campaign.Batch{Accepted: 100, State: campaign.BatchSending, Waits: campaign.Waits{Zones: both}, NeverOpen: campaign.NeverOpen{Zones: zones, Since: since}}
		return campaign.BatchProgress{Batch: b, ClosedZones: held}
	}
	paused := batch(noon.Add(-time.Hour), both, window.Count{Zone: window.Manaus, Messages: 32})
	paused.Waits.Paused = true
	c := campaign.Campaign{Batches: []campaign.BatchProgress{
		batch(noon.Add(time.Hour), manaus, window.Count{Zone: window.Manaus, Messages: 1}, window.Count{Zone: window.Belem, Messages: 2}),
		batch(noon, both, window.Count{Messages: 4}),                   // accepted without zones
		batch(noon.Add(-time.Hour), manaus, window.Count{Messages: 8}), // some of them can go
		batch(noon.Add(-time.Hour), 0, window.Count{Zone: window.Manaus, Messages: 16}),
		paused,
	}}
	if r := insight.ResultsOf(c, noon); r.NeverGo != 5 || !r.EndsAt.Equal(noon.Add(72*time.Hour)) {
		t.Errorf("%d messages never go, the first end at %v; want 5 at %v", r.NeverGo, r.EndsAt, noon.Add(72*time.Hour))
	}
}
