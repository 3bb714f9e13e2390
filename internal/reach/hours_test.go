package reach_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
)

var (
	// noon is on a Monday in Brazil, when the usual window is open.
	noon  = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)
	night = noon.Add(12 * time.Hour)
)

func usual() reach.TenantHours {
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}
}

// unopened is a batch of which it was seen that the window of São Paulo never opens.
func unopened(since time.Time) campaign.Batch {
	return campaign.Batch{NeverOpen: campaign.NeverOpen{Zones: window.Set(0).With(window.SaoPaulo), Since: since}}
}

func until(b campaign.Batch, notAfter time.Time) campaign.Batch {
	b.NotAfter = notAfter
	return b
}

// tuesdays are the hours of a call for Tuesdays, of a tenant that has closed them.
func tuesdays() reach.Hours {
	p := usual()
	rule := reach.Usual()
	rule.Week[time.Tuesday] = window.Hours{}
	p.Rules[campaign.Promotion] = rule
	return p.HoursFor(campaign.Promotion, &window.Week{time.Tuesday: {From: 9 * 60, Until: 21 * 60}})
}

// fridays are hours of Fridays.
func fridays() reach.Hours {
	return usual().HoursFor(campaign.Promotion, &window.Week{time.Friday: {From: 9 * 60, Until: 21 * 60}})
}

