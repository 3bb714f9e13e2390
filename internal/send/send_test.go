package send_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

func TestHandle_Frame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(103)
		g.latency = 100 * time.Millisecond
		began := time.Now()
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0), g.frame(1), g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if took := time.Since(began); took != 200*time.Millisecond || g.most != 64 {
			t.Errorf("it took %v with %d messages at once, want two rounds of 64", took, g.most)
		}
		if len(g.sends) != 103 || len(g.outcomes) != 103 || len(g.queued) > 0 {
			t.Fatalf("%d sent, %d recorded, %d queued", len(g.sends), len(g.outcomes), len(g.queued))
		}
		for _, s := range g.sends {
			key, index, ok := campaign.ParseMessageID(s.id)
			want := sent{id: g.batch.Key.MessageID(index), phone: fmt.Sprint("+", 5511900000000+index), text: fmt.Sprint("Olá ", index), ttl: campaign.MessageTTL, at: s.at}
			if !ok || key != g.batch.Key || s != want {
				t.Errorf("sent %+v, want %+v", s, want)
			}
		}
	})
}

func TestHandle_RecordedMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(103)
		for i := range 98 {
			g.outcomes[i] = campaign.Change{Index: i, Outcome: campaign.OutcomeSent}
		}
		only := g.frame(0)
		only.Only = []int{3, 99}
		for range 2 {
			if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{only}); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
		}
		if len(g.sends) != 1 || g.sends[0].phone != "+5511900000099" {
			t.Errorf("sent %+v", g.sends)
		}
	})
}

func TestHandle_Rate(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 50, 1000} {
		t.Run(strconv.Itoa(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(300)
				g.route.Agent.Rate = rate
				began := time.Now()
				g.run(t.Context(), g.frame(0), g.frame(1), g.frame(2))
				if len(g.sends) != 300 || len(g.outcomes) != 300 {
					t.Fatalf("%d sent, %d recorded", len(g.sends), len(g.outcomes))
				}
				gap := time.Second / time.Duration(rate)
				for i := 1; i < len(g.sends); i++ {
					if got := g.sends[i].at.Sub(g.sends[i-1].at); got < gap {
						t.Fatalf("message %d followed after %v, want %v at least", i, got, gap)
					}
				}
				if took, most := g.sends[299].at.Sub(began), 300*gap+time.Second; took > most {
					t.Errorf("it took %v, want at most %v", took, most)
				}
			})
		})
	}
}

// A hundred functions that reserve concurrently all succeed within seconds. No task fails,
// because a failed task would be invisible for minutes.
func TestHandle_ConcurrentFunctionsShareRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const functions = 100
		g := newSenderFixture(functions * campaign.FrameSize)
		g.route.Agent.Rate = 5000
		g.rateLimitTakes = 10 * time.Millisecond
		began := time.Now()
		tasks := make([]outgoing.SendTask, functions)
		for i := range tasks {
			tasks[i] = g.frame(i)
		}
		g.run(t.Context(), tasks...)
		ids := map[string]bool{}
		for _, s := range g.sends {
			ids[s.id] = true
		}
		if want := functions * campaign.FrameSize; len(ids) != want || len(g.sends) != want {
			t.Errorf("%d messages were sent in %d sends, want %d", len(ids), len(g.sends), want)
		}
		if took := g.sends[len(g.sends)-1].at.Sub(began); took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestHandle_RateLimitConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate = 100
		g.swapLost = true
		task := g.frame(0)
		task.Only, task.Attempt = []int{3, 5}, 2
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{task}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) > 0 || len(g.queued) != 1 {
			t.Fatalf("%d sent without a reservation, queued %+v", len(g.sends), g.queued)
		}
		if diff := cmp.Diff(task, g.queued[0].task); diff != "" {
			t.Errorf("the task came back as another one (-want +got):\n%s", diff)
		}
		if delay := g.queued[0].delay; delay < time.Second || delay > 10*time.Second {
			t.Errorf("it comes back in %v", delay)
		}
	})
}

func TestHandle_RequeueFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate = 100
		g.swapLost, g.queueErr = true, errBroken
		errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)})
		if !errors.Is(errors.Join(errs...), errBroken) {
			t.Errorf("it ended with %v: the frame would be lost", errs)
		}
	})
}

