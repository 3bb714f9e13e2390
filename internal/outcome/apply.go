package outcome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
)

// EventStore finds what an event is about, and stores taps, clicks and replies.
type EventStore interface {
	// FindBatch returns the batch with a key. The error wraps campaign.ErrNotFound if there is none.
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
	// Batch returns a batch. The error wraps campaign.ErrNotFound if there is none.
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	// TenantOf returns the tenant that uses or has used an agent, "" for none.
	TenantOf(ctx context.Context, agentID string) (string, error)
	// SaveReply stores a reply. It can be repeated.
	SaveReply(ctx context.Context, tenant string, r reaction.Reply) error
	// LogOptOut writes an opt-out to the tenant's log. The same opt-out can be written again.
	LogOptOut(ctx context.Context, tenant string, o reaction.LoggedOptOut) error
	// SettleReplies settles the doubtful replies of phone numbers until a time of each.
	SettleReplies(ctx context.Context, tenant string, until map[string]time.Time) error
	// Taps returns the taps of a batch, zero for none. The error wraps campaign.ErrExpired if the batch has expired.
	Taps(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error)
	// AppendTaps returns the taps, or clicks, with fresh ones. The error wraps campaign.ErrLostRace if they have changed.
	AppendTaps(ctx context.Context, b campaign.Batch, taps ledger.Taps, fresh []campaign.Change) (ledger.Taps, error)
	// Clicks is Taps for clicks on links.
	Clicks(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error)
}

// OptOuts stores opted-out phone numbers by tenant.
type OptOuts interface {
	// WouldChange reports whether a change would take effect.
	WouldChange(ctx context.Context, tenant string, c campaign.OptChange) (bool, error)
	// Record records changes in any order, and any number of times. The latest of a number takes effect.
	Record(ctx context.Context, tenant string, changes []campaign.OptChange) error
}

// Contents stores the contents of events.
type Contents interface {
	port.BlobWriter
	// Get returns an object. The error wraps campaign.ErrNotFound if there is none.
	Get(ctx context.Context, key string) ([]byte, error)
}

// Applier applies provider events.
type Applier struct {
	Store    EventStore
	OptOuts  OptOuts
	Contents Contents
	Recorder *Recorder

	batches cache.Cache[campaign.BatchKey, campaign.Batch] // see immutableFields
}

// call is one call of Handle. Its records add to the same counts of days.
type call struct {
	*Applier

	days dayCounts
}

const (
	// maxReceives is the maximum number of receives of an event for an unknown message. An
	// event can arrive before its message is recorded.
	maxReceives = 5
	atOnce      = 32 // number of batches or answers processed concurrently
	// maxBatches is the size of the batch cache. An entry takes about 400 bytes, with both classes up to 250 more.
	maxBatches = 10_000
)

// Handle applies events. They can arrive in any order and more than once. It returns an
// error by position for each event to retry.
func (a *Applier) Handle(ctx context.Context, tasks []reaction.EventTask) []error {
	c := &call{Applier: a}
	defer a.Recorder.storeDays(ctx, &c.days)
	return c.handle(ctx, tasks)
}

func (a *call) handle(ctx context.Context, tasks []reaction.EventTask) []error {
	errs := make([]error, len(tasks))
	messages, clicks, answers := map[campaign.BatchKey][]int{}, map[campaign.BatchKey][]int{}, []*answer{}
	unknown := []int{}
	for i, t := range tasks {
		switch key, _, ours := campaign.ParseMessageID(t.MessageID); {
		case t.Kind.Personal():
			answers = append(answers, &answer{EventTask: t, position: i})
		case t.Kind == reaction.EventPaused:
			errs[i] = a.Recorder.announce(ctx, t.Campaign, delivery.KindPaused, t.EventID, t.At)
		case t.Kind == reaction.EventResumed:
			errs[i] = a.Recorder.announce(ctx, t.Campaign, delivery.KindResumed, t.EventID, t.At)
		case ours && t.Kind == reaction.EventClick:
			clicks[key] = append(clicks[key], i)
		case ours:
			messages[key] = append(messages[key], i)
		default:
			unknown = append(unknown, i)
		}
	}
	a.retryOrDropUnknown(ctx, tasks, unknown, errs)
	var all concurrent
	for key, at := range messages {
		all.start(func() { a.applyToBatch(ctx, key, tasks, at, errs) })
	}
	for key, at := range clicks {
		all.start(func() { a.recordClicks(ctx, key, tasks, at, errs) })
	}
	a.applyAnswers(ctx, answers, errs)
	all.Wait()
	return errs
}

