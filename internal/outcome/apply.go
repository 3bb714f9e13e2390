package outcome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"campaign-dispatch/internal/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
)

// Batches finds the batch that a message belongs to, and the agent that the batch is
// sent by.
type Batches interface {
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	AdoptAgent(ctx context.Context, b campaign.Batch) (campaign.Batch, error)
}

// Tenants knows who sends through an agent.
type Tenants interface {
	TenantsOf(ctx context.Context, agentID string) ([]string, error)
}

// OptOuts keeps the numbers that opted out of a tenant's messages.
type OptOuts interface {
	Turns(ctx context.Context, tenant string, c campaign.OptChange) (bool, error)
	Record(ctx context.Context, tenant string, changes []campaign.OptChange) error
}

// Contents keeps the contents of events.
type Contents interface {
	Blobs
	Get(ctx context.Context, key string) ([]byte, error)
}

// Applier applies the provider's events.
type Applier struct {
	Batches  Batches
	Tenants  Tenants
	OptOuts  OptOuts
	Contents Contents
	Recorder *Recorder

	batches cache.Cache[campaign.BatchKey, campaign.Batch] // see lasting
}

const (
	// patience is how often an event of a message that is not known may arrive: it
	// can overtake the recording of its message.
	patience = 5
	// atOnce is how many batches, or answers of people, are worked on at once.
	atOnce = 32
	// maxBatches is the number of batches of which is kept what never changes, some
	// 300 bytes each.
	maxBatches = 10_000
)

// The codes of outcomes that events tell.
const (
	codeTTL       = "ttl_passed"
	codeCancelled = "cancelled"
	codeNoAnswer  = "no_answer"
)

// Handle applies events in any order and any number of times, and returns an
// error by its position for each that has to come again.
func (a *Applier) Handle(ctx context.Context, tasks []campaign.EventTask) []error {
	errs := make([]error, len(tasks))
	messages, answers := map[campaign.BatchKey][]int{}, []int{}
	unknown := []int{}
	for i, t := range tasks {
		switch key, _, ours := campaign.ParseMessageID(t.MessageID); {
		case t.Kind == campaign.EventReply, t.Kind == campaign.EventOptOut, t.Kind == campaign.EventOptIn:
			answers = append(answers, i)
		case ours:
			messages[key] = append(messages[key], i)
		default:
			unknown = append(unknown, i)
		}
	}
	a.refuseUnknown(ctx, tasks, unknown, errs)
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	start := func(do func()) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do()
		})
	}
	for key, at := range messages {
		start(func() { a.applyToBatch(ctx, key, tasks, at, errs) })
	}
	optChanges := make([][]optChange, len(tasks))
	for _, i := range answers {
		start(func() { optChanges[i], errs[i] = a.applyAnswer(ctx, tasks[i]) })
	}
	all.Wait()
	a.recordOptOuts(ctx, optChanges, errs)
	return errs
}

// applyToBatch applies the events at those positions, which are one batch's, and
// writes its errors to theirs.
func (a *Applier) applyToBatch(ctx context.Context, key campaign.BatchKey, tasks []campaign.EventTask, at []int, errs []error) {
	b, err := a.findBatch(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		a.refuseUnknown(ctx, tasks, at, errs)
		return
	}
	if err == nil {
		at = dropForeign(ctx, b, tasks, at)
		b, err = a.withCancellation(ctx, b, tasks, at)
	}
	var changes []campaign.Change
	var unknown []int
	for _, i := range at {
		_, index, _ := campaign.ParseMessageID(tasks[i].MessageID)
		if err == nil && index >= b.Accepted {
			unknown = append(unknown, i)
			continue
		}
		if c, ok := changeOf(b, index, tasks[i]); ok {
			changes = append(changes, c)
		}
	}
	if err == nil && len(changes) > 0 {
		slices.SortStableFunc(changes, earlier)
		err = a.Recorder.Record(ctx, b, changes)
	}
	if err == nil {
		metrics.Add(ctx, metrics.EventsApplied, len(changes))
	} else {
		err = fmt.Errorf("apply events: %w", err)
	}
	for _, i := range at {
		errs[i] = err
	}
	a.refuseUnknown(ctx, tasks, unknown, errs)
}

// withCancellation returns the batch with whether it is cancelled now, where there is an
// event among those at the positions that depends on it.
func (a *Applier) withCancellation(ctx context.Context, b campaign.Batch, tasks []campaign.EventTask, at []int) (campaign.Batch, error) {
	if !slices.ContainsFunc(at, func(i int) bool { return tasks[i].Kind == campaign.EventExpired }) {
		return b, nil
	}
	now, err := a.Batches.Batch(ctx, b.BatchRef)
	b.CancelledAt, b.TakeBack = now.CancelledAt, now.TakeBack
	return b, err
}

// findBatch returns what never changes of a batch with its agent.
func (a *Applier) findBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	b, err := a.batches.Get(key, a.Recorder.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxBatches}, func() (campaign.Batch, error) {
		b, err := a.loadBatch(ctx, key)
		return lasting(b), err
	})
	if err == nil && !b.Ends().After(a.Recorder.Now()) {
		err = fmt.Errorf("batch %s: %w", b.BatchID, campaign.ErrEnded)
	}
	return b, err
}