// A batch for Manaus keeps its tickets when the window of São Paulo closes.
func TestHandle_ClosingOfAnotherZone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2000, 3, 13, 20, 50, 0, 0, localtime.SaoPaulo()))) // Monday, 19:50 in Manaus
		g := newSenderFixture(100)
		var w payload.Writer
		for i := range 100 {
			w.Add(5592988880000+uint64(i), nil, [][]byte{nil})
		}
		g.payload, g.batch.Offsets = w.Finish()
		g.batch.Zones = []window.Count{{Zone: window.Manaus, Messages: 100}}
		g.route.Hours = reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}
		g.waitBehindOther(time.Hour)
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.queued) != 1 || g.queued[0].delay != 15*time.Minute {
			t.Errorf("queued %+v, want the frame in 15 minutes", g.queued)
		}
	})
}

// waitBehindOther makes the frames wait for their agent, which sends one message a second.
func (g *senderFixture) waitBehindOther(wait time.Duration) {
	g.route.Agent.Rate = 1
	other := outgoing.Claim{ID: campaign.ID{Tenant: "t", CampaignID: "other"}, Messages: 1}
	_, g.rateLimit = outgoing.RateLimit{Every: time.Second}.Claim(time.Now(), other, 1)
	g.rateLimit.Next = time.Now().Add(wait)
}

// Frames behind the agent's backlog get tickets and are requeued with them. Sweep does
// not check their batch until then.
func TestHandle_LongWaitPostponesCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(300)
		g.waitBehindOther(time.Hour)
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0), g.frame(1)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) > 0 || len(g.queued) != 2 || g.queued[0].delay != 15*time.Minute {
			t.Fatalf("%d sent, queued %+v", len(g.sends), g.queued)
		}
		if want := time.Now().Add(time.Hour + 200*time.Second + sweepAfter); !g.batch.NextCheck.Equal(want) {
			t.Errorf("sweep looks at the batch at %v, want %v", g.batch.NextCheck, want)
		}
		// An early task keeps its ticket and changes nothing.
		waiting, rateLimit, check := g.queued, g.rateLimit, g.batch.NextCheck
		g.queued = nil
		time.Sleep(15 * time.Minute)
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{waiting[1].task, waiting[0].task}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if g.rateLimit != rateLimit || !g.batch.NextCheck.Equal(check) {
			t.Errorf("the rate limit is %+v, the check at %v", g.rateLimit, g.batch.NextCheck)
		}
		if len(g.queued) != 2 || cmp.Diff(g.queued[0].task, waiting[1].task)+cmp.Diff(g.queued[1].task, waiting[0].task) != "" {
			t.Errorf("queued %+v, want the same tasks", g.queued)
		}
		g.run(t.Context(), g.queued[0].task, g.queued[1].task)
		if len(g.sends) != 200 || len(g.outcomes) != 200 {
			t.Errorf("%d sent, %d recorded", len(g.sends), len(g.outcomes))
		}
	})
}

// Messages whose reservation is too late for a run are requeued before the other messages
// are sent, because that can take as long.
func TestHandle_LateReservation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate = 5
		began := time.Now()
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.queued) != 1 || len(g.sends) == 0 {
			t.Fatalf("%d sent, queued %+v", len(g.sends), g.queued)
		}
		if back, last := g.queued[0].from, g.sends[len(g.sends)-1].at; !back.Before(last) {
			t.Errorf("the rest comes back after %v, the last message before it was sent after %v", back.Sub(began), last.Sub(began))
		}
	})
}

// If a part of a frame cannot be requeued, nothing of it is sent, and the task is retried.
func TestHandle_LateReservationRequeueFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate, g.queueErr = 1, errBroken
		errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)})
		if !errors.Is(errors.Join(errs...), errBroken) || len(g.sends) > 0 {
			t.Errorf("it ended with %v after %d sends", errs, len(g.sends))
		}
	})
}

func TestHandle_ExpiredReservation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(3)
		g.route.Agent.Rate = 1
		g.rateLimit = outgoing.RateLimit{Every: time.Second, Next: time.Now().Add(time.Minute)}
		late, punctual := g.frame(0), g.frame(0)
		late.Only, late.Reservation = []int{0}, outgoing.Reservation{Start: time.Now().Add(-11 * time.Second), Every: time.Second}
		punctual.Only, punctual.Reservation = []int{1, 2}, outgoing.Reservation{Start: time.Now().Add(-9 * time.Second), Every: time.Second}
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{late, punctual}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 2 || len(g.queued) != 1 || g.queued[0].delay != 58*time.Second {
			t.Errorf("%d sent, queued %+v", len(g.sends), g.queued)
		}
	})
}