// concurrent calls functions, at most atOnce at the same time.
type concurrent struct {
	sync.WaitGroup

	slots chan struct{}
}

func (c *concurrent) start(do func()) {
	if c.slots == nil {
		c.slots = make(chan struct{}, atOnce)
	}
	c.slots <- struct{}{}
	c.Go(func() {
		defer func() { <-c.slots }()
		do()
	})
}

// applyToBatch applies the events of one batch, given by position, and sets their errors.
func (a *call) applyToBatch(ctx context.Context, key campaign.BatchKey, tasks []reaction.EventTask, at []int, errs []error) {
	b, err := a.findBatch(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		a.retryOrDropUnknown(ctx, tasks, at, errs)
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
		err = a.Recorder.record(ctx, b, changes, a.days.addWrite)
	}
	if err == nil {
		metrics.Add(ctx, metrics.EventsApplied, len(changes))
	} else {
		err = fmt.Errorf("apply events: %w", err)
	}
	for _, i := range at {
		errs[i] = err
	}
	a.retryOrDropUnknown(ctx, tasks, unknown, errs)
}

// withCancellation returns the batch with its current cancellation state, if any event depends on it.
func (a *Applier) withCancellation(ctx context.Context, b campaign.Batch, tasks []reaction.EventTask, at []int) (campaign.Batch, error) {
	if !slices.ContainsFunc(at, func(i int) bool { return tasks[i].Kind == reaction.EventExpired }) {
		return b, nil
	}
	current, err := a.Store.Batch(ctx, b.BatchRef)
	b.CancelledAt, b.Revoke = current.CancelledAt, current.Revoke
	return b, err
}

// findBatch returns the immutable fields of a batch, including its agent.
func (a *Applier) findBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	b, err := a.batches.Get(key, a.Recorder.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxBatches}, func() (campaign.Batch, error) {
		b, err := a.loadBatch(ctx, key)
		return immutableFields(b), err
	})
	if err == nil && !b.ExpiresAt().After(a.Recorder.Now()) {
		err = fmt.Errorf("batch %s: %w", b.BatchID, campaign.ErrExpired)
	}
	return b, err
}

// immutableFields returns the immutable fields of a batch with an agent. They are cached
// for the life of the process, so that an event costs only the read of the ledger head.
// Other fields are read when needed. The reservation does not change after the release, until the
// completion frees it: whoever frees it checks it.
func immutableFields(b campaign.Batch) campaign.Batch {
	return campaign.Batch{
		BatchRef: b.BatchRef, Key: b.Key, Accepted: b.Accepted, AcceptedAt: b.AcceptedAt, AgentID: b.AgentID,
		TapKey: b.TapKey, Due: b.Due, Test: b.Test,
		Classes: b.Classes, Prices: b.Prices, Reserved: b.Reserved, ReservedOn: b.ReservedOn,
	}
}

// loadBatch returns a released batch. The error wraps campaign.ErrNotFound if it is unknown or was not released.
func (a *Applier) loadBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	b, err := a.Store.FindBatch(ctx, key)
	if err == nil && b.AgentID == "" {
		err = fmt.Errorf("batch %s has no agent: %w", b.BatchID, campaign.ErrNotFound)
	}
	return b, err
}

