package send_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

func throttled() error { return &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"} }

// atMost is a provider that accepts n messages per second.
func atMost(rate int) func(outgoing.Message, int) error {
	window, inWindow := time.Time{}, 0
	return func(outgoing.Message, int) error {
		if now := time.Now(); now.Sub(window) >= time.Second {
			window, inWindow = now, 0
		}
		if inWindow++; inWindow > rate {
			return throttled()
		}
		return nil
	}
}

// throttling is a provider that throttles the selected calls.
func throttling(call func(n int) bool) func(outgoing.Message, int) error {
	return func(_ outgoing.Message, n int) error {
		if call(n) {
			return throttled()
		}
		return nil
	}
}

// A few throttled messages decrease an agent's rate a little for a while. They cause no
// gap: no message waits for revoked reservations.
func TestThrottle_NoGap(t *testing.T) {
	t.Parallel()
	hundredth := func(n int) bool { return n%100 == 99 }
	tests := map[string]struct {
		rate     int
		provider func(outgoing.Message, int) error
		took     time.Duration // all 2000 messages
		silence  time.Duration // between two messages
	}{
		"one of 10 a second":          {10, throttling(func(n int) bool { return n == 10 }), 205 * time.Second, 5 * time.Second},
		"each hundredth of 10":        {10, throttling(hundredth), 210 * time.Second, 5 * time.Second},
		"each hundredth of 100":       {100, throttling(hundredth), 25 * time.Second, 5 * time.Second},
		"each hundredth of unlimited": {0, throttling(hundredth), 10 * time.Second, 5 * time.Second},
		"20 at once of 10":            {10, throttling(func(n int) bool { return n >= 10 && n < 30 }), 9 * time.Minute, 5 * time.Second},
		"50 at once of 100":           {100, throttling(func(n int) bool { return n >= 100 && n < 150 }), 90 * time.Second, 5 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(2000)
				g.latency = 50 * time.Millisecond
				g.route.Agent.Rate, g.provider = tt.rate, tt.provider
				began := time.Now()
				g.run(t.Context(), g.frames()...)
				if took := time.Since(began); len(g.outcomes) != 2000 || took > tt.took {
					t.Errorf("%d messages took %v, want at most %v", len(g.outcomes), took, tt.took)
				}
				if silence := g.longestSilence(); silence > tt.silence {
					t.Errorf("nothing was sent for %v, want at most %v", silence, tt.silence)
				}
			})
		})
	}
}

// The effect of 1% throttled messages must not depend on the size of the runs.
func TestThrottle_SteadyOnePercent(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 2, 5, 10, 20, 40, 100} {
		t.Run(fmt.Sprint(size, " a run"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(campaign.FrameSize)
				g.route.Agent.Rate = 100
				random := rand.New(rand.NewPCG(1, uint64(size)))
				g.provider = throttling(func(int) bool { return random.IntN(100) == 0 })
				s, slow := g.sender(), 0
				for range 300 {
					task := g.frame(0)
					for i := range size {
						task.Only = append(task.Only, i)
					}
					if errs := s.Handle(t.Context(), []outgoing.SendTask{task}); errors.Join(errs...) != nil {
						t.Fatal(errs)
					}
					if g.rateLimit.Every > 20*time.Millisecond {
						slow++
					}
					clear(g.outcomes)
					time.Sleep(time.Until(g.rateLimit.Next))
				}
				if slow > 0 {
					t.Errorf("after %d of 300 runs the rate was less than half", slow)
				}
			})
		})
	}
}

