package simulation_test

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/localstack/testsize"
)

// A campaign of 100 messages does not wait for one of 10,000, or of 100,000 in `make prove`,
// at any time.
func TestSharing_SmallCampaign(t *testing.T) {
	t.Parallel()
	big := testsize.Of(10_000, 100_000)
	all := time.Duration(big/50) * time.Second
	for name, tt := range map[string]struct {
		big   int
		after []time.Duration
	}{
		"each far from the others": {big, []time.Duration{300 * time.Millisecond, all / 4, all / 2, all - 10*time.Second}},
		"one soon after the other": {15_000, []time.Duration{5 * time.Second, 30 * time.Second, 33 * time.Second, 36 * time.Second, 250 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newAgentSimulation(50)
				steps := map[time.Duration]func(){0: func() { o.dispatch("big", tt.big) }}
				for i, wait := range tt.after {
					steps[wait] = func() { o.dispatch(fmt.Sprint("small", i), 100) }
				}
				began := o.simulate(t, steps)
				for i, wait := range tt.after {
					first := o.first(fmt.Sprint("small", i)).Sub(began.Add(wait))
					t.Logf("the first message of the campaign after %v came after %v", wait, first)
					if first < 0 || first > 10*time.Second {
						t.Errorf("the first message of the campaign after %v came after %v", wait, first)
					}
				}
				f := o.figures(t, began)
				f.keeps(t, 50)
				if want := tt.big + 100*len(tt.after); f.messages != want {
					t.Errorf("%d messages were sent, want %d", f.messages, want)
				}
				if f.requeues > 4 {
					t.Errorf("%.2f requeues a frame", f.requeues)
				}
			})
		})
	}
}

// A message does not wait for a backlog at a low rate either: only for the current frame
// and for leased reservations.
func TestSharing_LowRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 5, 20} {
		t.Run(strconv.Itoa(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newAgentSimulation(rate)
				steps, waits := map[time.Duration]func(){0: func() { o.dispatch("big", 400*rate) }}, map[string]time.Duration{}
				for i := range 6 {
					wait := time.Duration(100+37*i)*time.Second + 500*time.Millisecond
					waits[fmt.Sprint("single", i)] = wait
					steps[wait] = func() { o.dispatch(fmt.Sprint("single", i), 1) }
				}
				began := o.simulate(t, steps)
				most := campaign.FrameSize*time.Second/time.Duration(rate) + 6*time.Second
				for id, wait := range waits {
					if first := o.first(id).Sub(began.Add(wait)); first < 0 || first > most {
						t.Errorf("it came after %v, want %v at most", first, most)
					}
				}
				o.figures(t, began).keepsRate(t, rate)
			})
		})
	}
}

// Two large campaigns share the rate about equally, from the second one's first minute on.
func TestSharing_TwoLargeCampaigns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newAgentSimulation(50)
		began := o.simulate(t, map[time.Duration]func(){
			0:                 func() { o.dispatch("first", 12_000) },
			100 * time.Second: func() { o.dispatch("second", 12_000) },
		})
		for at := 110 * time.Second; at < 300*time.Second; at += 100 * time.Second {
			from, to := o.sentUntil(began.Add(at)), o.sentUntil(began.Add(at+100*time.Second))
			if n := to["second"] - from["second"]; n < 2000 || n > 3000 {
				t.Errorf("in the 100 s after %v the second one got %d reservations of 5000", at, n)
			}
		}
		f := o.figures(t, began)
		f.keeps(t, 50)
		if f.requeues > 8 {
			t.Errorf("%.2f requeues a frame", f.requeues)
		}
	})
}

