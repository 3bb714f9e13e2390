// Package send sends the messages of frames to the RCS provider, at the rate of their
// agent, and records the outcomes. Message IDs are deterministic, so the provider ignores
// repeated sends.
package send

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

// Store reads what a frame needs, and changes its batch and the rate limit of its agent.
type Store interface {
	port.SentBatches
	port.OpenBatches

	// SetFailingTime sets the failing time of a batch if it is unchanged, and reports whether it did.
	SetFailingTime(ctx context.Context, b campaign.Batch, failing campaign.FailingTime) (bool, error)
	// OwnRoute returns how a tenant sends through an agent, unless all sending is paused. Without an existing agent, it is paused.
	OwnRoute(ctx context.Context, tenant, agentID string) (outgoing.Route, error)
	// AllPaused reports whether the sending of all tenants is paused.
	AllPaused(ctx context.Context) (bool, error)
	// RateLimit returns the rate limit of an agent, zero for none.
	RateLimit(ctx context.Context, agentID string) (outgoing.RateLimit, error)
	// SwapRateLimit replaces a rate limit that has not changed, and reports whether it did: perhaps false after a lost answer.
	SwapRateLimit(ctx context.Context, agentID string, old, rateLimit outgoing.RateLimit) (bool, error)
}

// Provider sends messages and ignores repeated IDs. An error that is not an *outgoing.Failure
// counts as transient. Errors contain no phone number and no text.
type Provider interface {
	// Send returns nil if the provider has accepted the message, now or before.
	Send(ctx context.Context, agent campaign.Agent, d outgoing.Message) error
}

// Sender sends frames. Tasks can be repeated. After a crash, the task's next receive or sweep resumes.
type Sender struct {
	Store       Store
	Blobs       payload.Blobs
	Provider    Provider
	Recorder    port.Recorder
	Reach       reach.Lookup
	Queue       port.Queue // the send queue
	Concurrency int        // number of concurrent sends per call of Handle
	// LinkURL is the base URL of links that count clicks. It can be "".
	LinkURL    string
	SweepAfter time.Duration // time until sweep checks an active batch
	Now        func() time.Time
	Jitter     func() float64 // a random number in [0, 1)

	routes    cache.Cache[routeKey, outgoing.Route]
	pause     cache.Cache[struct{}, bool] // of all sending
	templates port.Templates
}

// routeKey identifies a route. A batch keeps the agent of its release, so a tenant can have several routes.
type routeKey struct{ tenant, agentID string }

const (
	routeTTL = 3 * time.Second // cache TTL of routes: a pause takes effect within this time
	maxWarm  = 500             // size of the route cache
	// maxMarks is the number of attempts to write what a batch waits for. Then a task that met a pause is received again.
	maxMarks = 20
)

// errBadTask reports a task that this service cannot have queued.
var errBadTask = errors.New("task does not match its batch")

// Handle sends the messages of the tasks. It returns an error by position for each task to
// retry. Messages that the provider did not accept, or that were not sent before the end of
// ctx, are requeued as new tasks without an error.
func (s *Sender) Handle(ctx context.Context, tasks []outgoing.SendTask) []error {
	_, _ = s.allPaused(ctx) // one read for the batches of a call, which read it again after an error
	errs := make([]error, len(tasks))
	slots := make(chan struct{}, s.Concurrency)
	positions := map[campaign.BatchRef][]int{}
	for i, t := range tasks {
		positions[t.BatchRef] = append(positions[t.BatchRef], i)
	}
	var batches sync.WaitGroup
	for ref, at := range positions {
		batches.Go(func() {
			frames := make([]*frameRun, len(at))
			for k, i := range at {
				frames[k] = &frameRun{task: tasks[i]}
			}
			err := s.sendBatch(ctx, slots, ref, frames)
			for k, i := range at {
				errs[i] = frames[k].failure(err)
			}
		})
	}
	batches.Wait()
	return errs
}

