package exports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/exports/export"
)

// statusNotAccepted is the status of people without a message, because their part of the
// campaign's file is not accepted any more.
const statusNotAccepted = "not_accepted"

// history has the times of a message's outcomes.
type history struct {
	latest                       campaign.Change // the zero Change without an outcome
	sent, delivered, read, ended time.Time
}

func (h *history) add(c campaign.Change) {
	h.latest = c
	switch c.Outcome {
	case campaign.OutcomeSent:
		h.sent = c.At
	case campaign.OutcomeDelivered:
		h.delivered = c.At
	case campaign.OutcomeRead:
		h.read = c.At
	case campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped:
		h.ended = c.At
	case campaign.OutcomeTapped, campaign.OutcomeClicked: // entries of other logs
	}
}

// sentBy returns when the message was sent. The receipt of a fast message can be recorded before the end
// of its sending, which is then not recorded: the message was sent by the time of the receipt.
func (h *history) sentBy() time.Time { return cmp.Or(h.sent, h.delivered, h.read) }

func (w *writer) addBatch(ctx context.Context, t *table, b campaign.Batch, at export.Batch) error {
	switch t.Kind {
	case export.Rejected:
		return w.addRejected(ctx, t, b)
	case export.Recipients:
		return w.addRecipients(ctx, t, b, at)
	case export.Outcomes:
	}
	return w.addOutcomes(ctx, t, b, at)
}

func (w *writer) addOutcomes(ctx context.Context, t *table, b campaign.Batch, at export.Batch) error {
	r, err := w.read(ctx, b, at)
	if err != nil {
		return err
	}
	wave := w.totals.Cells.WaveOfBatch(b)
	for i, h := range r.histories {
		status := h.latest.Status()
		if len(t.Statuses) > 0 && !slices.Contains(t.Statuses, status) {
			continue
		}
		t.addOutcome(
			wave, t.phone(r.messages[i].Phone.String()), r.messages[i].UID, t.outcome(h.latest), t.reason(h.latest),
			t.time(h.sentBy()), t.time(h.delivered), t.time(h.read), t.time(h.ended),
			strings.Join(r.taps.tapped[i], " | "), strings.Join(r.taps.clicked[i], " | "),
		)
	}
	return nil
}

// batchRead is what the lines of a batch are made of.
type batchRead struct {
	histories []history
	messages  []campaign.Message
	taps      tapped
}

func (m *Maker) read(ctx context.Context, b campaign.Batch, at export.Batch) (r batchRead, err error) {
	if r.histories, err = m.histories(ctx, b, at.Sequence); err != nil {
		return r, err
	}
	if r.messages, err = m.messages(ctx, b); err != nil {
		return r, err
	}
	r.taps, err = m.taps(ctx, b, at, r.messages)
	return r, err
}

func (m *Maker) histories(ctx context.Context, b campaign.Batch, sequence int) ([]history, error) {
	all := make([]history, b.Accepted)
	if sequence == 0 {
		return all, nil
	}
	changes, err := m.Store.Changes(ctx, b, 0, sequence)
	if err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	for _, c := range changes {
		if c.Index < len(all) {
			all[c.Index].add(c)
		}
	}
	return all, nil
}

// messages returns the messages of a batch. They are empty if they have expired.
func (m *Maker) messages(ctx context.Context, b campaign.Batch) ([]campaign.Message, error) {
	messages, err := payload.LatestAll(ctx, m.Store.Batch, m.Blobs, b)
	if errors.Is(err, campaign.ErrNotFound) {
		return make([]campaign.Message, b.Accepted), nil
	}
	if err == nil && len(messages) < b.Accepted {
		err = campaign.ErrDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("read the messages of batch %s: %w", b.BatchID, err)
	}
	return messages, nil
}

// tapped are the texts of the suggestions that were tapped and of the links that were
// clicked, by the index of the message.
type tapped struct{ tapped, clicked map[int][]string }

func (m *Maker) taps(ctx context.Context, b campaign.Batch, at export.Batch, messages []campaign.Message) (t tapped, err error) {
	if at.Taps+at.Clicks == 0 {
		return t, nil
	}
	template, err := m.Store.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return t, fmt.Errorf("read the template of taps: %w", err)
	}
	taps, clicks, err := ledger.FirstTaps(ctx, m.Store, b.Key, at.Taps, at.Clicks)
	if err != nil {
		return t, err
	}
	return tapped{textsOf(template, taps, messages), textsOf(template, clicks, messages)}, nil
}

func textsOf(t campaign.Template, log []campaign.Change, messages []campaign.Message) map[int][]string {
	all := map[int][]string{}
	for _, c := range log {
		if c.Index >= len(messages) {
			continue
		}
		text := strconv.Itoa(c.Suggestion)
		if s := t.Tapped(c.Suggestion, messages[c.Index]); s != nil {
			text = s.Text
		}
		all[c.Index] = append(all[c.Index], text)
	}
	return all
}

// addRejected adds the rejected numbers of a batch. Error files that have expired have none.
func (m *Maker) addRejected(ctx context.Context, t *table, b campaign.Batch) error {
	file, err := m.Blobs.Get(ctx, campaign.ErrorFileKey(b.ErrorFile))
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the error file of batch %s: %w", b.BatchID, err)
	}
	lines, err := campaign.ReadErrorFile(file)
	if err != nil {
		return fmt.Errorf("batch %s: %w", b.BatchID, err)
	}
	for _, l := range lines {
		t.add(l.Line, l.Phone, l.Code, t.rejection(l))
	}
	return nil
}