func TestDecide_Order(t *testing.T) {
	t.Parallel()
	person := campaign.Message{Phone: 5511987654321}
	optedOut := func(e164.Number) reach.Why { return reach.Why{Code: campaign.CodeOptedOut} }
	limited := usual().HoursFor(campaign.Promotion, nil)
	for name, test := range map[string]struct {
		message campaign.Message
		rules   reach.Decider
		now     time.Time
		want    reach.Decision
	}{
		"open":   {person, reach.Decider{Hours: limited}, noon, reach.Decision{}},
		"closed": {person, reach.Decider{Hours: limited}, night, reach.Decision{Do: reach.Wait}},
		"erased before all else": {
			campaign.Message{},
			reach.Decider{Batch: campaign.Batch{CancelledAt: noon}, Withheld: optedOut},
			noon,
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeFailed, Code: campaign.CodeErased},
		},
		"cancelled before too late": {
			person,
			reach.Decider{Batch: campaign.Batch{CancelledAt: noon, NotAfter: noon}},
			night,
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeStopped, Code: campaign.CodeCancelled},
		},
		"too late before opted out": {
			person,
			reach.Decider{Batch: campaign.Batch{NotAfter: noon}, Hours: limited, Withheld: optedOut},
			night,
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeExpired, Code: campaign.CodeNotAfterPassed},
		},
		"too late for the provider's shortest ttl": {
			person,
			reach.Decider{Batch: campaign.Batch{NotAfter: noon.Add(campaign.MinTTL - time.Millisecond)}, Hours: limited},
			noon,
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeExpired, Code: campaign.CodeNotAfterPassed},
		},
		"just in time": {
			person, reach.Decider{Batch: campaign.Batch{NotAfter: noon.Add(campaign.MinTTL)}, Hours: limited}, noon, reach.Decision{},
		},
		"closed when it was too late": {
			person,
			reach.Decider{Batch: campaign.Batch{NotAfter: night}, Hours: limited},
			night.Add(12 * time.Hour),
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeExpired, Code: campaign.CodeWindowClosed},
		},
		"72 hours after it was seen that nothing opens": {
			person,
			reach.Decider{Batch: unopened(noon), Hours: tuesdays()},
			noon.Add(72 * time.Hour),
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeExpired, Code: campaign.CodeWindowClosed},
		},
		"a moment before": {
			person, reach.Decider{Batch: unopened(noon), Hours: tuesdays()}, noon.Add(72*time.Hour - 1), reach.Decision{Do: reach.Wait},
		},
		"the hours have changed in time": {
			person, reach.Decider{Batch: unopened(noon), Hours: limited}, noon.Add(84 * time.Hour), reach.Decision{Do: reach.Wait},
		},
		"it was seen of another zone": {
			campaign.Message{Phone: 5592987654321},
			reach.Decider{Batch: unopened(noon), Hours: tuesdays()},
			noon.Add(72 * time.Hour),
			reach.Decision{Do: reach.Wait},
		},
		"72 hours after it was seen that nothing opens before notAfter": {
			person,
			reach.Decider{Batch: until(unopened(night), night.Add(73*time.Hour)), Hours: fridays()},
			night.Add(72 * time.Hour),
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeExpired, Code: campaign.CodeWindowClosed},
		},
		"opted out before closed": {
			person,
			reach.Decider{Hours: limited, Withheld: optedOut},
			night,
			reach.Decision{Do: reach.End, Outcome: campaign.OutcomeFailed, Code: campaign.CodeOptedOut},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.rules.Decide(test.message, test.now); got != test.want {
				t.Errorf("decided %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestOf_Applies(t *testing.T) {
	t.Parallel()
	p := usual()
	p.Rules[campaign.Authentication] = reach.Usual() // no form can save it
	morning := window.Week{time.Monday: {From: 8 * 60, Until: 12 * 60}}
	for name, test := range map[string]struct {
		hours reach.Hours
		open  bool // at noon on Monday
	}{
		"promotion":                     {p.HoursFor(campaign.Promotion, nil), true},
		"no traffic type is promotion":  {p.HoursFor("", nil), true},
		"narrowed by the call":          {p.HoursFor(campaign.Promotion, &morning), false},
		"the call alone":                {reach.TenantHours{}.HoursFor(campaign.Transaction, &morning), false},
		"authentication has no rule":    {p.HoursFor(campaign.Authentication, nil), true},
		"a test message at any time":    {p.HoursOfBatch(campaign.Batch{Test: true, SendWindow: &morning}, campaign.Promotion), true},
		"a batch with the call's hours": {p.HoursOfBatch(campaign.Batch{SendWindow: &morning}, campaign.Promotion), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.hours.Open(window.SaoPaulo, noon); got != test.open {
				t.Errorf("open at noon: %v", got)
			}
		})
	}
	if p.HoursFor(campaign.Authentication, nil).Limited() || !p.HoursFor(campaign.Promotion, nil).Limited() {
		t.Error("authentication is limited, or promotion is not")
	}
}

// A message that the provider still has when the window closes is given up, if the rule says so.
func TestTTL_ExpireAtClose(t *testing.T) {
	t.Parallel()
	p := usual()
	if got := p.HoursFor(campaign.Promotion, nil).TTL(5511987654321, noon, 24*time.Hour); got != 24*time.Hour {
		t.Errorf("without the switch: %v", got)
	}
	rule := reach.Usual()
	rule.ExpireAtClose = true
	p.Rules[campaign.Promotion] = rule
	hours := p.HoursFor(campaign.Promotion, nil)
	for at, want := range map[time.Time]time.Duration{noon: 9 * time.Hour, noon.Add(9*time.Hour - time.Second): 10 * time.Second} {
		if got := hours.TTL(5511987654321, at, 24*time.Hour); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	if got := hours.TTL(5592987654321, noon, 24*time.Hour); got != 10*time.Hour {
		t.Errorf("in Manaus: %v, want 10 hours", got)
	}
}

func TestPlan_CannotGo(t *testing.T) {
	t.Parallel()
	hours := usual().HoursFor(campaign.Promotion, nil)
	messages := hours.InZones(map[window.Zone]int{0: 5, window.SaoPaulo: 10, window.RioBranco: 3})
	plan, cannotGo := hours.Plan(messages, night, night.Add(10*time.Hour)) // 10:00 in São Paulo, 8:00 in Rio Branco
	want := []reach.Group{
		{OpensAt: night.Add(9 * time.Hour), Zones: []window.Zone{window.SaoPaulo}, Messages: 15},
		{OpensAt: night.Add(11 * time.Hour), Zones: []window.Zone{window.RioBranco}, Messages: 3},
	}
	if diff := cmp.Diff(want, reach.Groups(plan)); diff != "" || cannotGo != 3 {
		t.Errorf("%d cannot go (-want +got):\n%s", cannotGo, diff)
	}
	for end, want := range map[time.Duration]int{11*time.Hour + campaign.MinTTL: 0, 11*time.Hour + campaign.MinTTL - 1: 3} {
		if _, got := hours.Plan(messages, night, night.Add(end)); got != want {
			t.Errorf("until %v after the night: %d cannot go, want %d", end, got, want)
		}
	}
}

// Only the zones of a batch close for it.
func TestNextClosing(t *testing.T) {
	t.Parallel()
	hours := usual().HoursFor(campaign.Promotion, nil)
	in := func(zones ...window.Zone) (b campaign.Batch) {
		for _, z := range zones {
			b.Zones = append(b.Zones, window.Count{Zone: z, Messages: 1})
		}
		return b
	}
	evening := noon.Add(8*time.Hour + 30*time.Minute) // 20:30 in São Paulo
	for name, test := range map[string]struct {
		batch campaign.Batch
		now   time.Time
		want  time.Duration // until the closing
	}{
		"São Paulo":                      {in(window.SaoPaulo), evening, 30 * time.Minute},
		"Manaus":                         {in(window.Manaus), evening, 90 * time.Minute},
		"both":                           {in(window.SaoPaulo, window.Manaus), evening, 30 * time.Minute},
		"both, when the first is closed": {in(window.SaoPaulo, window.Manaus), evening.Add(time.Hour), 30 * time.Minute},
		"unknown zones":                  {in(), evening, 30 * time.Minute},
	} {
		if got := hours.NextClosing(test.batch, test.now); !got.Equal(test.now.Add(test.want)) {
			t.Errorf("%s: closes at %v, want in %v", name, got, test.want)
		}
	}
}

// What waits is checked as soon as it is too late to send it.
func TestNextCheck_TooLate(t *testing.T) {
	t.Parallel()
	b := campaign.Batch{NotAfter: night.Add(time.Hour)}
	next := usual().HoursFor(campaign.Promotion, nil).NextCheck(b, window.Set(0).With(window.SaoPaulo), night)
	if !b.PastLastSend(next) || b.PastLastSend(next.Add(-time.Millisecond)) {
		t.Errorf("checked at %v, want the first instant that is too late for %v", next, b.NotAfter)
	}
}

// A batch whose window never opens is checked when its messages end. One with a distant opening is not: it waits on.
func TestPostpone_NeverOpens(t *testing.T) {
	t.Parallel()
	zone := window.Set(0).With(window.SaoPaulo)
	far := usual()
	for monday := noon; monday.Before(noon.AddDate(0, 1, 0)); monday = monday.AddDate(0, 0, 1) { // closed for a month
		far.Holidays = append(far.Holidays, monday.Format(time.DateOnly))
	}
	for name, test := range map[string]struct {
		hours reach.Hours
		batch campaign.Batch
		never window.Set
		check time.Duration // from noon on
	}{
		"never":                      {tuesdays(), campaign.Batch{}, zone, 72 * time.Hour},
		"never, seen before":         {tuesdays(), unopened(noon.Add(-time.Hour)), zone, 71 * time.Hour},
		"never, and an early end":    {tuesdays(), campaign.Batch{NotAfter: noon.Add(time.Hour)}, zone, time.Hour - campaign.MinTTL},
		"not before notAfter":        {fridays(), campaign.Batch{NotAfter: noon.Add(90 * time.Hour)}, zone, 72 * time.Hour},
		"before notAfter":            {fridays(), campaign.Batch{NotAfter: noon.Add(94 * time.Hour)}, 0, 93 * time.Hour},
		"a month later":              {far.HoursFor(campaign.Promotion, nil), campaign.Batch{}, 0, reach.MaxWait},
		"seen, and the hours change": {fridays(), unopened(noon.Add(-time.Hour)), 0, 93 * time.Hour},
	} {
		b, check := test.hours.Postpone(test.batch, zone, noon)
		late := check.Sub(noon.Add(test.check))
		if b.NeverOpen.Zones != test.never || b.Waits.Zones != zone || late < 0 || late > time.Minute {
			t.Errorf("%s: %+v, checked %v after noon; want %v and %v", name, b.NeverOpen, check.Sub(noon), test.never, test.check)
		}
	}
	if b, check := tuesdays().Postpone(unopened(noon), 0, noon.Add(time.Hour)); !check.IsZero() || b.NeverOpen.Since != noon {
		t.Errorf("while its messages end, a batch is %+v, checked at %v", b.NeverOpen, check)
	}
}

// The frames of a zone whose window never opens are queued after 72 hours, so that they end.
func TestFramesOf_NeverOpens(t *testing.T) {
	t.Parallel()
	b := unopened(noon)
	b.Accepted, b.Waits.Zones = 200, b.NeverOpen.Zones.With(window.Manaus)
	b.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 100}, {Zone: window.Manaus, Messages: 100}}
	unsent := func(int) bool { return true }
	if f := tuesdays().FramesOf(b, unsent, noon.Add(71*time.Hour)); len(f.Open) > 0 || f.Closed != b.Waits.Zones {
		t.Errorf("too early, the frames are %+v", f)
	}
	want := reach.Frames{Open: []int{0}, Opened: []int{0}, Closed: window.Set(0).With(window.Manaus)}
	if diff := cmp.Diff(want, tuesdays().FramesOf(b, unsent, noon.Add(72*time.Hour))); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}

