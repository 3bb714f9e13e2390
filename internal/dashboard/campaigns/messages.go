package campaigns

import (
	"errors"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/webui"
)

// messagesShown is how many messages a page lists.
const messagesShown = 25

// messagesPage is a search for messages and what it found.
type messagesPage struct {
	campaign.Campaign
	Phone, UID, Batch, Status string
	Statuses                  []string
	Found                     []foundView
	Next                      string
	Refusal                   *webui.Refusal // why nothing could be looked for
}

type foundView struct {
	campaign.FoundMessage
	ID     string
	Status string
	Code   string
}

var messageStatuses = []string{"pending", "sent", "delivered", "read", "failed", "expired", "revoked", "stopped"}

func (s *Pages) messages(p *webui.Page) error {
	c, err := s.campaign(p)
	if err != nil {
		return err
	}
	m := messagesPage{
		Campaign: c, Phone: strings.TrimSpace(p.Query("phone")), UID: strings.TrimSpace(p.Query("uid")),
		Batch: strings.TrimSpace(p.Query("batch")), Status: p.Query("status"), Statuses: messageStatuses,
	}
	found, err := s.Messages.Find(p.R.Context(), c, m.asked(p.Query("cursor")))
	m.Next = found.Next
	problem, _ := errors.AsType[*gateway.Problem](err)
	if refusal, ok := refusalOf(p, err); ok && problem.Code != "invalid_cursor" {
		m.Refusal, err = refusal, nil
	}
	if err != nil {
		return refused(p, err)
	}
	for _, f := range found.Messages {
		m.Found = append(m.Found, newFoundView(f))
	}
	status := 200
	if m.Refusal != nil {
		status = m.Refusal.Status
	}
	return p.RenderStatus(status, "campaigns.messages", "campaigns_messages.html", m)
}

// asked is what is looked for. A number may be written as people do, and one
// batch need not be named.
func (m messagesPage) asked(cursor string) campaign.Search {
	asked := campaign.Search{Status: m.Status, Cursor: cursor, Limit: messagesShown}
	if phone := international(m.Phone); phone != "" {
		asked.Phone = &phone
	}
	if m.UID != "" {
		asked.UID = &m.UID
	}
	switch {
	case m.Batch != "":
		asked.Batch = &m.Batch
	case asked.UID != nil && len(m.Batches) == 1:
		asked.Batch = &m.Batches[0].BatchID
	}
	return asked
}

// international returns a number in the form that is searched for: of Brazil where
// it names no country.
func international(phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, phone)
	switch {
	case strings.HasPrefix(phone, "+") && digits != "":
		return "+" + digits
	case len(digits) == 10 || len(digits) == 11:
		return "+55" + digits
	case (len(digits) == 12 || len(digits) == 13) && strings.HasPrefix(digits, "55"):
		return "+" + digits
	}
	return phone
}

func newFoundView(f campaign.FoundMessage) foundView {
	v := foundView{FoundMessage: f, ID: f.Batch.Key.MessageID(f.Index), Status: "pending"}
	if f.Latest.Outcome != "" {
		v.Status = string(f.Latest.Outcome)
		v.Code, _ = f.Latest.Why()
	}
	return v
}
