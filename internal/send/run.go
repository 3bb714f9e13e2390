package send

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
)

// run is the sending of some parts of one batch.
type run struct {
	batch       campaign.Batch
	channel     campaign.Channel
	template    campaign.Template
	rateLimit   campaign.RateLimit // of the agent, as last seen
	every       time.Duration      // between two messages of the run, 0 for no limit
	parts       []*part
	slots       chan struct{} // one is taken by each message being sent
	started     time.Time
	answered    atomic.Int64 // messages that the provider was asked to take
	throttled   atomic.Int64 // those of them that it throttled
	stopped     bool         // before its end, because of those
	checked     time.Time    // when the batch was last found not to be cancelled
	cancelledAt time.Time    // when it was found cancelled, zero for not
	trouble     sync.Once    // logs the first transient failure, which stands for all
	clearing    sync.Once    // forgets the failed attempts of the batch
	clearErr    error        // of that
}

// part is one task: what it asks for and what came of it.
type part struct {
	task campaign.SendTask
	// now are the messages to be sent in this run, later those whose turn is too
	// far away for it. Those are back on the queue.
	now, later []*job
	grant      campaign.Grant // what the part got of its agent's rate, if it asked
	until      time.Time      // when the last of later will be sent, about
	err        error          // why the task has to come again
}

// failure is why the task has to come again where its run failed with err. A part
// that waits for its turn does not depend on the run.
func (p *part) failure(err error) error {
	if p.grant.Wait > 0 {
		return p.err
	}
	return errors.Join(err, p.err)
}

// job is the sending of one message.
type job struct {
	index      int       // within the batch
	at         time.Time // its turn, zero for at once
	message    campaign.Message
	change     campaign.Change // what became of it, if Outcome is not ""
	code       string          // why it was not taken this time
	retryAfter time.Duration   // how long the provider asked to wait
}

func (j *job) settle(outcome campaign.Outcome, code string, at time.Time) {
	j.change = campaign.Change{Index: j.index, Outcome: outcome, Code: code, At: at, First: true}
}

// settleAll ends those messages of the run that have not ended.
func (r *run) settleAll(outcome campaign.Outcome, code string, at time.Time) {
	for _, j := range r.jobs() {
		if !j.settled() {
			j.settle(outcome, code, at)
		}
	}
}

// stop ends what the provider was not asked to take, nor may have taken, of a
// batch that was found cancelled, also what was to have a later turn.
func (r *run) stop() {
	if r.cancelledAt.IsZero() {
		return
	}
	for _, p := range r.parts {
		p.now, p.later = append(p.now, p.later...), nil
	}
	for _, j := range r.jobs() {
		if !j.settled() && j.code == "" {
			j.settle(campaign.OutcomeStopped, codeCancelled, r.cancelledAt)
		}
	}
}

func (j *job) settled() bool { return j.change.Outcome != "" }

// ttl is how long the provider may try to deliver a message that is sent now.
func (r *run) ttl(now time.Time) time.Duration {
	if r.batch.NotAfter.IsZero() {
		return campaign.MessageTTL
	}
	return min(campaign.MessageTTL, max(r.batch.NotAfter.Sub(now), time.Second))
}

// jobs returns the messages of this run.
func (r *run) jobs() []*job {
	var jobs []*job
	for _, p := range r.parts {
		jobs = append(jobs, p.now...)
	}
	return jobs
}

func (r *run) changes() []campaign.Change {
	var changes []campaign.Change
	for _, j := range r.jobs() {
		if j.settled() {
			changes = append(changes, j.change)
		}
	}
	return changes
}

// tooFast reports whether the provider throttled so many of the run's messages that
// they went too fast. One alone says so only if there was no other: else the runs
// of a few messages would slow an agent down whose every hundredth is throttled.
func (r *run) tooFast() bool {
	throttled, answered := r.throttled.Load(), r.answered.Load()
	return throttled > 0 && (throttled == answered || throttled > 1+answered/tolerated)
}

// report logs what came of the run in numbers.
func (r *run) report(ctx context.Context) {
	outcomes, codes, left := map[campaign.Outcome]int{}, map[string]int{}, 0
	for _, j := range r.jobs() {
		if j.settled() {
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
	for _, p := range r.parts {
		left += len(p.later)
	}
	metrics.Add(ctx, metrics.MessagesSent, outcomes[campaign.OutcomeSent])
	metrics.Add(ctx, metrics.MessagesEnded, outcomes[campaign.OutcomeFailed]+outcomes[campaign.OutcomeExpired]+outcomes[campaign.OutcomeStopped])
	throttled := int(r.throttled.Load())
	metrics.Add(ctx, metrics.MessagesThrottled, throttled)
	metrics.Add(ctx, metrics.MessagesUntaken, r.untaken()-throttled)
	for code, n := range codes {
		metrics.Kind(ctx, code, n)
	}
	slog.InfoContext(ctx, "frames sent", "tenant", r.batch.Tenant, "campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID,
		"frames", len(r.parts), "sent", outcomes[campaign.OutcomeSent], "failed", outcomes[campaign.OutcomeFailed],
		"expired", outcomes[campaign.OutcomeExpired], "stopped", outcomes[campaign.OutcomeStopped], "left", left, "codes", codes)
}