// lasting returns what never changes of a batch that has an agent. It is kept as long as
// the process lives, so that an event costs no more reads than that of its ledger's
// head. None of it can be stale: the rest of a batch is read when it is needed.
func lasting(b campaign.Batch) campaign.Batch {
	return campaign.Batch{
		BatchRef: b.BatchRef, Key: b.Key, Accepted: b.Accepted, AcceptedAt: b.AcceptedAt, AgentID: b.AgentID, Ledger: b.Ledger,
	}
}

// loadBatch returns the batch with the agent that it is sent by. The error wraps
// campaign.ErrNotFound too where that agent is not known: the batch was not released
// yet, as far as the table says, or its tenant has no agent.
func (a *Applier) loadBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	b, err := a.Batches.FindBatch(ctx, key)
	if err != nil {
		return b, err
	}
	if b, err = a.Batches.AdoptAgent(ctx, b); err == nil && b.AgentID == "" {
		err = fmt.Errorf("batch %s has no agent: %w", b.BatchID, campaign.ErrNotFound)
	}
	return b, err
}

// dropForeign counts and drops the events that are signed for another agent than the
// batch's, and returns the positions of the others. The token of an agent proves
// nothing about the messages of another.
func dropForeign(ctx context.Context, b campaign.Batch, tasks []campaign.EventTask, at []int) []int {
	own := make([]int, 0, len(at))
	for _, i := range at {
		if tasks[i].AgentID == b.AgentID {
			own = append(own, i)
		}
	}
	if foreign := len(at) - len(own); foreign > 0 {
		drop(ctx, droppedForeign, foreign)
	}
	return own
}

// Why events are dropped, as the log says it.
const (
	droppedForeign = "signed for another agent than the batch's"
	droppedUnknown = "no such message"
	droppedPhone   = "the phone cannot be a number"
)

func drop(ctx context.Context, reason string, events int) {
	metrics.Add(ctx, metrics.EventsDropped, events)
	slog.WarnContext(ctx, "events dropped", "reason", reason, "events", events)
}

// changeOf returns what the event means for the message at index, false where
// nothing is known by it.
func changeOf(b campaign.Batch, index int, t campaign.EventTask) (campaign.Change, bool) {
	c := campaign.Change{Index: index, At: t.At}
	switch t.Kind {
	case campaign.EventDelivered:
		c.Outcome = campaign.OutcomeDelivered
	case campaign.EventRead:
		c.Outcome = campaign.OutcomeRead
	case campaign.EventExpired:
		c.Outcome, c.Code = campaign.OutcomeExpired, codeTTL
		if b.TakeBack && t.At.After(b.CancelledAt) {
			c.Outcome, c.Code = campaign.OutcomeRevoked, codeCancelled
		}
	case campaign.EventRevokeFailed, campaign.EventReply, campaign.EventOptOut, campaign.EventOptIn:
		return c, false // a message that could not be revoked may have been delivered: wait for that
	}
	return c, c.Outcome != ""
}

// earlier orders changes by their time, and what happened at once by how one
// outcome follows another.
func earlier(a, b campaign.Change) int {
	switch {
	case !a.At.Equal(b.At):
		return a.At.Compare(b.At)
	case b.Outcome.Supersedes(a.Outcome):
		return -1
	case a.Outcome.Supersedes(b.Outcome):
		return 1
	}
	return 0
}

var errUnknown = errors.New("the event's message is not known")

// refuseUnknown lets events come again whose message is not known yet, for a
// while. Then they are counted and dropped.
func (a *Applier) refuseUnknown(ctx context.Context, tasks []campaign.EventTask, at []int, errs []error) {
	dropped := 0
	for _, i := range at {
		errs[i] = errUnknown
		if tasks[i].Receives >= patience {
			errs[i] = nil
			dropped++
		}
	}
	if dropped > 0 {
		drop(ctx, droppedUnknown, dropped)
	}
}

// CloseUnanswered ends those messages of a batch as expired that the provider
// has but never told what became of, once their time and a grace have passed, and
// completes the batch.
func (r *Recorder) CloseUnanswered(ctx context.Context, b campaign.Batch) error {
	frames := make([]int, b.Frames())
	for f := range frames {
		frames[f] = f
	}
	batchLedger, err := r.Store.Ledger(ctx, b, frames)
	if err != nil {
		return fmt.Errorf("close batch %s: %w", b.BatchID, err)
	}
	var changes []campaign.Change
	for index := range b.Accepted {
		if batchLedger.Outcome(index) == campaign.OutcomeSent {
			changes = append(changes, campaign.Change{Index: index, Outcome: campaign.OutcomeExpired, Code: codeNoAnswer, At: r.Now()})
		}
	}
	if len(changes) > 0 {
		if err := r.Record(ctx, b, changes); err != nil {
			return err
		}
		slog.InfoContext(ctx, "messages without an answer have expired", "batch_id", b.BatchID, "messages", len(changes))
	}
	return r.Complete(ctx, b)
}
