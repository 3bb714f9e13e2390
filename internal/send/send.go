// Package send gives the messages of frames to the RCS provider, each of them
// once as far as the provider is concerned, at the rate of their agent, and
// records what became of them.
package send

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
)

// Batches keeps batches and their ledger.
type Batches interface {
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	Ledger(ctx context.Context, b campaign.Batch, frames []int) (campaign.Ledger, error)
	MoveCheck(ctx context.Context, b campaign.Batch, next time.Time) (bool, error)
	SetFailing(ctx context.Context, b campaign.Batch, failing campaign.Failing) (bool, error)
	// AdoptAgent returns the batch with the agent that it is sent by.
	AdoptAgent(ctx context.Context, b campaign.Batch) (campaign.Batch, error)
}

// Directory knows how tenants send, and what.
type Directory interface {
	Channel(ctx context.Context, tenant, agentID string) (campaign.Channel, error)
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
}

// RateLimits keeps the paces of agents.
type RateLimits interface {
	RateLimit(ctx context.Context, agentID string) (campaign.RateLimit, error)
	SwapRateLimit(ctx context.Context, agentID string, old, rateLimit campaign.RateLimit) (bool, error)
}

// Blobs reads payloads: the bytes from offset from up to, not including, to.
type Blobs interface {
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// Provider takes messages. It ignores one whose id it has seen. An error that
// is no campaign.Failure counts as a transient one; none of them names a number
// or a text.
type Provider interface {
	Send(ctx context.Context, agent campaign.Agent, d campaign.OutgoingMessage) error
}

// Recorder records outcomes, each once however often it is told.
type Recorder interface {
	Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error
}

// OptOuts knows the numbers that opted out of a tenant's messages: it returns a
// look-up by a number in E.164.
type OptOuts interface {
	Of(ctx context.Context, tenant string) (func(phone string) bool, error)
}

// Queue takes the tasks of sending.
type Queue interface {
	Send(ctx context.Context, group string, body []byte, delay time.Duration) error
}

// Sender sends frames. A task may be given to it any number of times, and
// whatever step it dies at, the same task or sweep does the rest.
type Sender struct {
	Batches    Batches
	Directory  Directory
	RateLimits RateLimits
	Blobs      Blobs
	Provider   Provider
	Recorder   Recorder
	OptOuts    OptOuts
	Queue      Queue
	// Concurrency is how many messages one call of Handle sends at once.
	Concurrency int
	// SweepAfter is how long a batch may go on before sweep looks at it.
	SweepAfter time.Duration
	Now        func() time.Time

	channels  cache.Cache[channelKey, campaign.Channel]
	templates cache.Cache[templateKey, campaign.Template]
}

// channelKey names a channel. A batch keeps the agent of its release, so a tenant
// has several channels where its agent has changed.
type channelKey struct{ tenant, agentID string }

type templateKey struct {
	id      string
	version int
}

const (
	// channelFor is how long a tenant's channel is taken for what it was: so
	// long a pause may take to be noticed.
	channelFor = 3 * time.Second
	// maxWarm is the number of channels, and of templates, that are kept.
	maxWarm = 500
	// pauseCheck is when sweep looks again at a batch whose sending is paused.
	pauseCheck = time.Minute
)

// errBadTask says that a task cannot be what this service queued.
var errBadTask = errors.New("the task does not fit its batch")

// Handle sends what the tasks ask for, and returns an error by its position for
// each that has to come again. What the provider did not take, and what the end
// of ctx left no time for, goes back to the queue as new tasks: that is no error.
func (s *Sender) Handle(ctx context.Context, tasks []campaign.SendTask) []error {
	errs := make([]error, len(tasks))
	slots := make(chan struct{}, s.Concurrency)
	positions := map[campaign.BatchRef][]int{}
	for i, t := range tasks {
		positions[t.BatchRef] = append(positions[t.BatchRef], i)
	}
	var batches sync.WaitGroup
	for ref, at := range positions {
		batches.Go(func() {
			parts := make([]*part, len(at))
			for k, i := range at {
				parts[k] = &part{task: tasks[i]}
			}
			err := s.sendBatch(ctx, slots, ref, parts)
			for k, i := range at {
				errs[i] = parts[k].failure(err)
			}
		})
	}
	batches.Wait()
	return errs
}

// sendBatch sends parts of one batch. Its error concerns all of them.
func (s *Sender) sendBatch(ctx context.Context, slots chan struct{}, ref campaign.BatchRef, parts []*part) error {
	r, err := s.open(ctx, ref)
	if err != nil || r == nil {
		return err
	}
	r.slots, r.parts = slots, parts
	err = s.plan(ctx, r)
	if errors.Is(err, errContended) {
		s.putBack(ctx, r)
		return nil
	}
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	s.load(ctx, r)
	if err := s.leaveOptedOut(ctx, r); err != nil {
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
	s.adapt(ctx, r)
	r.report(ctx)
	return nil
}

// open reads what sending any part of a batch needs. It returns nil where
// nothing is to be sent now: sweep brings back what was paused.
func (s *Sender) open(ctx context.Context, ref campaign.BatchRef) (*run, error) {
	b, err := s.Batches.Batch(ctx, ref)
	if errors.Is(err, campaign.ErrNotFound) {
		slog.WarnContext(ctx, "a task names a batch that does not exist", "campaign_id", ref.CampaignID, "batch_id", ref.BatchID)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	if b.State != campaign.BatchReleasing && b.State != campaign.BatchSending {
		return nil, nil
	}
	if b, err = s.Batches.AdoptAgent(ctx, b); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	channel, err := s.channel(ctx, channelKey{b.Tenant, b.AgentID})
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	if channel.Pause != "" && !b.TooLate(s.Now()) && !b.Cancelled() {
		return nil, s.leavePaused(ctx, b, channel.Pause)
	}
	template, err := s.template(ctx, b)
	if err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return &run{batch: b, channel: channel, rateLimit: channel.RateLimit, template: template, started: s.Now()}, nil
}

func (s *Sender) channel(ctx context.Context, key channelKey) (campaign.Channel, error) {
	return s.channels.Get(key, s.Now(), cache.Options{TTL: channelFor, MaxEntries: maxWarm}, func() (campaign.Channel, error) {
		return s.Directory.Channel(ctx, key.tenant, key.agentID)
	})
}

func (s *Sender) template(ctx context.Context, b campaign.Batch) (campaign.Template, error) {
	key := templateKey{b.TemplateID, b.TemplateVersion}
	return s.templates.Get(key, s.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxWarm}, func() (campaign.Template, error) {
		return s.Directory.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	})
}

// leavePaused leaves the batch to sweep, which looks again soon.
func (s *Sender) leavePaused(ctx context.Context, b campaign.Batch, pause string) error {
	slog.InfoContext(ctx, "sending is paused", "tenant", b.Tenant, "batch_id", b.BatchID, "pause", pause)
	next := s.Now().Add(pauseCheck)
	if !b.NextCheck.After(next) {
		return nil
	}
	if _, err := s.Batches.MoveCheck(ctx, b, next); err != nil {
		return fmt.Errorf("leave a paused batch to sweep: %w", err)
	}
	return nil
}