// A provider limit of 40 messages per second is learned for an agent without a configured
// rate, although 20 functions start at full speed.
func TestHandle_ThrottledAgentAdapts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(2000)
		g.latency = 50 * time.Millisecond
		window := time.Time{}
		inWindow := 0
		g.provider = func(outgoing.Message, int) error {
			if now := time.Now(); now.Sub(window) >= time.Second {
				window, inWindow = now, 0
			}
			if inWindow++; inWindow > 40 {
				return &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}
			}
			return nil
		}
		began := time.Now()
		var frames []outgoing.SendTask
		for f := range 20 {
			frames = append(frames, g.frame(f))
		}
		g.run(t.Context(), frames...)
		accepted, took := len(g.accepted()), time.Since(began)
		if accepted != 2000 {
			t.Fatalf("%d of 2000 sent after %v", accepted, took)
		}
		afterwards := 0
		for _, sent := range g.sends {
			if sent.err != nil && sent.at.Sub(began) > 200*time.Millisecond {
				afterwards++
			}
		}
		if afterwards > 2000 {
			t.Errorf("after its first answers the provider had to throttle %d messages more", afterwards)
		}
		if took > 4*time.Minute {
			t.Errorf("it took %v, five times what the provider needs", took)
		}
	})
}

func TestHandle_ThrottlingStopsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.latency = time.Millisecond
		g.provider = func(_ outgoing.Message, calls int) error {
			if calls < 5 {
				return nil
			}
			return &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled", RetryAfter: 42 * time.Second}
		}
		s := g.sender()
		s.Concurrency = 1
		if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 15 || len(g.outcomes) != 5 {
			t.Errorf("%d sent, %d recorded; want an end after 10 throttled ones", len(g.sends), len(g.outcomes))
		}
		if len(g.queued) != 1 || len(g.queued[0].task.Only) != 95 || g.queued[0].task.Attempt != 1 || g.queued[0].delay != 42*time.Second {
			t.Errorf("queued %+v", g.queued)
		}
		if g.rateLimit.Every != 2*time.Millisecond || !g.rateLimit.SlowedAt.Equal(time.Now()) {
			t.Errorf("the rate limit is %+v, want half of 15 messages in 15ms", g.rateLimit)
		}
	})
}

// A single throttled message of an agent with little traffic must not slow down its next
// campaign.
func TestHandle_SingleThrottledMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(1)
		g.latency = 640 * time.Millisecond
		g.provider = func(_ outgoing.Message, calls int) error {
			if calls == 0 {
				return &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}
			}
			return nil
		}
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if want := 20 * time.Millisecond; g.rateLimit.Every != want {
			t.Errorf("one message every %v, want %v: half of 64 in 640ms", g.rateLimit.Every, want)
		}
	})
}

func TestHandle_SuccessIncreasesRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate = 1000
		g.rateLimit = outgoing.RateLimit{Every: 10 * time.Millisecond, Next: time.Now()}
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if want := 9708 * time.Microsecond; g.rateLimit.Every != want {
			t.Errorf("one message every %v, want %v", g.rateLimit.Every, want)
		}
	})
}

func TestHandle_DeadlineRequeuesRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.latency = 1500 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s := g.sender()
		s.Concurrency = 4
		if errs := s.Handle(ctx, []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 24 || len(g.outcomes) != 24 {
			t.Errorf("%d sent, %d recorded; want 8 seconds of them", len(g.sends), len(g.outcomes))
		}
		if len(g.queued) != 1 || len(g.queued[0].task.Only) != 76 || g.queued[0].task.Attempt != 0 || g.queued[0].delay != 0 {
			t.Errorf("queued %+v, want 76 messages at once, as if never tried", g.queued)
		}
	})
}

func TestHandle_ProviderTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(1)
		g.latency = time.Hour
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.outcomes) > 0 || len(g.queued) != 1 || g.queued[0].task.Attempt != 1 {
			t.Errorf("recorded %v, queued %+v", g.outcomes, g.queued)
		}
	})
}

