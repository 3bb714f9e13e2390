package send

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/send/outgoing"
)

const (
	// attemptFor is the timeout of one message. shutdownMargin is the time reserved for
	// running sends and for recording.
	attemptFor     = 8 * time.Second
	shutdownMargin = attemptFor + 4*time.Second
	cancelCheck    = 2 * time.Second // interval of cancellation checks within a run
	minThrottled   = 10              // number of throttled messages from which a run can stop
	// responsesPerThrottled is the number of responses per permitted throttled one. Providers
	// throttle a few messages at any rate, because of internal limits. Sending those again
	// costs less than halving the rate. A rate that is too high throttles more.
	responsesPerThrottled = 20
)

// deliver sends the run's messages in the order of their send times, until too many are throttled or ctx nearly ends.
func (s *Sender) deliver(ctx context.Context, r *run) {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	r.checked = s.Now()
	jobs := slices.DeleteFunc(r.jobs(), (*job).hasOutcome)
	slices.SortStableFunc(jobs, func(a, b *job) int { return cmp.Or(a.at.Compare(b.at), a.index-b.index) })
	var sending sync.WaitGroup
	defer func() {
		sending.Wait()
		r.stop()
	}()
	for _, j := range jobs {
		if !s.await(starting, j.at) || !take(starting, r.slots) {
			return
		}
		if s.cancelled(ctx, r) {
			<-r.slots
			return
		}
		if r.throttled.Load() >= minThrottled && r.tooFast() {
			<-r.slots
			r.stopped = true
			return
		}
		sending.Go(func() {
			defer func() { <-r.slots }()
			s.deliverOne(ctx, r, j)
		})
	}
}

// cancelled reports whether the run's batch was cancelled since the start. A failed read counts as not cancelled.
func (s *Sender) cancelled(ctx context.Context, r *run) bool {
	now := s.Now()
	if now.Sub(r.checked) < cancelCheck {
		return false
	}
	r.checked = now
	b, err := s.Store.Batch(ctx, r.batch.BatchRef)
	if err != nil || !b.Cancelled() {
		return false
	}
	r.cancelledAt = now
	return true
}

// await waits until the instant. It returns false if ctx ends first.
func (s *Sender) await(ctx context.Context, at time.Time) bool {
	wait := at.Sub(s.Now())
	if at.IsZero() || wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// take takes a slot. It returns false if ctx ends first.
func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Sender) deliverOne(ctx context.Context, r *run, j *job) {
	now := s.Now()
	if !j.apply(r.rules.Decide(j.message, now), now) {
		return
	}
	rendered := r.template.Render(j.message.Values)
	if code := rendered.Unsendable(); code != "" {
		j.setOutcome(campaign.OutcomeFailed, code, now)
		return
	}
	if link := reaction.Links(r.batch, s.LinkURL, j.index); link != nil && r.batch.CountsClicks {
		rendered = rendered.WithLinks(link)
	}
	ctx, cancel := context.WithTimeout(ctx, attemptFor)
	defer cancel()
	phone := j.message.Phone.String()
	err := s.Provider.Send(ctx, r.route.Agent, outgoing.Message{
		ID:      r.batch.Key.MessageID(j.index),
		Phone:   phone,
		Content: rendered,
		Traffic: r.template.Traffic,
		TTL:     r.ttl(j.message.Phone, now),

		Postback: reaction.Postbacks(r.batch, j.index, phone),
	})
	r.classify(ctx, j, err, s.Now())
	if j.hasOutcome() {
		_ = s.clearFailingTime(ctx, r) // countFailures returns the error
	}
}

func (r *run) classify(ctx context.Context, j *job, err error, now time.Time) {
	r.answered.Add(1)
	if err == nil {
		j.setOutcome(campaign.OutcomeSent, "", now)
		return
	}
	failure := &outgoing.Failure{Kind: outgoing.Transient, Code: campaign.CodeNoAnswer}
	_ = errors.As(err, &failure)
	switch failure.Kind {
	case outgoing.Permanent:
		j.setOutcome(campaign.OutcomeFailed, failure.Code, now)
		return
	case outgoing.Throttled:
		r.throttled.Add(1)
	case outgoing.Transient:
		r.trouble.Do(func() {
			slog.WarnContext(ctx, "send failed; message is retried", "batch_id", r.batch.BatchID, "error", err)
		})
	}
	j.code, j.retryAfter = failure.Code, failure.RetryAfter
}
