package query

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/reach"
)

const maxBatches = 500

type campaignAnswer struct {
	CampaignID string          `json:"campaignId"`
	Name       string          `json:"name"`
	Status     campaign.Status `json:"status"`
	CreatedAt  time.Time       `json:"createdAt"`
	messages
	PausedAt     time.Time     `json:"pausedAt,omitzero"`
	Cancellation *cancellation `json:"cancellation,omitempty"`
	Submission   *submission   `json:"submission,omitempty"`
	Rollout      *waves        `json:"rollout,omitempty"`
	Waiting      []waiting     `json:"waiting,omitempty"`
	Batches      []batchAnswer `json:"batches"`
	NextCursor   string        `json:"nextCursor,omitempty"`
}

type batchAnswer struct {
	BatchID    string          `json:"batchId"`
	Batch      string          `json:"batch,omitempty"`
	Status     campaign.Status `json:"status"`
	TemplateID string          `json:"templateId"`
	AcceptedAt time.Time       `json:"acceptedAt"`
	Schedule   time.Time       `json:"schedule,omitzero"`
	NotAfter   time.Time       `json:"notAfter,omitzero"`
	messages
}

// messages are those of a campaign or a batch.
type messages struct {
	Accepted int    `json:"accepted"`
	Rejected int    `json:"rejected"`
	Counts   counts `json:"counts"`
	Tapped   int    `json:"tapped,omitempty"`  // with a tapped suggestion
	Clicked  int    `json:"clicked,omitempty"` // with a clicked link
}

// counts are the accepted messages by status.
type counts struct {
	Pending   int `json:"pending"`
	Sent      int `json:"sent"`
	Delivered int `json:"delivered"`
	Read      int `json:"read"`
	Failed    int `json:"failed"`
	Expired   int `json:"expired"`
	Revoked   int `json:"revoked"`
	Stopped   int `json:"stopped"`
}

type cancellation struct {
	RequestedAt time.Time `json:"requestedAt"`
	Revoke      bool      `json:"revoke"`
	Sent        int       `json:"sent"`
	Stopped     int       `json:"stopped"`
	Revoked     int       `json:"revoked"`
	TooLate     int       `json:"tooLate"`
}

// waiting are pending messages that no function sends until something happens.
type waiting struct {
	Zone     string       `json:"zone,omitempty"`
	Messages int          `json:"messages"`
	OpensAt  time.Time    `json:"opensAt,omitzero"`
	EndsAt   time.Time    `json:"endsAt,omitzero"`
	Reason   reach.Reason `json:"reason"`
}

// submission counts the lines of the campaign's file and the people in them.
type submission struct {
	Lines          int `json:"lines"`
	Invalid        int `json:"invalid"`
	Faulty         int `json:"faulty"`
	Repeated       int `json:"repeated"`
	Erased         int `json:"erased"`
	InOtherBatches int `json:"inOtherBatches"`
	People         int `json:"people"`
	Accepted       int `json:"accepted"`
	NotAccepted    int `json:"notAccepted"`
}

var campaignParameters = httpapi.Parameters{"cursor": "invalid_cursor"}

// ServeCampaign returns the progress of a campaign. Its counts are up to answerLife old. Everything else is as it is now.
func (s *Service) ServeCampaign(w http.ResponseWriter, r *http.Request) error {
	id, query, err := s.authorize(r, campaignParameters)
	if err != nil {
		return err
	}
	after, err := query.Number("cursor", httpapi.BadCursor)
	if err != nil {
		return err
	}
	body, err := s.answer(r.Context(), asked{id, r.PathValue("campaignId"), after})
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, body)
	return nil
}