func TestHandle_ProviderFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err     error
		attempt int
		want    campaign.Change // recorded outcome, if any
		again   int             // the queued attempt, 0 for none
	}{
		"permanent":     {&outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}, 3, campaign.Change{Outcome: "failed", Code: "unreachable"}, 0},
		"transient":     {&outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}, 0, campaign.Change{}, 1},
		"throttled":     {&outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}, 4, campaign.Change{}, 5},
		"wrapped":       {fmt.Errorf("send: %w", &outgoing.Failure{Kind: outgoing.Permanent, Code: "x"}), 0, campaign.Change{Outcome: "failed", Code: "x"}, 0},
		"anything else": {errBroken, 6, campaign.Change{}, 7},
		"left to sweep": {errBroken, 7, campaign.Change{}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(1)
				g.provider = func(outgoing.Message, int) error { return tt.err }
				task := g.frame(0)
				task.Attempt = tt.attempt
				if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{task}); errors.Join(errs...) != nil {
					t.Fatal(errs)
				}
				if tt.want.Outcome != "" {
					tt.want.At, tt.want.First = time.Now(), true
				}
				if diff := cmp.Diff(tt.want, g.outcomes[0]); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
				again := 0
				for _, q := range g.queued {
					again = q.task.Attempt
				}
				if again != tt.again || len(g.queued) > 1 {
					t.Errorf("queued %+v, want attempt %d", g.queued, tt.again)
				}
			})
		})
	}
}

func TestHandle_DependencyFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(g *senderFixture)
		want    []error // by frame
		sent    int
		queued  int
	}{
		"the ledger":   {func(g *senderFixture) { g.recordErr = errBroken }, []error{errBroken, errBroken}, 103, 0},
		"the queue":    {func(g *senderFixture) { g.queueErr = errBroken }, []error{nil, errBroken}, 103, 0},
		"the opt-outs": {func(g *senderFixture) { g.optOutErr = errBroken }, []error{errBroken, errBroken}, 0, 0},
		"one payload":  {func(g *senderFixture) { g.blobErr = errBroken }, []error{nil, errBroken}, 100, 0},
		"damage":       {func(g *senderFixture) { g.payload[g.batch.Offsets[1]]++ }, []error{nil, errAny}, 100, 0},
		"no access":    {func(g *senderFixture) { g.blobErr = fmt.Errorf("get object: %w", errBroken) }, []error{nil, errBroken}, 100, 0},
		"nothing":      {func(*senderFixture) {}, []error{nil, nil}, 103, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(103)
				g.provider = func(d outgoing.Message, _ int) error {
					if d.Phone == "+5511900000100" {
						return errBroken
					}
					return nil
				}
				tt.prepare(g)
				errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0), g.frame(1)})
				for i, want := range tt.want {
					if got := errs[i]; !errors.Is(got, want) && (got == nil || !errors.Is(want, errAny)) {
						t.Errorf("frame %d: error %v, want %v", i, got, want)
					}
				}
				if len(g.sends) != tt.sent || len(g.queued) != tt.queued {
					t.Errorf("%d sent, want %d; queued %+v, want %d", len(g.sends), tt.sent, g.queued, tt.queued)
				}
			})
		})
	}
}

// errAny matches any error.
var errAny = errors.New("any error")

func TestHandle_Pause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(200)
		s := g.sender()
		handle := func(frame int) {
			t.Helper()
			if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(frame)}); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
		}
		handle(0)
		g.route.Pause = "tenant"
		time.Sleep(3 * time.Second)
		handle(1)
		handle(1)
		if len(g.sends) != 100 || g.routes != 2 {
			t.Errorf("%d messages sent, the route read %d times", len(g.sends), g.routes)
		}
		if want := time.Now().Add(time.Hour); !g.batch.NextCheck.Equal(want) || !g.batch.Waits.Paused {
			t.Errorf("sweep looks at the batch at %v, want %v; it waits: %v", g.batch.NextCheck, want, g.batch.Waits.Paused)
		}
	})
}

// A process reads the pause of all sending once in 3 seconds, for all of its tenants.
func TestHandle_AllPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(300)
		s := g.sender()
		handle := func(frame int) {
			t.Helper()
			g.batch.AgentID = fmt.Sprintf("agent-%d", frame) // with a route of its own
			if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(frame)}); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
		}
		handle(0)
		handle(1)
		if len(g.sends) != 200 || g.routes != 2 || g.pauses != 1 {
			t.Errorf("%d messages sent, routes were read %d times and the pause %d times", len(g.sends), g.routes, g.pauses)
		}
		g.allPaused = true
		time.Sleep(3 * time.Second)
		handle(2)
		if len(g.sends) != 200 || g.pauses != 2 || !g.batch.Waits.Paused {
			t.Errorf("%d messages sent during the pause, which was read %d times; the batch waits: %v", len(g.sends), g.pauses, g.batch.Waits.Paused)
		}
	})
}

