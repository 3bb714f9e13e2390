package simulation_test

import (
	"context"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/localstack/testsize"
)

// pause is a pause of the campaign c of a simulation. The zero pause is none.
type pause struct {
	from, to  time.Time
	functions int // that send, each with a cache of its own
}

func (p pause) paused() []string {
	if now := time.Now(); now.Before(p.from) || !now.Before(p.to) {
		return nil
	}
	return []string{"c"}
}

// ended returns the pause for five minutes after its end.
func (p pause) ended() []string {
	if now := time.Now(); p.to.IsZero() || now.Before(p.to) || now.After(p.to.Add(5*time.Minute)) {
		return nil
	}
	return []string{campaign.PauseSubject(campaign.ID{Tenant: "t", CampaignID: "c"})}
}

// until returns a time to pass, at most a minute or until the end of the pause while sweep may have to wake what waits.
func (p pause) until(d time.Duration) time.Duration {
	switch left := time.Until(p.to.Add(5 * time.Minute)); {
	case p.to.IsZero() || left <= 0:
		return d
	case len(p.paused()) > 0:
		return min(d, (time.Until(p.to) + time.Minute).Truncate(time.Minute))
	}
	return min(d, time.Minute)
}

// latency is that of a write: none without a pause.
func (o *windowSimulation) latency() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pause.to.IsZero() {
		return 0
	}
	return time.Duration(o.random.Int64N(int64(50 * time.Millisecond)))
}

// Waits lists the batches that wait.
func (o *windowSimulation) Waits(context.Context, string) iter.Seq2[campaign.BatchRef, error] {
	o.mu.Lock()
	defer o.mu.Unlock()
	var waits []campaign.BatchRef
	for ref, b := range o.batches {
		if b.Waits.Any() {
			waits = append(waits, ref)
		}
	}
	return func(yield func(campaign.BatchRef, error) bool) {
		for _, ref := range waits {
			if !yield(ref, nil) {
				return
			}
		}
	}
}

// Frames that find a pause while others wait for a slow agent go on soon after its end, at whichever moment it begins.
func TestPause_SlowAgent(t *testing.T) {
	t.Parallel()
	for i := range testsize.Of(12, 100) {
		synctest.Test(t, func(t *testing.T) {
			const rate, messages, length = 2, 300, 25 * time.Minute
			o := newWindowSimulation(t, rate, reach.TenantHours{})
			began := time.Now()
			at := began.Add(time.Second + time.Duration(i)*730*time.Millisecond)
			o.pause = pause{from: at, to: at.Add(length), functions: 4}
			o.random = rand.New(rand.NewPCG(7, uint64(i)))
			o.acceptZones("c", []window.Count{{Zone: window.SaoPaulo, Messages: messages}}, func(*campaign.Batch) {})
			o.run(3 * time.Hour)
			last := o.sends[len(o.sends)-1].at
			if soon := began.Add(length + messages/rate*time.Second + 3*time.Minute); o.left() > 0 || len(o.sends) != messages || last.After(soon) {
				t.Errorf("a pause after %v: %d sent, %d left, the last %v after the time", at.Sub(began), len(o.sends), o.left(), last.Sub(soon))
			}
		})
	}
}
