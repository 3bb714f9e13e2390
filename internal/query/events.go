package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/webhook/delivery"
)

type eventsAnswer struct {
	CampaignID string  `json:"campaignId"`
	BatchID    string  `json:"batchId"`
	Batch      string  `json:"batch,omitempty"`
	Events     []Event `json:"events"`
	NextAfter  int     `json:"nextAfter"`
	More       bool    `json:"more"`
}

// Event is a change or a tap of a message, as its webhook reports it.
type Event struct {
	ID         string           `json:"id"` // same as the webhook's
	Sequence   int              `json:"sequence"`
	Type       delivery.Kind    `json:"type"`
	OccurredAt time.Time        `json:"occurredAt"`
	MessageID  string           `json:"messageId"`
	UID        string           `json:"uid"`
	Phone      string           `json:"phone"`
	Status     campaign.Outcome `json:"status"`
	Code       string           `json:"code,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	List       string           `json:"list,omitempty"`
	Erased     bool             `json:"erased,omitempty"`

	Suggestion *campaign.TappedSuggestion `json:"suggestion,omitempty"` // of a tap

	Change campaign.Change `json:"-"` // its entry in the log
}

var eventsParameters = httpapi.Parameters{"after": "invalid_after", "limit": "invalid_limit", "log": "invalid_log"}

// ServeEvents returns the events of a batch after a sequence: of the log of changes, or of
// the log of taps. Each log has its own sequence.
func (s *Service) ServeEvents(w http.ResponseWriter, r *http.Request) error {
	b, query, err := s.openBatch(r, eventsParameters)
	if err != nil {
		return err
	}
	limit, err := query.Limit()
	if err != nil {
		return err
	}
	after, err := query.Number("after", "after must be the sequence of an event, or 0.")
	if err != nil {
		return err
	}
	log, err := logOf(query, b)
	if err != nil {
		return err
	}
	a := eventsAnswer{CampaignID: r.PathValue("campaignId"), BatchID: b.BatchID, Batch: b.Name, Events: []Event{}, NextAfter: after}
	if after < log.last { // without new events, only the head is read
		a.Events, err = s.events(r.Context(), b.Batch, log, after, limit, func(campaign.Change) bool { return true })
		if err != nil {
			return err
		}
		a.NextAfter = after + len(a.Events)
		a.More = a.NextAfter < log.last
	}
	httpapi.WriteJSON(w, http.StatusOK, a)
	return nil
}

// eventLog is a log of a batch: of its changes, or of its taps.
type eventLog struct {
	last int // sequence
	taps bool
}

func logOf(query httpapi.Query, b campaign.BatchProgress) (eventLog, error) {
	switch query.Get("log") {
	case "", "changes":
		return eventLog{b.Head.Sequence, false}, nil
	case "taps":
		return eventLog{b.Head.Taps, true}, nil
	}
	return eventLog{}, httpapi.BadRequest("invalid_log", "log must be changes or taps.")
}

// read returns up to limit entries of a log after a sequence.
func (s *Service) read(ctx context.Context, b campaign.Batch, log eventLog, after, limit int) ([]campaign.Change, error) {
	if log.taps {
		return s.Store.TapEntries(ctx, b.Key, after, limit)
	}
	return s.Store.Changes(ctx, b, after, limit)
}

// EventsOf returns the events of a message: its changes, and then its taps, each in the order of its log. It
// reads the logs of the batch. The error is a *httpapi.Problem if the contents are deleted.
func (s *Service) EventsOf(ctx context.Context, b campaign.Batch, index int) (of []Event, err error) {
	logs := []eventLog{{campaign.MaxChanges, false}}
	if len(b.TapKey) > 0 { // otherwise no taps are counted
		logs = append(logs, eventLog{campaign.MaxTaps, true})
	}
	for _, log := range logs {
		all, err := s.events(ctx, b, log, 0, log.last, func(c campaign.Change) bool { return c.Index == index })
		if err != nil {
			return nil, err
		}
		of = append(of, all...)
	}
	return of, nil
}

// events returns the wanted events among up to limit events of a log after a sequence.
func (s *Service) events(
	ctx context.Context, b campaign.Batch, log eventLog, after, limit int, wanted func(campaign.Change) bool,
) ([]Event, error) {
	changes, err := s.read(ctx, b, log, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	var indexes []int
	for _, c := range changes {
		if wanted(c) {
			indexes = append(indexes, c.Index)
		}
	}
	messages, err := s.Contents(ctx, b, indexes)
	if err != nil {
		return nil, err
	}
	var template campaign.Template
	if log.taps && len(indexes) > 0 {
		if template, err = s.template(ctx, b); err != nil {
			return nil, err
		}
	}
	lists, err := s.listNames(ctx, b.Tenant, changes)
	if err != nil {
		return nil, err
	}
	events := []Event{}
	for i, c := range changes {
		if wanted(c) {
			e := newEvent(b, after+1+i, c, messages[c.Index], template)
			e.List = lists[c.List]
			events = append(events, e)
		}
	}
	return events, nil
}

// template returns the template of a batch. It is empty if the template is deleted.
func (s *Service) template(ctx context.Context, b campaign.Batch) (campaign.Template, error) {
	t, err := s.Store.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return t, fmt.Errorf("read the template of taps: %w", err)
	}
	return t, nil
}

func newEvent(b campaign.Batch, sequence int, c campaign.Change, m campaign.Message, t campaign.Template) Event {
	id, kind := b.Key.MessageID(c.Index), delivery.KindOf(c.Outcome)
	code, reason := c.Why()
	e := Event{
		ID: delivery.WebhookID(delivery.Subject(c, b.Key), kind), Sequence: sequence, Type: kind, OccurredAt: c.At, MessageID: id,
		UID: m.UID, Phone: m.Phone.String(), Status: c.Outcome, Code: code, Reason: reason, Erased: m.Erased(), Change: c,
	}
	if c.Outcome == campaign.OutcomeTapped {
		e.Status, e.Suggestion = campaign.OutcomeRead, t.Tapped(c.Suggestion, m)
	}
	return e
}
