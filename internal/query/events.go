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
	Events     []event `json:"events"`
	NextAfter  int     `json:"nextAfter"`
	More       bool    `json:"more"`
}

type event struct {
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
	log, err := s.logOf(query, b)
	if err != nil {
		return err
	}
	a := eventsAnswer{CampaignID: r.PathValue("campaignId"), BatchID: b.BatchID, Batch: b.Name, Events: []event{}, NextAfter: after}
	if after < log.last { // without new events, only the head is read
		if err := s.fillEvents(r.Context(), &a, b.Batch, log, after, limit); err != nil {
			return err
		}
	}
	httpapi.WriteJSON(w, http.StatusOK, a)
	return nil
}

// eventLog is a log of a batch. read returns up to limit entries after a sequence.
type eventLog struct {
	last int // sequence
	taps bool
	read func(ctx context.Context, after, limit int) ([]campaign.Change, error)
}

func (s *Service) logOf(query httpapi.Query, b campaign.BatchProgress) (eventLog, error) {
	switch query.Get("log") {
	case "", "changes":
		return eventLog{b.Head.Sequence, false, func(ctx context.Context, after, limit int) ([]campaign.Change, error) {
			return s.Store.Changes(ctx, b.Batch, after, limit)
		}}, nil
	case "taps":
		return eventLog{b.Head.Taps, true, func(ctx context.Context, after, limit int) ([]campaign.Change, error) {
			return s.Store.TapEntries(ctx, b.Key, after, limit)
		}}, nil
	}
	return eventLog{}, httpapi.BadRequest("invalid_log", "log must be changes or taps.")
}

func (s *Service) fillEvents(ctx context.Context, a *eventsAnswer, b campaign.Batch, log eventLog, after, limit int) error {
	changes, err := log.read(ctx, after, limit)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	indexes := make([]int, len(changes))
	for i, c := range changes {
		indexes[i] = c.Index
	}
	messages, err := s.contents(ctx, b, indexes)
	if err != nil {
		return err
	}
	var template campaign.Template
	if log.taps {
		if template, err = s.template(ctx, b); err != nil {
			return err
		}
	}
	lists, err := s.listNames(ctx, b.Tenant, changes)
	if err != nil {
		return err
	}
	for i, c := range changes {
		e := newEvent(b, after+1+i, c, messages[c.Index], template)
		e.List = lists[c.List]
		a.Events = append(a.Events, e)
	}
	a.NextAfter = after + len(changes)
	a.More = a.NextAfter < log.last
	return nil
}

// template returns the template of a batch. It is empty if the template is deleted.
func (s *Service) template(ctx context.Context, b campaign.Batch) (campaign.Template, error) {
	t, err := s.Store.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return t, fmt.Errorf("read the template of taps: %w", err)
	}
	return t, nil
}

func newEvent(b campaign.Batch, sequence int, c campaign.Change, m campaign.Message, t campaign.Template) event {
	id, kind := b.Key.MessageID(c.Index), delivery.KindOf(c.Outcome)
	code, reason := c.Why()
	e := event{
		ID: delivery.WebhookID(delivery.Subject(c, b.Key), kind), Sequence: sequence, Type: kind, OccurredAt: c.At, MessageID: id,
		UID: m.UID, Phone: m.Phone, Status: c.Outcome, Code: code, Reason: reason, Erased: m.Erased(),
	}
	if c.Outcome == campaign.OutcomeTapped {
		e.Status, e.Suggestion = campaign.OutcomeRead, t.Tapped(c.Suggestion, m)
	}
	return e
}
