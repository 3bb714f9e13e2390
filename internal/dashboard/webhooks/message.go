package webhooks

import (
	"context"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/webhook/delivery"
)

// messageDetails are the events of a message, and the stored attempts to post them to an endpoint.
type messageDetails struct {
	view
	topic
	Events   []eventRow
	Attempts attemptTable
	Since    time.Time // start of the attempts that were looked at, zero for all stored ones
}

// eventRow is an event of a message, with the last stored attempt to post it.
type eventRow struct {
	query.Event
	Wanted bool // the endpoint gets such events
	Last   *row // nil for none
	Queued bool // it is queued without an attempt
}

// message is a message of a tenant's batch.
type message struct {
	campaign.Batch
	index int
}

// messageOf returns the message in the address. The error wraps campaign.ErrNotFound if the tenant has no such message.
func (s *Pages) messageOf(p *web.Page) (message, error) {
	key, index, ok := campaign.ParseMessageID(p.R.PathValue("message"))
	if !ok {
		return message{}, campaign.ErrNotFound
	}
	b, err := s.Store.FindBatch(p.R.Context(), key)
	if err == nil && (b.Tenant != p.Session.Tenant || index >= b.Accepted) {
		err = campaign.ErrNotFound
	}
	return message{b, index}, err
}

// eventsOf returns the message in the address and its events.
func (s *Pages) eventsOf(p *web.Page) (message, []query.Event, error) {
	m, err := s.messageOf(p)
	if err != nil {
		return m, nil, err
	}
	events, err := s.Messages.EventsOf(p.R.Context(), m.Batch, m.index)
	return m, events, err
}

func (s *Pages) showMessage(p *web.Page, e delivery.Endpoint) error {
	m, events, err := s.eventsOf(p)
	if err != nil {
		return err
	}
	about := []topic{{Message: m.Key.MessageID(m.index), CampaignID: m.CampaignID}}
	if len(events) > 0 {
		about[0].UID = events[0].UID
	}
	if err := s.nameCampaigns(p.R.Context(), e.Tenant, about); err != nil {
		return err
	}
	d := messageDetails{
		view: s.view(e, delivery.Circuit{}), topic: about[0], Attempts: attemptTable{EndpointID: e.ID, Off: e.Off(), Once: web.FormToken()},
	}
	attempts, since, err := s.attemptsOf(p.R.Context(), e, d.Message, events)
	if err != nil {
		return err
	}
	if d.Attempts.Rows, err = s.rowsAbout(p, e, attempts, slices.Repeat(about, len(attempts))); err != nil {
		return err
	}
	d.Since = since
	if d.Events, err = s.eventRows(p.R.Context(), e, m, events, d.Attempts.Rows); err != nil {
		return err
	}
	return p.Render("webhooks.message", "webhooks_message.html", d)
}

// attemptsOf returns attempts to post the events of a message, newest first. since is zero if all stored ones were
// looked at.
func (s *Pages) attemptsOf(
	ctx context.Context, e delivery.Endpoint, messageID string, events []query.Event,
) (of []attempt, since time.Time, err error) {
	first := firstOf(events).Add(-clockSkew)
	posts, since, err := s.Store.KeptPostsAbout(ctx, e.Tenant, e.ID, messageID, first, maxLooked)
	if err != nil {
		return nil, since, err
	}
	failures, looked, err := s.Store.FailuresAbout(ctx, e.Tenant, e.ID, messageID, first, maxLooked)
	if looked.After(since) {
		since = looked
	}
	for _, a := range merged(posts, failures) {
		if a.MessageID == messageID || a.MessageID == "" && posted(a.Payload).Message == messageID {
			of = append(of, a)
		}
	}
	return of[:min(len(of), pageLength)], since, err
}

// clockSkew is how much the provider's clock, which an event has, may be ahead.
const clockSkew = time.Hour

// firstOf returns the time of the first event, the zero time for none.
func firstOf(events []query.Event) (first time.Time) {
	for _, e := range events {
		if first.IsZero() || e.OccurredAt.Before(first) {
			first = e.OccurredAt
		}
	}
	return first
}

// eventRows returns the events, each with its last attempt.
func (s *Pages) eventRows(ctx context.Context, e delivery.Endpoint, m message, events []query.Event, attempts []row) ([]eventRow, error) {
	rows, ids := make([]eventRow, len(events)), make([]string, len(events))
	for i, event := range events {
		rows[i] = eventRow{Event: event, Wanted: wants(e, event.Type)}
		if n := slices.IndexFunc(attempts, func(a row) bool { return a.WebhookID == event.ID }); n >= 0 {
			rows[i].Last = &attempts[n]
		}
		ids[i] = delivery.Failure{Tenant: e.Tenant, EndpointID: e.ID, Entry: m.entryOf(event)}.Alone().ID
	}
	queued, err := s.Store.Deliveries(ctx, e.Tenant, e.ID, ids)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		_, waits := queued[id]
		rows[i].Queued = waits && rows[i].Last == nil
	}
	return rows, nil
}

// wants reports whether an endpoint gets events of the kind while it is enabled.
func wants(e delivery.Endpoint, kind delivery.Kind) bool {
	e.OffReason = ""
	return e.Subscribes(kind)
}

func (m message) entryOf(e query.Event) []byte {
	return ledger.PackNewEntries([]ledger.NewEntries{{Key: m.Key, Entries: []ledger.Entry{{Sequence: e.Sequence, Change: e.Change}}}})
}

// resendEvent queues the event in the form of a message, whether it was posted before or not.
func (s *Pages) resendEvent(p *web.Page, e delivery.Endpoint) error {
	m, events, err := s.eventsOf(p)
	if err != nil {
		return err
	}
	id := p.Field("webhook")
	i := slices.IndexFunc(events, func(event query.Event) bool { return event.ID == id && wants(e, event.Type) })
	if i < 0 {
		return campaign.ErrNotFound
	}
	path := pageOf(e) + "/messages/" + m.Key.MessageID(m.index)
	return s.resend(p, e, path, id, "endpoint.resend", func(ctx context.Context) (done string, n int, err error) {
		parked, err := s.Admin.ResendEntry(ctx, e.Tenant, e.ID, m.entryOf(events[i]))
		return doneOf(parked), 1, err
	})
}