func TestThrottle_LowerLimit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rate, limit int
		found       time.Duration
	}{
		"a fifth less": {100, 80, 5 * time.Second},
		"half":         {100, 50, 5 * time.Second},
		"of few":       {10, 5, 5 * time.Second},
		"of many":      {1000, 300, 10 * time.Second},
		"a tenth":      {100, 10, 20 * time.Second},
		"of unlimited": {0, 50, 20 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(2000)
				g.latency = 50 * time.Millisecond
				g.route.Agent.Rate, g.provider = tt.rate, atMost(tt.limit)
				began := time.Now()
				found := time.Duration(0)
				g.swapped = func(p outgoing.RateLimit) {
					if found == 0 && p.Every >= time.Second/time.Duration(tt.limit) {
						found = time.Since(began)
					}
				}
				g.run(t.Context(), g.frames()...)
				if found == 0 || found > tt.found {
					t.Errorf("the limit was found after %v", found)
				}
				took, need := time.Since(began), 2000*time.Second/time.Duration(tt.limit)
				if accepted := len(g.accepted()); accepted != 2000 || took > 5*need {
					t.Errorf("%d of 2000 sent in %v, where the provider needs %v", accepted, took, need)
				}
			})
		})
	}
}

// A few throttled messages among a thousand do not stop the run.
func TestThrottle_FewDoNotStopRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(2000)
		g.provider = throttling(func(n int) bool { return n%50 == 49 })
		if errs := g.sender().Handle(t.Context(), g.frames()); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 2000 || len(g.outcomes) != 1960 {
			t.Errorf("%d sent, %d recorded", len(g.sends), len(g.outcomes))
		}
	})
}

// The rate is halved at most once in three seconds. A run that is stopped earlier releases
// its reservations.
func TestThrottle_StoppedRunReleasesReservations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(200)
		g.route.Agent.Rate, g.provider = 20, func(outgoing.Message, int) error { return throttled() }
		g.rateLimit = outgoing.RateLimit{Every: 50 * time.Millisecond, SlowedAt: time.Now()}
		if errs := g.sender().Handle(t.Context(), g.frames()[:1]); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if stopped := len(g.sends) < campaign.FrameSize; !stopped || g.rateLimit.Every != 50*time.Millisecond || g.rateLimit.Next.After(time.Now()) {
			t.Errorf("after %d messages in %v the next may go in %v", len(g.sends), g.rateLimit.Every, time.Until(g.rateLimit.Next))
		}
	})
}

func TestThrottle_LoweredRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(2000)
		g.route.Agent.Rate = 100
		began := time.Now()
		g.provider = func(outgoing.Message, int) error {
			if time.Since(began) > 3*time.Second {
				g.route.Agent.Rate = 50
			}
			return nil
		}
		g.run(t.Context(), g.frames()...)
		if took := time.Since(began); len(g.outcomes) != 2000 || took > 40*time.Second {
			t.Errorf("%d messages took %v", len(g.outcomes), took)
		}
		if silence := g.longestSilence(); silence > time.Second {
			t.Errorf("nothing was sent for %v", silence)
		}
	})
}

// Retries cannot find a deleted payload.
func TestHandle_DeletedPayload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(105)
		g.blobErr = fmt.Errorf("get object: %w", campaign.ErrNotFound) // of the second frame
		g.route.Agent.Rate, g.rateLimit = 1, outgoing.RateLimit{Every: 2 * time.Second}
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(1)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) > 0 || len(g.queued) > 0 || len(g.outcomes) != 5 {
			t.Errorf("%d sent, queued %+v, %d recorded", len(g.sends), g.queued, len(g.outcomes))
		}
		for i := 100; i < 105; i++ {
			if got := g.outcomes[i]; got.Outcome != campaign.OutcomeFailed || got.Code != "payload_missing" {
				t.Errorf("message %d ended as %+v", i, got)
			}
		}
	})
}

// frames returns the tasks of all frames.
func (g *senderFixture) frames() []outgoing.SendTask {
	var tasks []outgoing.SendTask
	for f := range g.batch.Frames() {
		tasks = append(tasks, g.frame(f))
	}
	return tasks
}

func (g *senderFixture) longestSilence() time.Duration {
	longest := time.Duration(0)
	for i := range slices.Backward(g.sends[1:]) {
		longest = max(longest, g.sends[i+1].at.Sub(g.sends[i].at))
	}
	return longest
}
