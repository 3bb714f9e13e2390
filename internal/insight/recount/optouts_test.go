package recount_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/insight/recount"
)

// logOnly has the days and the log of opt-outs of a tenant without campaigns.
type logOnly struct {
	recount.Store

	days   map[string]campaign.Day
	log    map[string]reaction.LoggedOptOut
	sets   int
	midway func() // runs while the log is read
}

func newLogOnly() *logOnly {
	return &logOnly{days: map[string]campaign.Day{}, log: map[string]reaction.LoggedOptOut{}, midway: func() {}}
}

func (s *logOnly) ListCampaigns(context.Context, string, string, int32) ([]campaign.Listed, error) {
	return nil, nil
}

func (s *logOnly) Standings(context.Context, string, []string) (map[string]campaign.Summary, error) {
	return nil, nil
}

func (s *logOnly) Days(_ context.Context, _, from, to string) (days []campaign.Day, err error) {
	for date, d := range s.days {
		if from <= date && date <= to {
			days = append(days, d)
		}
	}
	return days, nil
}

func (s *logOnly) SetDay(_ context.Context, _ string, d campaign.Day) (bool, error) {
	if d.Version != s.days[d.Date].Version {
		return false, nil
	}
	s.sets++
	d.Version++
	s.days[d.Date] = d
	return true, nil
}

func (s *logOnly) LoggedOptOuts(_ context.Context, _ string, arrived time.Time) iter.Seq2[reaction.LoggedOptOut, error] {
	return func(yield func(reaction.LoggedOptOut, error) bool) {
		defer s.midway()
		for id, o := range s.log {
			if id >= reaction.LoggedFrom(arrived) && !yield(o, nil) {
				return
			}
		}
	}
}

// out logs an opt-out.
func (s *logOnly) out(phone string, at, arrived time.Time) {
	o := reaction.NewLoggedOptOut(reaction.EventTask{At: at, ArrivedAt: arrived, Blob: phone + at.String()}, phone)
	s.log[o.ID] = o
}

// add counts opt-outs of a day, as often as the SDK repeats the call.
func (s *logOnly) add(date string, optedOut, logged int) {
	d := s.days[date]
	d.Date, d.Version = date, d.Version+1
	d.OptedOut, d.Logged = d.OptedOut+optedOut, d.Logged+logged
	s.days[date] = d
}

