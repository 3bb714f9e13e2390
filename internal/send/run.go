package send

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

type run struct {
	batch       campaign.Batch
	route       outgoing.Route
	template    campaign.Template
	rules       reach.Decider
	rateLimit   outgoing.RateLimit // last seen rate limit of the agent
	closes      time.Time          // when the next send window closes, zero for never
	every       time.Duration      // time between two messages of the run, 0 for no limit
	frameRuns   []*frameRun
	slots       chan struct{} // one element for each message being sent
	started     time.Time
	answered    atomic.Int64 // messages sent to the provider, with any response
	throttled   atomic.Int64 // throttled responses
	stopped     bool         // stopped early because of throttling
	checked     time.Time    // last check for cancellation
	cancelledAt time.Time    // when the cancellation was found, zero if not cancelled
	trouble     sync.Once    // logs only the first transient failure
	clearing    sync.Once    // resets the batch's failing time once
	clearErr    error        // error of clearing
}

type frameRun struct {
	task outgoing.SendTask
	// current are the messages to send in this run. postponed are messages whose reservation is too
	// late for it; they are requeued. ended are messages that are not sent. closed are messages whose send
	// window is closed; no task sends them until it opens.
	current, postponed, ended, closed []*job
	grant                             outgoing.Grant // the reservation or ticket, if requested
	until                             time.Time      // estimated send time of the last of postponed
	err                               error          // why the task must be retried
}

// failure returns why the task must be retried after its run failed with err. A frame that
// waits for a reservation does not depend on the run, unless outcomes of it were to be recorded.
func (f *frameRun) failure(err error) error {
	if f.grant.Wait > 0 && len(f.ended) == 0 {
		return f.err
	}
	return errors.Join(err, f.err)
}

type job struct {
	index      int       // within the batch
	at         time.Time // send time, zero for at once
	message    campaign.Message
	change     campaign.Change // the outcome, if Outcome is not ""
	code       string          // why the last send failed
	retryAfter time.Duration   // the provider's Retry-After
	waits      bool            // for the opening of its send window
}

func (j *job) setOutcome(outcome campaign.Outcome, code string, at time.Time) {
	j.change = campaign.Change{Index: j.index, Outcome: outcome, Code: code, At: at, First: true}
}

// apply sets the outcome of a message that ends, and reports whether the message may be sent.
func (j *job) apply(d reach.Decision, now time.Time) bool {
	switch d.Do {
	case reach.End:
		j.setOutcome(d.Outcome, d.Code, now)
		j.change.List = d.List
	case reach.Wait:
		j.waits = true
	case reach.Send:
		return true
	}
	return false
}

// setOutcomes ends the run's messages without an outcome.
func (r *run) setOutcomes(outcome campaign.Outcome, code string, at time.Time) {
	for _, j := range r.jobs() {
		if !j.hasOutcome() {
			j.setOutcome(outcome, code, at)
		}
	}
}

// stop ends the unsent messages of a cancelled batch, postponed ones included. Messages that
// the provider may have accepted are not stopped.
func (r *run) stop() {
	if r.cancelledAt.IsZero() {
		return
	}
	for _, f := range r.frameRuns {
		f.current = slices.Concat(f.current, f.postponed, f.closed)
		f.postponed, f.closed = nil, nil
	}
	for _, j := range r.jobs() {
		if !j.hasOutcome() && j.code == "" {
			j.setOutcome(campaign.OutcomeStopped, campaign.CodeCancelled, r.cancelledAt)
		}
	}
}

func (j *job) hasOutcome() bool { return j.change.Outcome != "" }

// ttl returns the TTL of a message that may be sent now, at least campaign.MinTTL.
func (r *run) ttl(phone e164.Number, now time.Time) time.Duration {
	ttl := campaign.MessageTTL
	if !r.batch.NotAfter.IsZero() {
		ttl = min(ttl, r.batch.NotAfter.Sub(now))
	}
	return r.rules.Hours.TTL(phone, now, ttl)
}

func (r *run) jobs() []*job {
	var jobs []*job
	for _, f := range r.frameRuns {
		jobs = append(jobs, f.current...)
		jobs = append(jobs, f.ended...)
	}
	return jobs
}

// released returns when the last of the run's frames was released.
func (r *run) released() (last time.Time) {
	for _, f := range r.frameRuns {
		last = campaign.Later(last, f.task.Released)
	}
	return last
}

// setAside moves the messages with an outcome to ended, and those that wait to closed.
func (r *run) setAside() {
	for _, f := range r.frameRuns {
		for _, j := range f.current {
			switch {
			case j.hasOutcome():
				f.ended = append(f.ended, j)
			case j.waits:
				f.closed = append(f.closed, j)
			}
		}
		f.current = slices.DeleteFunc(f.current, func(j *job) bool { return j.hasOutcome() || j.waits })
	}
}

// closedZones returns the zones of the messages that wait for the opening of their send window.
func (r *run) closedZones() (zones window.Set) {
	for _, f := range r.frameRuns {
		for _, j := range f.closed {
			zones = zones.With(r.rules.Hours.Zone(j.message.Phone))
		}
	}
	return zones
}

func (r *run) changes() []campaign.Change {
	var changes []campaign.Change
	for _, j := range r.jobs() {
		if j.hasOutcome() {
			changes = append(changes, j.change)
		}
	}
	return changes
}

// tooFast reports whether too many of the run's messages were throttled. A single throttled
// message counts only if there were no other responses. Otherwise, runs with few messages
// would slow down an agent with 1% throttling.
func (r *run) tooFast() bool {
	throttled, answered := r.throttled.Load(), r.answered.Load()
	return throttled > 0 && (throttled == answered || throttled > 1+answered/responsesPerThrottled)
}

func (r *run) report(ctx context.Context) {
	outcomes, codes, left := map[campaign.Outcome]int{}, map[string]int{}, 0
	for _, j := range r.jobs() {
		if j.hasOutcome() {
			outcomes[j.change.Outcome]++
		} else {
			left++
		}
		for _, code := range []string{j.code, j.change.Code} {
			if code != "" {
				codes[code]++
			}
		}
	}
	for _, f := range r.frameRuns {
		left += len(f.postponed) + len(f.closed)
	}
	metrics.Add(ctx, metrics.MessagesSent, outcomes[campaign.OutcomeSent])
	metrics.Add(ctx, metrics.MessagesEnded,
		outcomes[campaign.OutcomeFailed]+outcomes[campaign.OutcomeExpired]+outcomes[campaign.OutcomeStopped])
	throttled := int(r.throttled.Load())
	metrics.Add(ctx, metrics.MessagesThrottled, throttled)
	metrics.Add(ctx, metrics.SendsFailed, r.notAccepted()-throttled)
	for code, n := range codes {
		metrics.Kind(ctx, code, n)
	}
	slog.InfoContext(ctx, "frames sent", "tenant", r.batch.Tenant, "campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID,
		"frames", len(r.frameRuns), "sent", outcomes[campaign.OutcomeSent], "failed", outcomes[campaign.OutcomeFailed],
		"expired", outcomes[campaign.OutcomeExpired], "stopped", outcomes[campaign.OutcomeStopped], "left", left, "codes", codes)
}