// Before it was seen that messages never go, a notAfter later than 72 hours is not shown as their end.
func TestWaitingOf_NeverGoesNotSeen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ notAfter, want time.Time }{
		"near": {night.Add(71 * time.Hour), night.Add(71 * time.Hour)},
		"far":  {night.Add(73 * time.Hour), time.Time{}},
	} {
		b := campaign.BatchProgress{ClosedZones: []window.Count{{Zone: window.SaoPaulo, Messages: 1}}}
		b.SendWindow, b.NotAfter = &window.Week{}, test.notAfter
		got, err := reach.WaitingOf(t.Context(), &store{policy: usual()}, campaign.Campaign{Batches: []campaign.BatchProgress{b}}, night)
		if err != nil || len(got) != 1 || !got[0].Never || !got[0].EndsAt.Equal(test.want) {
			t.Errorf("%s: waits %+v, %v; want an end at %v", name, got, err, test.want)
		}
	}
}

// What never goes is apart from what waits, with its first end.
func TestWaitingOf_NeverGoes(t *testing.T) {
	t.Parallel()
	tuesday := window.Week{time.Tuesday: {From: 9 * 60, Until: 21 * 60}}
	batch := func(since time.Time, messages int) campaign.BatchProgress {
		b := campaign.BatchProgress{Batch: unopened(since), ClosedZones: []window.Count{{Zone: window.SaoPaulo, Messages: messages}}}
		b.SendWindow = &tuesday
		return b
	}
	p := usual()
	rule := reach.Usual()
	rule.Week[time.Tuesday] = window.Hours{}
	p.Rules[campaign.Promotion] = rule
	c := campaign.Campaign{Batches: []campaign.BatchProgress{batch(night, 20), batch(noon, 3)}}
	changed := campaign.BatchProgress{ClosedZones: []window.Count{{Zone: window.SaoPaulo, Messages: 1}}} // waits for Wednesday
	late := changed
	late.NotAfter = night.Add(time.Hour)
	c.Batches = append(c.Batches, changed, late)
	got, err := reach.WaitingOf(t.Context(), &store{policy: p}, c, night)
	if err != nil {
		t.Fatal(err)
	}
	wait := func(n int, opens, ends time.Time) reach.Waiting {
		return reach.Waiting{
			Reason: reach.ReasonSendWindow, Opening: reach.Opening{Count: window.Count{Zone: window.SaoPaulo, Messages: n}, OpensAt: opens},
			Never: !ends.IsZero(), EndsAt: ends,
		}
	}
	wednesday := night.Add(33 * time.Hour)
	want := []reach.Waiting{wait(23, time.Time{}, noon.Add(72*time.Hour)), wait(1, wednesday, time.Time{}), wait(1, wednesday, late.NotAfter)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if n, ends := reach.NeverGoing(got); n != 24 || !ends.Equal(late.NotAfter) {
		t.Errorf("%d messages never go, the first end at %v", n, ends)
	}
	open := []reach.Group{{OpensAt: wednesday, Zones: []window.Zone{window.SaoPaulo}, Messages: 1}}
	if diff := cmp.Diff(open, reach.GroupsOf(got, reach.ReasonSendWindow)); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// A policy is judged before it is saved: scheduled batches from their time on, and those that are being sent by what waits.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	tuesday, friday := window.Week{time.Tuesday: {From: 9 * 60, Until: 21 * 60}}, window.Week{time.Friday: {From: 9 * 60, Until: 21 * 60}}
	batch := func(asked *window.Week, edit func(*campaign.BatchProgress)) campaign.BatchProgress {
		b := campaign.BatchProgress{Batch: campaign.Batch{Accepted: 100, State: campaign.BatchSending, SendWindow: asked, Due: noon}}
		b.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 60}, {Zone: window.Amazonas, Messages: 40}}
		edit(&b)
		return b
	}
	none := func(*campaign.BatchProgress) {}
	p := usual()
	rule := reach.Usual()
	rule.Week[time.Tuesday] = window.Hours{}
	p.Rules[campaign.Promotion] = rule
	brief := usual() // area code 97 is never within these hours in both of its zones
	brief.Rules[campaign.Promotion] = reach.Rule{Week: window.Week{time.Monday: {From: 9 * 60, Until: 10 * 60}}}
	for name, test := range map[string]struct {
		policy reach.TenantHours
		batch  campaign.BatchProgress
		want   int
	}{
		"no rule":               {reach.TenantHours{}, batch(&tuesday, none), 0},
		"a day that stays open": {p, batch(&friday, none), 0},
		"a day that is closed":  {p, batch(&tuesday, none), 100},
		"half of it sent":       {p, batch(&tuesday, func(b *campaign.BatchProgress) { b.Head.Counts = map[campaign.Outcome]int{campaign.OutcomeSent: 50} }), 50},
		"cancelled":             {p, batch(&tuesday, func(b *campaign.BatchProgress) { b.CancelledAt = noon }), 0},
		"test messages":         {p, batch(&tuesday, func(b *campaign.BatchProgress) { b.Test = true }), 0},
		"not before notAfter":   {p, batch(&friday, func(b *campaign.BatchProgress) { b.NotAfter = noon.Add(24 * time.Hour) }), 100},
		"scheduled after the hour": {p, batch(&friday, func(b *campaign.BatchProgress) {
			b.State, b.Due, b.NotAfter = campaign.BatchPending, noon.Add(120*time.Hour), noon.Add(200*time.Hour)
		}), 100},
		"a zone of a scheduled one": {brief, batch(nil, func(b *campaign.BatchProgress) { b.State = campaign.BatchPending }), 40},
		"a zone of one being sent": {brief, batch(nil, func(b *campaign.BatchProgress) {
			b.ClosedZones = []window.Count{{Zone: window.SaoPaulo, Messages: 5}, {Zone: window.Amazonas, Messages: 7}}
		}), 7},
		"one without zones":          {p, batch(&tuesday, func(b *campaign.BatchProgress) { b.Zones = nil }), 100},
		"one without zones, a brief": {brief, batch(nil, func(b *campaign.BatchProgress) { b.Zones = nil }), 0},
	} {
		got, err := reach.NeverSent(t.Context(), &store{}, test.policy, campaign.Campaign{Batches: []campaign.BatchProgress{test.batch}}, noon)
		if err != nil || got != test.want {
			t.Errorf("%s: %d messages are never sent (%v), want %d", name, got, err, test.want)
		}
	}
}