// A frame that finds a pause marks the batch, also if other frames, which wait for a slow agent, change its row at the same
// time: sweep queues only what is marked.
func TestHandle_PauseBehindSlowFrames(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		postponing func(b *campaign.Batch)
		errs       int
		paused     bool
		stopped    int
	}{
		"another frame is faster, three times": {func() func(b *campaign.Batch) {
			n := 0
			return func(b *campaign.Batch) {
				if n++; n <= 3 {
					b.NextCheck = b.NextCheck.Add(time.Minute)
				}
			}
		}(), 0, true, 0},
		"another frame marks it":   {func(b *campaign.Batch) { b.NextCheck, b.Waits.Paused = b.NextCheck.Add(time.Minute), true }, 0, true, 0},
		"it is sent meanwhile":     {func(b *campaign.Batch) { b.NextCheck, b.State = b.NextCheck.Add(time.Minute), campaign.BatchSent }, 0, false, 0},
		"it is cancelled":          {func(b *campaign.Batch) { b.CancelledAt = time.Now() }, 0, false, 100},
		"others are always faster": {func(b *campaign.Batch) { b.NextCheck = b.NextCheck.Add(time.Minute) }, 1, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(100)
				g.route.Pause, g.postponing = "tenant", test.postponing
				errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)})
				if failed := errors.Join(errs...) != nil; failed != (test.errs > 0) || g.batch.Waits.Paused != test.paused {
					t.Errorf("errors %v, want %d; paused: %t, want %t", errs, test.errs, g.batch.Waits.Paused, test.paused)
				}
				if len(g.sends) > 0 || len(g.outcomes) != test.stopped {
					t.Errorf("%d sent and %d ended, want %d", len(g.sends), len(g.outcomes), test.stopped)
				}
			})
		})
	}
}

// A frame that goes on behind a slow agent, as it has not seen the pause, keeps the mark of those that have. It checks the
// batch when its time ends, because nothing else ends their messages.
func TestHandle_SlowFrameKeepsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(100)
		g.route.Agent.Rate = 1
		g.rateLimit = outgoing.RateLimit{Every: time.Second, Next: time.Now().Add(30 * time.Minute)}
		g.batch.Waits.Paused, g.batch.NotAfter = true, time.Now().Add(35*time.Minute)
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if end := g.batch.LastSend().Add(time.Millisecond); !g.batch.Waits.Paused || g.postponed == 0 || !g.batch.NextCheck.Equal(end) {
			t.Errorf("paused: %t; checked at %v after %d writes, want %v", g.batch.Waits.Paused, g.batch.NextCheck, g.postponed, end)
		}
	})
}

// Opt-outs are looked up as of the release of a frame, also when it is received again.
func TestHandle_OptedOutSinceRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(200)
		released := time.Now()
		first, second := g.frame(0), g.frame(1)
		first.Released, second.Released = released.Add(-time.Minute), released
		g.provider = func(outgoing.Message, int) error {
			return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
		}
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{first, second}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.optedOutSince) != 1 || !g.optedOutSince[0].Equal(released) {
			t.Errorf("opt-outs were looked up since %v, want %v", g.optedOutSince, released)
		}
		if len(g.queued) != 2 || g.queued[0].task.Released.IsZero() || g.queued[1].task.Released.IsZero() {
			t.Errorf("the tasks for the next attempt: %+v", g.queued)
		}
	})
}