// dropForeign drops events that are signed for another agent than the batch's. It returns
// the positions of the other events. An agent's token must not authenticate events of
// another agent's messages.
func dropForeign(ctx context.Context, b campaign.Batch, tasks []reaction.EventTask, at []int) []int {
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

// Reasons in the log message "events dropped".
const (
	droppedForeign = "signed for another agent"
	droppedUnknown = "unknown message"
)

func drop(ctx context.Context, reason string, events int) {
	metrics.Add(ctx, metrics.EventsDropped, events)
	slog.WarnContext(ctx, "events dropped", "reason", reason, "events", events)
}

// outcomes are those of the events about a message. If its revocation failed, it may have been delivered: wait for that event.
var outcomes = map[reaction.EventKind]campaign.Outcome{
	reaction.EventDelivered: campaign.OutcomeDelivered, reaction.EventRead: campaign.OutcomeRead, reaction.EventExpired: campaign.OutcomeExpired,
}

// changeOf returns the change that an event causes for the message at index, false if none.
func changeOf(b campaign.Batch, index int, t reaction.EventTask) (campaign.Change, bool) {
	c := campaign.Change{Index: index, At: t.At, Outcome: outcomes[t.Kind]}
	if c.Outcome == campaign.OutcomeExpired {
		c.Code = campaign.CodeTTLPassed
		if b.Revoke && t.At.After(b.CancelledAt) {
			c.Outcome, c.Code = campaign.OutcomeRevoked, campaign.CodeCancelled
		}
	}
	return c, c.Outcome != ""
}

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

var errUnknown = errors.New("unknown message")

// retryOrDropUnknown sets errUnknown for events of unknown messages, so that they are retried.
// After maxReceives receives, it drops them.
func (a *Applier) retryOrDropUnknown(ctx context.Context, tasks []reaction.EventTask, at []int, errs []error) {
	dropped := 0
	for _, i := range at {
		errs[i] = errUnknown
		if tasks[i].Receives >= maxReceives {
			errs[i] = nil
			dropped++
		}
	}
	if dropped > 0 {
		drop(ctx, droppedUnknown, dropped)
	}
}

// ExpireUnconfirmed ends a batch's sent messages without a delivery status as expired and
// completes the batch. Call it after their TTL and AnswerGrace have passed.
func (r *Recorder) ExpireUnconfirmed(ctx context.Context, b campaign.Batch) error {
	head, err := r.Store.LedgerHead(ctx, b.Key)
	if err != nil {
		return fmt.Errorf("close batch %s: %w", b.BatchID, err)
	}
	var changes []campaign.Change
	for index := range b.Accepted {
		if head.Outcome(index) == campaign.OutcomeSent {
			changes = append(changes, campaign.Change{Index: index, Outcome: campaign.OutcomeExpired, Code: campaign.CodeNoAnswer, At: r.Now()})
		}
	}
	if len(changes) > 0 {
		if err := r.Record(ctx, b, changes); err != nil {
			return err
		}
		slog.InfoContext(ctx, "messages without delivery status expired", "batch_id", b.BatchID, "messages", len(changes))
	}
	_, err = r.Complete(ctx, b)
	return err
}

// Appended is the result of AppendLedger.
type Appended struct {
	Before, After ledger.Head
	Tries         int
}

// AppendLedger appends the effective changes, in order, and ignores the others. Repeated
// calls are harmless, also after an error. After a concurrent update, it reads the ledger
// and tries again.
func AppendLedger(ctx context.Context, store Store, b campaign.Batch, changes []campaign.Change) (e Appended, err error) {
	for ; e.Tries < tries; e.Tries++ {
		if err := retry.Wait(ctx, e.Tries); err != nil {
			return e, fmt.Errorf("record outcomes of batch %s: %w", b.BatchID, err)
		}
		if e.Before, err = store.LedgerHead(ctx, b.Key); err != nil {
			return e, fmt.Errorf("record outcomes: %w", err)
		}
		e.After = e.Before
		fresh := e.Before.NewChanges(changes)
		if len(fresh) == 0 {
			return e, nil
		}
		e.After, err = store.AppendLedger(ctx, b, e.Before, fresh)
		if !errors.Is(err, campaign.ErrLostRace) {
			return e, err
		}
	}
	return e, fmt.Errorf("record outcomes of batch %s, try %d: %w", b.BatchID, e.Tries, campaign.ErrLostRace)
}