// store has a policy and counts reads.
type store struct {
	policy reach.TenantHours
	reads  int
}

func (s *store) TenantHours(context.Context, string) (reach.TenantHours, error) {
	s.reads++
	return s.policy, nil
}

func (s *store) TemplateVersion(context.Context, string, int) (t campaign.Template, err error) {
	return t, nil
}

func TestWaitingOf(t *testing.T) {
	t.Parallel()
	s := &store{policy: usual()}
	batch := func(edit func(*campaign.BatchProgress)) campaign.BatchProgress {
		b := campaign.BatchProgress{Batch: campaign.Batch{Accepted: 100, State: campaign.BatchSending}}
		edit(&b)
		return b
	}
	c := campaign.Campaign{Batches: []campaign.BatchProgress{batch(func(*campaign.BatchProgress) {})}}
	if got, err := reach.WaitingOf(t.Context(), s, c, night); err != nil || len(got) > 0 || s.reads > 0 {
		t.Errorf("nothing waits: %+v, %v after %d reads", got, err, s.reads)
	}
	c.Batches = append(c.Batches,
		batch(func(b *campaign.BatchProgress) { b.ClosedZones = []window.Count{{Zone: window.SaoPaulo, Messages: 40}} }),
		batch(func(b *campaign.BatchProgress) {
			b.ClosedZones = []window.Count{{Zone: window.SaoPaulo, Messages: 2}, {Zone: window.Manaus, Messages: 1}}
		}),
		batch(func(b *campaign.BatchProgress) { b.ClosedZones = []window.Count{{Messages: 7}} }),
		batch(func(b *campaign.BatchProgress) { b.Waits.Paused = true }),
	)
	got, err := reach.WaitingOf(t.Context(), s, c, night)
	if err != nil {
		t.Fatal(err)
	}
	wait := func(reason reach.Reason, z window.Zone, n int, at time.Time) reach.Waiting {
		return reach.Waiting{Reason: reason, Opening: reach.Opening{Count: window.Count{Zone: z, Messages: n}, OpensAt: at}}
	}
	want := []reach.Waiting{
		wait(reach.ReasonPaused, 0, 100, time.Time{}), wait(reach.ReasonSendWindow, 0, 7, time.Time{}),
		wait(reach.ReasonSendWindow, window.SaoPaulo, 42, night.Add(9*time.Hour)), wait(reach.ReasonSendWindow, window.Manaus, 1, night.Add(10*time.Hour)),
	}
	if diff := cmp.Diff(want, got); diff != "" || s.reads != 1 {
		t.Errorf("after %d reads (-want +got):\n%s", s.reads, diff)
	}
}
