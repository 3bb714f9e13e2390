package query

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
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
	Type       campaign.Kind    `json:"type"`
	OccurredAt time.Time        `json:"occurredAt"`
	MessageID  string           `json:"messageId"`
	UID        string           `json:"uid"`
	Phone      string           `json:"phone"`
	Status     campaign.Outcome `json:"status"`
	Code       string           `json:"code,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Erased     bool             `json:"erased,omitempty"`
}

var eventsParameters = httpapi.Parameters{"after": "invalid_after", "limit": "invalid_limit"}

// ServeEvents returns the events of a batch after a sequence.
func (s *Service) ServeEvents(w http.ResponseWriter, r *http.Request) error {
	b, query, err := s.openBatch(r, eventsParameters)
	if err != nil {
		return err
	}
	limit, err := limitOf(query)
	if err != nil {
		return err
	}
	after, err := afterOf(query)
	if err != nil {
		return err
	}
	a := eventsAnswer{CampaignID: r.PathValue("campaignId"), BatchID: b.BatchID, Batch: b.Name, Events: []event{}, NextAfter: after}
	if after < b.Head.Sequence { // without new events, only the head is read
		if err := s.fillEvents(r, &a, b, after, limit); err != nil {
			return err
		}
	}
	httpapi.WriteJSON(w, http.StatusOK, a)
	return nil
}

func afterOf(query httpapi.Query) (int, error) {
	text := query.Get("after")
	if text == "" {
		return 0, nil
	}
	after, err := strconv.Atoi(text)
	if err != nil || after < 0 {
		return 0, badRequest("invalid_after", "after must be the sequence of an event, or 0.")
	}
	return after, nil
}

func (s *Service) fillEvents(r *http.Request, a *eventsAnswer, b campaign.Progress, after, limit int) error {
	news, err := s.Store.Changes(r.Context(), b.Batch, after, limit)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	indexes := make([]int, len(news))
	for i, c := range news {
		indexes[i] = c.Index
	}
	messages, err := s.contents(r.Context(), b.Batch, indexes)
	if err != nil {
		return err
	}
	for i, c := range news {
		a.Events = append(a.Events, newEvent(b.Batch, after+1+i, c, messages[c.Index]))
	}
	a.NextAfter = after + len(news)
	a.More = a.NextAfter < b.Head.Sequence
	return nil
}

func newEvent(b campaign.Batch, sequence int, c campaign.Change, m campaign.Message) event {
	id, kind := b.Key.MessageID(c.Index), c.Outcome.Kind()
	code, reason := c.Why()
	return event{
		ID: campaign.WebhookID(id, kind), Sequence: sequence, Type: kind, OccurredAt: c.At, MessageID: id,
		UID: m.UID, Phone: m.Phone, Status: c.Outcome, Code: code, Reason: reason, Erased: m.Erased(),
	}
}
