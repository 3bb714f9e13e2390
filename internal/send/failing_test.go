package send_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
)

func unavailable() error { return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"} }

// failing is a provider that accepts nothing, optionally until a time.
func failing(err func() error, until time.Time) func(outgoing.Message, int) error {
	return func(outgoing.Message, int) error {
		if until.IsZero() || time.Now().Before(until) {
			return err()
		}
		return nil
	}
}

// sweepFor requeues the frames like sweep, until nothing is left to send or the time is
// over.
func (g *senderFixture) sweepFor(t *testing.T, d time.Duration) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end) && len(g.outcomes) < g.batch.Accepted; {
		next := time.Now().Add(sweepAfter + time.Minute)
		g.run(t.Context(), g.frames()...)
		time.Sleep(time.Until(next))
	}
}

// ends counts outcomes and codes.
func (g *senderFixture) ends() map[string]int {
	ends := map[string]int{}
	for _, c := range g.outcomes {
		ends[string(c.Outcome)+" "+c.Code]++
	}
	return ends
}

func (g *senderFixture) checkEnds(t *testing.T, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, g.ends()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// unreadableLists are lists of which a segment is missing or damaged.
type unreadableLists struct{}

func (unreadableLists) KeptBy(context.Context, string, campaign.Traffic, time.Time) (func(phone e164.Number) int, error) {
	return nil, campaign.ErrDamaged
}

// While a list cannot be read, nothing is sent and no message ends. The task is retried.
func TestSender_UnreadableList(t *testing.T) {
	t.Parallel()
	g := newSenderFixture(3)
	sender := g.sender()
	sender.Reach.Lists = unreadableLists{}
	errs := sender.Handle(t.Context(), []outgoing.SendTask{g.frame(0)})
	if len(errs) != 1 || !errors.Is(errs[0], campaign.ErrDamaged) || len(g.accepted()) > 0 || len(g.outcomes) > 0 {
		t.Errorf("%d messages were sent and %d ended, %v", len(g.accepted()), len(g.outcomes), errs)
	}
}

func TestSender_ProviderFailsFor72Hours(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]func() error{"unavailable": unavailable, "throttled": throttled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(3)
				g.provider = failing(err, time.Time{})
				g.sweepFor(t, 71*time.Hour)
				g.checkEnds(t, map[string]int{})
				g.sweepFor(t, 2*time.Hour)
				g.checkEnds(t, map[string]int{"failed not_sent_in_time": 3})
				if most := 73 * int(time.Hour/(5*time.Minute)); g.counted > most {
					t.Errorf("%d writes, want %d at most", g.counted, most)
				}
			})
		})
	}
}

func TestSender_ProviderRecoversBefore72Hours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(3)
		g.provider = failing(unavailable, time.Now().Add(71*time.Hour+30*time.Minute))
		g.sweepFor(t, 80*time.Hour)
		g.checkEnds(t, map[string]int{"sent ": 3})
	})
}

// A permanent response to one message shows that the provider works.
func TestSender_SuccessResetsFailing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"sent ":              nil,
		"failed unreachable": &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(3)
				success := time.Now().Add(71 * time.Hour)
				g.provider = func(d outgoing.Message, _ int) error {
					if d.Phone == "+5511900000001" && time.Now().After(success) {
						return answer
					}
					return unavailable()
				}
				g.sweepFor(t, 142*time.Hour)
				g.checkEnds(t, map[string]int{name: 1})
				g.sweepFor(t, 2*time.Hour)
				g.checkEnds(t, map[string]int{name: 1, "failed not_sent_in_time": 2})
			})
		})
	}
}

func TestSender_FailingWithNotAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(3)
		g.batch.NotAfter = time.Now().Add(100 * time.Hour)
		g.provider = failing(unavailable, time.Time{})
		g.sweepFor(t, 99*time.Hour)
		g.checkEnds(t, map[string]int{})
		g.sweepFor(t, 2*time.Hour)
		g.checkEnds(t, map[string]int{"expired not_after_passed": 3})
		if g.counted > 0 {
			t.Errorf("its failures were counted %d times", g.counted)
		}
	})
}

// A pause does not end a batch: after it, the provider is tried once more, even if the 72
// hours were over when it started.
func TestSender_PausedWhileFailing(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"at the first failure": 0, "after 72 hours": campaign.MaxFailingTime} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(103)
				g.batch.FailingTime = campaign.FailingTime{For: before, At: time.Now()}
				g.route.Pause = "agent"
				g.sweepFor(t, 96*time.Hour)
				g.checkEnds(t, map[string]int{})
				g.route.Pause = ""
				if before < campaign.MaxFailingTime {
					g.provider = failing(unavailable, time.Now().Add(time.Hour))
				}
				g.sweepFor(t, 2*time.Hour)
				g.checkEnds(t, map[string]int{"sent ": 103})
			})
		})
	}
}

// A batch among the last of 20 million messages at 50 per second waits 4.6 days for its
// reservations, retries included.
func TestSender_FailingWhileRateLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(103)
		g.route.Agent.Rate = 50
		others := func() {
			g.rateLimit = outgoing.RateLimit{Every: 20 * time.Millisecond, Next: time.Now().Add(20_000_000 / 50 * time.Second)}
		}
		attempts := 0
		g.provider = func(outgoing.Message, int) error {
			if attempts++; attempts > 300 {
				return nil
			}
			others()
			return unavailable()
		}
		others()
		g.run(t.Context(), g.frames()...)
		g.checkEnds(t, map[string]int{"sent ": 103})
		if f := g.batch.FailingTime; f != (campaign.FailingTime{}) {
			t.Errorf("it is failing: %+v", f)
		}
	})
}

// A run does not end its messages after the success of a concurrent run.
func TestSender_SuccessInConcurrentRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(200)
		g.batch.FailingTime = campaign.FailingTime{For: campaign.MaxFailingTime, At: time.Now().Add(-10 * time.Minute)}
		g.latency = time.Second
		g.provider = func(d outgoing.Message, _ int) error {
			if d.Phone < "+5511900000100" {
				return nil
			}
			return unavailable()
		}
		slow := g.sender()
		slow.Concurrency = 1
		var runs sync.WaitGroup
		for frame, s := range []*send.Sender{slow, g.sender()} {
			runs.Go(func() {
				if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(frame)}); errors.Join(errs...) != nil {
					t.Error(errs)
				}
			})
		}
		runs.Wait()
		g.checkEnds(t, map[string]int{"sent ": 100})
		if len(g.queued) != 1 {
			t.Errorf("queued %+v", g.queued)
		}
	})
}

// If a run crashes between the provider's response and its record, the repeated run counts
// the success.
func TestSender_CrashAfterSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(3)
		g.batch.FailingTime = campaign.FailingTime{For: campaign.MaxFailingTime - time.Hour, At: time.Now().Add(-10 * time.Minute)}
		g.recordErr = errBroken
		if errs := g.sender().Handle(t.Context(), g.frames()); !errors.Is(errors.Join(errs...), errBroken) {
			t.Fatal(errs)
		}
		if g.batch.FailingTime != (campaign.FailingTime{}) {
			t.Errorf("it is failing: %+v", g.batch.FailingTime)
		}
	})
}