// answer returns the answer about a campaign. It reads the batches again if a recent answer is not known, or if the
// campaign has changed since.
func (s *Service) answer(ctx context.Context, k asked) (json.RawMessage, error) {
	now := s.Now()
	if recent, ok := s.answers.find(k, now); ok {
		standings, err := s.Store.Standings(ctx, k.Tenant, []string{k.CampaignID})
		if err != nil {
			return nil, fmt.Errorf("read whether a campaign has changed: %w", err)
		}
		if recent.unchanged(standings[k.CampaignID]) {
			return recent.body, nil
		}
	}
	c, err := s.Store.Campaign(ctx, k.ID)
	if err != nil {
		return nil, httpapi.Missing("read campaign", err, httpapi.NoCampaign())
	}
	body, err := s.encode(ctx, c, k, now)
	if standing, known := standingOf(c); known && err == nil {
		s.answers.keep(k, answer{body, now, standing})
	}
	return body, err
}

func (s *Service) encode(ctx context.Context, c campaign.Campaign, k asked, now time.Time) ([]byte, error) {
	a := newCampaignAnswer(c, k.after)
	a.CampaignID = k.written
	waits, err := reach.WaitingOf(ctx, s.Store, c, now)
	if err != nil {
		return nil, fmt.Errorf("read what a campaign waits for: %w", err)
	}
	for _, w := range waits {
		a.Waiting = append(a.Waiting, waiting{w.Zone.String(), w.Messages, w.OpensAt, w.EndsAt, w.Reason})
	}
	return httpapi.EncodeJSON(a)
}

func newCampaignAnswer(c campaign.Campaign, after int) campaignAnswer {
	a := campaignAnswer{Name: c.Name, Status: c.Status(), CreatedAt: c.CreatedAt, PausedAt: c.PausedSince(), Batches: []batchAnswer{}}
	last := 0
	for _, b := range c.Batches {
		a.add(b)
		switch {
		case b.Ordinal <= after:
		case len(a.Batches) < maxBatches:
			a.Batches, last = append(a.Batches, newBatchAnswer(b)), b.Ordinal
		default:
			a.NextCursor = strconv.Itoa(last)
		}
	}
	if s := c.Submission; s.Known() {
		a.Submission = &submission{s.Lines, s.Invalid, s.Faulty, s.Repeated, s.Erased, s.InOtherBatches, s.People, s.Accepted, s.NotAccepted()}
	}
	a.Rollout = wavesOf(c)
	if !c.CancelledAt.IsZero() {
		a.Cancellation = &cancellation{
			RequestedAt: c.CancelledAt, Revoke: c.Revoke, Sent: c.Cancellation().Sent,
			Stopped: a.Counts.Stopped, Revoked: a.Counts.Revoked,
			TooLate: a.Counts.Sent + a.Counts.Delivered + a.Counts.Read,
		}
	}
	return a
}

func newBatchAnswer(b campaign.BatchProgress) batchAnswer {
	a := batchAnswer{
		BatchID: b.BatchID, Batch: b.Name, Status: b.Status(), TemplateID: b.TemplateID, AcceptedAt: b.AcceptedAt,
		NotAfter: b.NotAfter,
	}
	if b.Scheduled {
		a.Schedule = b.Due
	}
	a.add(b)
	return a
}

func (m *messages) add(b campaign.BatchProgress) {
	m.Accepted, m.Rejected = m.Accepted+b.Accepted, m.Rejected+b.Rejected
	m.Tapped, m.Clicked = m.Tapped+b.Head.Tapped, m.Clicked+b.Head.Clicked
	c := &m.Counts
	c.Pending += b.Pending()
	for outcome, n := range map[campaign.Outcome]*int{
		campaign.OutcomeSent: &c.Sent, campaign.OutcomeDelivered: &c.Delivered, campaign.OutcomeRead: &c.Read,
		campaign.OutcomeFailed: &c.Failed, campaign.OutcomeExpired: &c.Expired,
		campaign.OutcomeRevoked: &c.Revoked, campaign.OutcomeStopped: &c.Stopped,
	} {
		*n += b.Head.Counts[outcome]
	}
}