// Many concurrent campaigns share the rate about equally, also those beyond maxLanes.
func TestSharing_ManyCampaigns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		campaigns, messages, lanes int
		firstWithin                time.Duration
	}{{10, testsize.Of(1000, 2000), 10, 30 * time.Second}, {80, 300, 60, 150 * time.Second}} {
		t.Run(strconv.Itoa(tt.campaigns), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newAgentSimulation(50)
				steps := map[time.Duration]func(){}
				for i := range tt.campaigns {
					steps[time.Duration(i)*100*time.Millisecond] = func() { o.dispatch(strconv.Itoa(i), tt.messages) }
				}
				began := o.simulate(t, steps)
				half := o.sentUntil(began.Add(time.Duration(tt.campaigns*tt.messages/100) * time.Second))
				for i := range tt.lanes {
					if first := o.first(strconv.Itoa(i)).Sub(began); first > tt.firstWithin {
						t.Errorf("the first message of campaign %d came after %v", i, first)
					}
					if n := half[strconv.Itoa(i)]; n < tt.messages/2-200 || n > tt.messages/2+300 {
						t.Errorf("at half time campaign %d had %d of its messages sent", i, n)
					}
				}
				f := o.figures(t, began)
				f.keeps(t, 50)
				if want := tt.campaigns * tt.messages; f.messages != want {
					t.Errorf("%d messages were sent, want %d", f.messages, want)
				}
			})
		})
	}
}

// The reservations of lost tasks, as after a crash, go to other tasks. Which tasks are lost
// is random, so the figures are the means of several simulations: 2, or 5 in `make prove`.
func TestSharing_LostFrames(t *testing.T) {
	t.Parallel()
	simulations := testsize.Of(2, 5)
	share, writes := 0.0, 0.0
	for range simulations {
		synctest.Test(t, func(t *testing.T) {
			o := newAgentSimulation(50)
			o.lose = func(task outgoing.SendTask) bool {
				return task.BatchID == "5" || o.random.IntN(200) == 0
			}
			f := o.figures(t, o.simulate(t, map[time.Duration]func(){0: func() { o.dispatch("c", 40_000) }}))
			f.keepsRate(t, 50)
			share += f.share / float64(simulations)
			writes += f.writes / float64(simulations)
		})
	}
	if share < 0.95 || writes > 2 {
		t.Errorf("%.3f of the rate was used, with %.2f writes a frame", share, writes)
	}
}

// A campaign that ends early, as after a cancellation, leaves its share to the others.
func TestSharing_CancelledCampaign(t *testing.T) {
	t.Parallel()
	seconds := testsize.Of(400, 600) // of the rate, for each of two campaigns
	for rate, least := range map[int]float64{5: 0.75, 50: 0.95} {
		t.Run(strconv.Itoa(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newAgentSimulation(rate)
				began := time.Now()
				o.lose = func(task outgoing.SendTask) bool {
					return task.CampaignID == "vanishes" && time.Since(began) > 200*time.Second
				}
				o.simulate(t, map[time.Duration]func(){0: func() {
					o.dispatch("stays", seconds*rate)
					o.dispatch("vanishes", seconds*rate)
				}})
				f := o.figures(t, began)
				f.keepsRate(t, rate)
				if f.share < least {
					t.Errorf("%.3f of the rate was used", f.share)
				}
			})
		})
	}
}

// After a pause in which all tasks were dropped, sweep requeues the batches.
func TestSharing_AfterPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newAgentSimulation(50)
		began := time.Now()
		o.lose = func(outgoing.SendTask) bool {
			return time.Since(began) > 100*time.Second && time.Since(began) < 1000*time.Second
		}
		var resumed time.Time
		o.simulate(t, map[time.Duration]func(){
			0: func() { o.dispatch("c", 30_000) },
			// By then, each task was received once and dropped.
			1001 * time.Second: func() {
				resumed = time.Now()
				o.dispatch("c", 20_000)
			},
		})
		after := o.sentUntil(resumed.Add(5 * time.Minute))["c"] - o.sentUntil(resumed)["c"]
		if least := 50 * 300 * 95 / 100; after < least {
			t.Errorf("in the 5 minutes after the pause %d messages were sent, want %d", after, least)
		}
		o.figures(t, began).keepsRate(t, 50)
	})
}