// sendBatch sends frames of one batch. An error applies to all of them.
func (s *Sender) sendBatch(ctx context.Context, slots chan struct{}, ref campaign.BatchRef, frames []*frameRun) error {
	r, ok, err := s.loadRun(ctx, ref)
	if err != nil || !ok {
		return err
	}
	r.slots, r.frameRuns = slots, frames
	err = s.prepare(ctx, r)
	if errors.Is(err, errContended) {
		s.putBack(ctx, r)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	s.deliver(ctx, r)
	if err := s.countFailures(ctx, r); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if changes := r.changes(); len(changes) > 0 {
		if err := s.Recorder.Record(ctx, r.batch, changes); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	s.requeue(ctx, r)
	s.adjustRate(ctx, r)
	r.report(ctx)
	return nil
}

// prepare reads the messages of the run, ends those that are not sent, and sets those aside that wait. Only the others
// take a share of the agent's rate.
func (s *Sender) prepare(ctx context.Context, r *run) error {
	if err := s.plan(ctx, r); err != nil {
		return err
	}
	s.load(ctx, r)
	if err := s.decide(ctx, r); err != nil {
		return err
	}
	r.setAside()
	s.postponeCheck(ctx, r)
	return s.takeReservations(ctx, r)
}

// loadRun loads the data needed to send the batch. ok is false if nothing can be sent now. Sweep requeues the frames of a
// batch that is marked as paused. The mark is repeated if the row has changed since it was read, as by a frame that waits
// for its agent: only the mark has the frames of this call sent.
func (s *Sender) loadRun(ctx context.Context, ref campaign.BatchRef) (r *run, ok bool, err error) {
	for try := range maxMarks {
		if err := retry.Wait(ctx, try); err != nil {
			return nil, false, fmt.Errorf("send: %w", err)
		}
		b, ok, err := s.sendable(ctx, ref)
		if err != nil || !ok {
			return nil, false, err
		}
		route, err := s.route(ctx, routeKey{b.Tenant, b.AgentID})
		if err != nil {
			return nil, false, fmt.Errorf("send: %w", err)
		}
		if !route.Pauses(b, s.Now()) {
			return s.newRun(ctx, b, route)
		}
		if marked, err := s.markPaused(ctx, b, route.PauseOf(b)); err != nil || marked {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("mark batch %s as paused: %w", ref.BatchID, campaign.ErrLostRace)
}

// sendable reads the batch. ok is false if none of its messages is to be sent.
func (s *Sender) sendable(ctx context.Context, ref campaign.BatchRef) (b campaign.Batch, ok bool, err error) {
	b, err = s.Store.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) {
		slog.WarnContext(ctx, "task ignored: batch not found", "campaign_id", ref.CampaignID, "batch_id", ref.BatchID)
		return b, false, nil
	}
	if err != nil {
		return b, false, fmt.Errorf("send: %w", err)
	}
	return b, b.State == campaign.BatchReleasing || b.State == campaign.BatchSending, nil
}

func (s *Sender) newRun(ctx context.Context, b campaign.Batch, route outgoing.Route) (r *run, ok bool, err error) {
	template, err := s.templates.OfBatch(ctx, s.Store, b, s.Now())
	if err != nil {
		return nil, false, fmt.Errorf("send: %w", err)
	}
	return &run{
		batch: b, route: route, rateLimit: route.RateLimit, template: template, started: s.Now(),
		rules: reach.Decider{Batch: b, Hours: route.Hours.HoursOfBatch(b, template.Traffic)},
	}, true, nil
}

func (s *Sender) route(ctx context.Context, key routeKey) (outgoing.Route, error) {
	route, err := s.routes.Get(key, s.Now(), cache.Options{TTL: routeTTL, MaxEntries: maxWarm}, func() (outgoing.Route, error) {
		return s.Store.OwnRoute(ctx, key.tenant, key.agentID)
	})
	if err != nil {
		return route, err
	}
	paused, err := s.allPaused(ctx)
	if paused {
		route.Pause = "all"
	}
	return route, err
}

// allPaused reports whether all sending is paused. It is not read with the route: the row is one for all tenants and
// processes, and a partition of the table answers 3,000 reads a second.
func (s *Sender) allPaused(ctx context.Context) (bool, error) {
	return s.pause.Get(struct{}{}, s.Now(), cache.Options{TTL: routeTTL, MaxEntries: 1}, func() (bool, error) {
		return s.Store.AllPaused(ctx)
	})
}

// markPaused marks the batch as paused, so that sweep finds it when the pause ends, and reports whether it is marked. The
// first frame of the batch does this. The next check of a batch that is being released is set then.
func (s *Sender) markPaused(ctx context.Context, b campaign.Batch, pause string) (marked bool, err error) {
	slog.InfoContext(ctx, "sending is paused", "tenant", b.Tenant, "batch_id", b.BatchID, "pause", pause)
	if b.Waits.Paused {
		return true, nil
	}
	b.Waits.Paused = true
	marked, err = s.Store.PostponeCheck(ctx, b, outgoing.WaitUntil(b, s.Now()))
	if err != nil {
		return false, fmt.Errorf("mark batch %s as paused: %w", b.BatchID, err)
	}
	return marked, nil
}