// recount recounts, twice: a repeated recount changes nothing.
func (s *logOnly) recount(t *testing.T) map[string]int {
	t.Helper()
	for range 2 {
		if err := (&recount.Recounter{Store: s, Now: func() time.Time { return now }}).Tenant(t.Context(), "tenant"); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int{}
	for date, d := range s.days {
		counts[date] = d.OptedOut
	}
	return counts
}

const ana, bruno = "+5511900000001", "+5511900000002"

// The opt-outs of a day are the numbers of the log, whatever was added to the day.
func TestTenant_OptOutsOfTheLog(t *testing.T) {
	t.Parallel()
	const today = "2037-02-28" // for two more hours
	noon := now.Add(-10 * time.Hour)
	for name, test := range map[string]struct {
		happens func(s *logOnly)
		want    map[string]int
	}{
		"counted once": {func(s *logOnly) { s.out(ana, noon, noon); s.add(today, 1, 1) }, map[string]int{today: 1}},
		"counted twice by a repeated call": {func(s *logOnly) {
			s.out(ana, noon, noon)
			s.add(today, 1, 1)
			s.add(today, 1, 1)
		}, map[string]int{today: 1}},
		"not counted, as the process ended": {func(s *logOnly) { s.out(ana, noon, noon) }, map[string]int{today: 1}},
		"one task twice":                    {func(s *logOnly) { s.out(ana, noon, noon); s.out(ana, noon, noon) }, map[string]int{today: 1}},
		"one event sent twice by the provider": {func(s *logOnly) {
			s.out(ana, noon, noon)
			s.out(ana, noon, noon.Add(time.Hour))
		}, map[string]int{today: 1}},
		"opted out, in and out on one day": {func(s *logOnly) {
			s.out(ana, noon, noon)
			s.out(ana, noon.Add(time.Hour), noon.Add(time.Hour))
			s.out(bruno, noon, noon)
			s.add(today, 3, 3)
		}, map[string]int{today: 2}},
		"on two days": {func(s *logOnly) {
			s.out(ana, noon, noon)
			s.out(ana, noon.Add(-day), noon.Add(-day))
		}, map[string]int{today: 1, "2037-02-27": 1}},
		"arrived days later": {func(s *logOnly) {
			s.out(ana, noon.Add(-7*day), noon)
			s.add("2037-02-21", 2, 2)
		}, map[string]int{"2037-02-21": 1}},
		"a day that the log is about to lose": {func(s *logOnly) {
			s.out(ana, noon.Add(-8*day), noon.Add(-8*day))
			s.add("2037-02-20", 2, 2)
		}, map[string]int{"2037-02-20": 2}},
		"counted before the log": {func(s *logOnly) { s.add(today, 5, 0) }, map[string]int{today: 5}},
		"counted by two versions of the service": {func(s *logOnly) {
			s.add(today, 5, 0)
			s.out(ana, noon, noon)
			s.add(today, 1, 1)
		}, map[string]int{today: 6}},
		"no opt-out": {func(*logOnly) {}, map[string]int{}},
		"of an erased number": {func(s *logOnly) {
			s.out("", noon, noon)
			s.out(bruno, noon, noon)
			s.add(today, 2, 2)
		}, map[string]int{today: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLogOnly()
			test.happens(s)
			if diff := cmp.Diff(test.want, s.recount(t)); diff != "" {
				t.Errorf("opt-outs by day (-want +got):\n%s", diff)
			}
			if s.sets > len(test.want) {
				t.Errorf("%d writes of %d days", s.sets, len(test.want))
			}
		})
	}
}

// An opt-out that is logged and counted while a recount reads the log is counted once.
func TestTenant_OptOutMeanwhile(t *testing.T) {
	t.Parallel()
	s, date := newLogOnly(), localtime.Day(now)
	s.out(ana, now, now)
	s.add(date, 2, 2)
	meanwhile := 0
	s.midway = func() {
		if meanwhile++; meanwhile == 1 {
			s.out(bruno, now, now)
			s.add(date, 1, 1)
		}
	}
	if got := s.recount(t); got[date] != 2 {
		t.Errorf("%d opt-outs, want 2", got[date])
	}
}

// Many opt-outs of many days are counted exactly.
func TestTenant_ManyOptOuts(t *testing.T) {
	t.Parallel()
	s := newLogOnly()
	for i := range 3000 {
		at := now.Add(-time.Duration(i%3) * day)
		s.out(fmt.Sprint("+", 5511900000000+i%600), at, at.Add(time.Duration(i)*time.Millisecond))
	}
	want := map[string]int{"2037-02-28": 200, "2037-02-27": 200, "2037-02-26": 200}
	if diff := cmp.Diff(want, s.recount(t)); diff != "" {
		t.Errorf("opt-outs by day (-want +got):\n%s", diff)
	}
}

// The same in the tables: a call of AddDay that the SDK repeats counts an opt-out twice until the recount.
func TestTenant_RepeatedAdd(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	event := reaction.EventTask{At: now, ArrivedAt: now, Blob: "events/agent/1"}
	b.campaign("today", 0, 0, campaign.OutcomeSent)
	b.must(b.store.LogOptOut(t.Context(), b.tenant, reaction.NewLoggedOptOut(event, ana)))
	for range 2 {
		b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-28", campaign.DayCounts{OptedOut: 1}))
	}
	b.must(b.store.AddDay(t.Context(), b.tenant, "2037-02-22", campaign.DayCounts{Sent: 4, OptedOut: 1}))
	for range 2 {
		b.must(b.recounter.Tenant(t.Context(), b.tenant))
		want := map[string]campaign.DayCounts{"2037-02-28": {Sent: 1, OptedOut: 1}, "2037-02-22": {Sent: 4}}
		if diff := cmp.Diff(want, b.days()); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
	}
}