// A message that is not sent takes no share of the agent's rate.
func TestHandle_OptedOutBeforeTheRate(t *testing.T) {
	t.Parallel()
	for name, optedOut := range map[string]int{"all": 100, "half, while the frame waits": 50} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(100)
				g.optedOut = map[string]bool{}
				for i := range optedOut {
					g.optedOut[fmt.Sprintf("+55119%08d", i)] = true
				}
				other := outgoing.Claim{ID: campaign.ID{Tenant: "t", CampaignID: "other"}, Messages: 100}
				_, g.rateLimit = outgoing.RateLimit{Every: time.Second}.Claim(time.Now(), other, 1)
				before := g.rateLimit
				g.route.Agent.Rate = 1
				if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
					t.Fatal(errs)
				}
				if len(g.sends) > 0 || len(g.outcomes) != optedOut {
					t.Errorf("%d messages sent, %d outcomes, want %d", len(g.sends), len(g.outcomes), optedOut)
				}
				if waits := len(g.queued); waits > 0 && len(g.queued[0].task.Only) != 100-optedOut || (waits == 0) != (optedOut == 100) {
					t.Errorf("queued %+v", g.queued)
				}
				if unchanged := g.rateLimit == before; unchanged != (optedOut == 100) {
					t.Errorf("the rate limit is %+v, it was %+v", g.rateLimit, before)
				}
			})
		})
	}
}

func TestHandle_BatchStates(t *testing.T) {
	t.Parallel()
	for _, state := range []campaign.BatchState{campaign.BatchPending, campaign.BatchSent, campaign.BatchCancelled} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(1)
				g.batch.State = state
				if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
					t.Fatal(errs)
				}
				if len(g.sends)+len(g.queued)+len(g.outcomes) > 0 {
					t.Errorf("sent %v, queued %v, recorded %v", g.sends, g.queued, g.outcomes)
				}
			})
		})
	}
}

func TestHandle_NotAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(2)
		g.batch.NotAfter = time.Now().Add(campaign.MinTTL + 1500*time.Millisecond)
		g.latency = time.Second
		s := g.sender()
		s.Concurrency = 1
		g.route.Agent.Rate = 1
		g.rateLimit = outgoing.RateLimit{Every: 2 * time.Second, Next: time.Now()}
		if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 1 || g.sends[0].ttl != campaign.MinTTL+1500*time.Millisecond {
			t.Errorf("sent %+v, want one with the rest of its time", g.sends)
		}
		if got := g.outcomes[1]; got.Outcome != campaign.OutcomeExpired || got.Code != "not_after_passed" {
			t.Errorf("the second message ended as %+v", got)
		}
	})
}

func TestHandle_OptedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(3)
		g.optedOut = map[string]bool{"+5511900000001": true}
		g.run(t.Context(), g.frame(0))
		for _, sent := range g.sends {
			if sent.phone == "+5511900000001" {
				t.Error("a message was sent to a number that opted out")
			}
		}
		want := campaign.Change{Index: 1, Outcome: campaign.OutcomeFailed, Code: "opted_out", At: time.Now(), First: true}
		if diff := cmp.Diff(want, g.outcomes[1]); diff != "" || len(g.sends) != 2 {
			t.Errorf("%d sent; the one that was not (-want +got):\n%s", len(g.sends), diff)
		}
	})
}

func TestHandle_CancelledBatch(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]string{"before": "", "before, and paused": "tenant"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newSenderFixture(150)
				g.batch.CancelledAt, g.route.Pause = time.Now(), pause
				g.run(t.Context(), g.frame(0), g.frame(1))
				if len(g.sends) > 0 || len(g.outcomes) != 150 {
					t.Fatalf("%d sent, %d ended", len(g.sends), len(g.outcomes))
				}
				want := campaign.Change{Index: 149, Outcome: campaign.OutcomeStopped, Code: "cancelled", At: time.Now(), First: true}
				if diff := cmp.Diff(want, g.outcomes[149]); diff != "" {
					t.Errorf("a stopped message (-want +got):\n%s", diff)
				}
			})
		})
	}
	t.Run("meanwhile", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			g := newSenderFixture(100)
			g.latency = time.Second
			g.provider = func(_ outgoing.Message, calls int) error {
				if calls == 10 {
					g.batch.CancelledAt = time.Now()
				}
				return nil
			}
			s := g.sender()
			s.Concurrency = 4
			if errs := s.Handle(t.Context(), []outgoing.SendTask{g.frame(0)}); errors.Join(errs...) != nil {
				t.Fatal(errs)
			}
			stopped := 0
			for _, c := range g.outcomes {
				if c.Outcome == campaign.OutcomeStopped {
					stopped++
				}
			}
			if len(g.sends) > 24 || stopped != 100-len(g.sends) || len(g.queued) > 0 {
				t.Errorf("%d sent, %d stopped, queued %+v", len(g.sends), stopped, g.queued)
			}
		})
	})
}
