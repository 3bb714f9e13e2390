package outcome

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
)

// redrivenAfter is the age from which an event may come from the dead-letter queue. Its
// count of receives starts again then.
const redrivenAfter = time.Hour

// answer is a reply, an opt-out or an opt-in, with its content.
type answer struct {
	reaction.EventTask

	position int
	content  reaction.EventContent
	// tap is the tap of a reply with the postback data of this service, else nil. It is a tap on a message of batch.
	tap   *reaction.Tap
	batch campaign.Batch
	again bool // the tap was recorded by an earlier event
	// doubtful is a reply that may be an opt-out, see reaction.OptChangeOf.
	doubtful bool
}

// readTap sets the tap of a reply. Replies with other postback data have none. Neither do
// replies with postback data of another number, of an unknown batch, or that was changed.
func (a *Applier) readTap(ctx context.Context, r *answer) error {
	tap, proof, ok := reaction.ParsePostback(r.content.Postback)
	if !ok || r.Kind != reaction.EventReply {
		return nil
	}
	b, err := a.findBatch(ctx, tap.Key)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read tap: %w", err)
	}
	if b.AgentID == r.AgentID && reaction.ProvesTap(b, tap, proof, r.content.Phone) {
		r.tap, r.batch, r.MessageID = &tap, b, b.Key.MessageID(tap.Index)
		if r.content.Text == r.content.Postback { // the provider sent no text
			r.content.Text = ""
		}
	}
	return nil
}

func (r *answer) change() campaign.Change {
	return campaign.Change{Index: r.tap.Index, Outcome: campaign.OutcomeTapped, Suggestion: r.tap.Suggestion, At: r.At}
}

// retried reports whether an earlier receive of the event may have recorded its tap and not queued its webhooks.
func (r *answer) retried(now time.Time) bool { return r.Receives > 1 || now.Sub(r.At) > redrivenAfter }

// recordTaps records taps on messages of one batch, and queues their webhooks. A tap means that the message was read.
func (a *call) recordTaps(ctx context.Context, taps []*answer) error {
	b := taps[0].batch
	slices.SortStableFunc(taps, func(x, y *answer) int { return x.At.Compare(y.At) })
	var reads, changes []campaign.Change
	for _, r := range taps {
		reads = append(reads, campaign.Change{Index: r.tap.Index, Outcome: campaign.OutcomeRead, At: r.At})
		changes = append(changes, r.change())
	}
	if err := a.Recorder.record(ctx, b, reads, a.days.addWrite); err != nil {
		return fmt.Errorf("record taps: %w", err)
	}
	var added []ledger.NewEntries
	for some := range slices.Chunk(changes, ledger.TapPage) {
		entries, err := a.appendTaps(ctx, b, a.Store.Taps, some)
		if err != nil {
			return fmt.Errorf("record taps of batch %s: %w", b.BatchID, err)
		}
		added = append(added, entries...)
	}
	return a.queueTaps(ctx, b, append(added, a.repeatedTaps(taps, added)...))
}

// tapLog reads the taps, or the clicks, of a batch.
type tapLog func(ctx context.Context, key campaign.BatchKey) (ledger.Taps, error)

// appendTaps records taps, or clicks, and returns the entries of those that were not recorded when it
// began. After a lost race it returns them without a sequence: this or another call has
// recorded them, and its webhooks may not be queued.
func (a *Applier) appendTaps(
	ctx context.Context, b campaign.Batch, log tapLog, changes []campaign.Change,
) (added []ledger.NewEntries, err error) {
	var first, fresh []campaign.Change
	for try := range tries {
		if err := retry.Wait(ctx, try); err != nil {
			return nil, err
		}
		before, err := log(ctx, b.Key)
		if err != nil {
			return nil, err
		}
		if fresh = before.NewTaps(changes); try == 0 {
			first = fresh
		}
		if len(fresh) > 0 {
			_, err = a.Store.AppendTaps(ctx, b, before, fresh)
		}
		if errors.Is(err, campaign.ErrLostRace) {
			continue
		}
		if len(fresh) > 0 {
			added = append(added, ledger.NewEntries{Key: b.Key, Entries: ledger.Numbered(before.Sequence+1, fresh)})
		}
		return append(added, unnumbered(b.Key, missing(first, fresh))...), err
	}
	return nil, campaign.ErrLostRace
}

// missing returns the taps of all that are not in some.
func missing(all, some []campaign.Change) []campaign.Change {
	return slices.DeleteFunc(slices.Clone(all), func(c campaign.Change) bool { return slices.Contains(some, c) })
}

// unnumbered returns entries without a sequence.
func unnumbered(key campaign.BatchKey, taps []campaign.Change) (entries []ledger.NewEntries) {
	for _, c := range taps {
		entries = append(entries, ledger.NewEntries{Key: key, Entries: []ledger.Entry{{Change: c}}})
	}
	return entries
}

// repeatedTaps returns entries of the taps that were recorded before and whose event is
// repeated by the queue: their webhooks may not have been queued. It marks the other taps
// that were recorded before.
func (a *Applier) repeatedTaps(taps []*answer, added []ledger.NewEntries) (repeated []ledger.NewEntries) {
	isNew := map[reaction.Tap]bool{}
	for _, n := range added {
		for _, e := range n.Entries {
			isNew[reaction.Tap{Key: n.Key, Index: e.Index, Suggestion: e.Suggestion}] = true
		}
	}
	for _, r := range taps {
		switch {
		case isNew[*r.tap]:
			delete(isNew, *r.tap) // further taps on the suggestion are repeated
		case r.retried(a.Recorder.Now()):
			repeated = append(repeated, unnumbered(r.batch.Key, []campaign.Change{r.change()})...)
		default:
			r.again = true
		}
	}
	return repeated
}

func (a *Applier) queueTaps(ctx context.Context, b campaign.Batch, post []ledger.NewEntries) error {
	endpoints, err := a.Recorder.endpointsOf(ctx, b.Tenant)
	if err != nil || len(post) == 0 {
		return err
	}
	packed := base64.StdEncoding.EncodeToString(ledger.PackNewEntries(post))
	var tasks []delivery.NotifyTask
	for _, e := range endpoints {
		if e.Subscribes(delivery.KindTapped) {
			tasks = append(tasks, delivery.NotifyTask{Tenant: b.Tenant, EndpointID: e.ID, Entries: packed})
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	if err := port.SendAll(ctx, a.Recorder.Notify, b.Tenant, tasks); err != nil {
		return fmt.Errorf("queue taps of batch %s: %w", b.BatchID, err)
	}
	return nil
}

// recordClicks records the clicks on links of one batch, given by position, and sets their
// errors. A click does not change the status of a message: whoever has a link can open it.
func (a *Applier) recordClicks(ctx context.Context, key campaign.BatchKey, tasks []reaction.EventTask, at []int, errs []error) {
	b, err := a.findBatch(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		a.retryOrDropUnknown(ctx, tasks, at, errs)
		return
	}
	if err == nil {
		err = a.appendClicks(ctx, b, tasks, dropForeign(ctx, b, tasks, at))
	}
	if err != nil {
		err = fmt.Errorf("record clicks: %w", err)
	}
	for _, i := range at {
		errs[i] = err
	}
}

func (a *Applier) appendClicks(ctx context.Context, b campaign.Batch, tasks []reaction.EventTask, at []int) error {
	var clicks []campaign.Change
	for _, i := range at {
		if _, index, _ := campaign.ParseMessageID(tasks[i].MessageID); index < b.Accepted {
			c := campaign.Change{Index: index, Outcome: campaign.OutcomeClicked, Suggestion: tasks[i].Suggestion, At: tasks[i].At}
			clicks = append(clicks, c)
		}
	}
	slices.SortStableFunc(clicks, func(x, y campaign.Change) int { return x.At.Compare(y.At) })
	for some := range slices.Chunk(clicks, ledger.TapPage) {
		if _, err := a.appendTaps(ctx, b, a.Store.Clicks, some); err != nil {
			return fmt.Errorf("batch %s: %w", b.BatchID, err)
		}
	}
	metrics.Add(ctx, metrics.ClicksApplied, len(clicks))
	return nil
}
