package campaigns

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/query/search"
)

const messagesShown = 25 // on a page

type messagesPage struct {
	campaign.Campaign
	Phone, UID, Batch, Status string
	Statuses                  []string
	Found                     []search.Message
	Next                      string
	Refusal                   *web.Refusal // why the search is invalid
}

// reactions are the statuses of the form that are no status of a message.
var reactions = []search.Reaction{search.ReactionTapped, search.ReactionOptedOut, search.ReactionSuppressed}

// messages shows the messages of a search without a phone number.
func (s *Pages) messages(p *web.Page) error {
	return s.found(p, messagesPage{UID: p.Query("uid"), Batch: p.Query("batch"), Status: p.Query("status")}, p.Query("cursor"))
}

// findMessages shows the messages of a phone number. A search without one has an address.
func (s *Pages) findMessages(p *web.Page) error {
	m := messagesPage{Phone: p.Field("phone"), UID: p.Field("uid"), Batch: p.Field("batch"), Status: p.Field("status")}
	if m.Phone == "" {
		return p.Redirect(p.R.URL.Path + "?" + url.Values{"uid": {m.UID}, "batch": {m.Batch}, "status": {m.Status}}.Encode())
	}
	return s.found(p, m, p.Field("cursor"))
}

func (s *Pages) found(p *web.Page, m messagesPage, cursor string) (err error) {
	read := s.Store.Dispatched
	if m.Status != "" { // skips batches without such messages
		read = s.Store.Campaign
	}
	if m.Campaign, err = web.CampaignInPath(read)(p); err != nil {
		return err
	}
	m.UID, m.Batch = strings.TrimSpace(m.UID), strings.TrimSpace(m.Batch)
	m.Statuses = campaign.MessageStatuses()
	for _, r := range reactions {
		m.Statuses = append(m.Statuses, string(r))
	}
	found, err := s.Messages.Find(p.R.Context(), m.Campaign, m.asked(cursor))
	m.Next, m.Found = found.Next, found.Messages
	problem, _ := errors.AsType[*httpapi.Problem](err)
	if refusal, ok := refusalOf(p, err); ok && problem.Code != "invalid_cursor" {
		m.Refusal, err = refusal, nil
	}
	if err != nil {
		return refused(p, err)
	}
	status := http.StatusOK
	if m.Refusal != nil {
		status = m.Refusal.Status
	}
	return p.RenderStatus(status, "campaigns.messages", "campaigns_messages.html", m)
}

// asked returns the search. The batch is optional.
func (m messagesPage) asked(cursor string) search.Query {
	asked := search.Query{Status: m.Status, Cursor: cursor, Limit: messagesShown, AllBatches: true}
	if reaction := search.Reaction(m.Status); slices.Contains(reactions, reaction) {
		asked.Status, asked.Reaction = "", reaction
	}
	if m.Phone != "" {
		asked.Phone = &m.Phone
	}
	if m.UID != "" {
		asked.UID = &m.UID
	}
	if m.Batch != "" {
		asked.Batch = &m.Batch
	}
	return asked
}

const batchesToChoose = 100 // in the selection list

// Several reports whether the campaign has several parts, so that a message names its own.
func (m messagesPage) Several() bool { return len(m.Batches) > 1 }

func (m messagesPage) Choose() bool { return len(m.Batches) <= batchesToChoose }

// messageWeight and titleWeight are the maximum sizes in bytes of the shown message and of a
// name.
const (
	messageWeight = 4000
	titleWeight   = 250
)

// message is the message of a campaign as a phone shows it, with the values of its first
// recipient, or with the names of the variables if the values are deleted.
type message struct {
	Phone preview.Phone
	content.Thumbnail

	Cut    bool // the preview is cut
	Valued bool // it shows the values of a recipient
	Named  bool // it shows the names of variables
	Others bool // the campaign has further templates or versions
	Noted  bool // its buttons show how often they were tapped
}

// message returns the message of the campaign's first batch with notes on its buttons, nil if its template is
// deleted or not the tenant's.
func (s *Pages) message(p *web.Page, c campaign.Campaign, notes []preview.Note) (*message, error) {
	if len(c.Batches) == 0 {
		return nil, nil
	}
	first := c.Batches[0].Batch
	t, values, err := s.sent(p.R.Context(), first)
	if err != nil || t.Tenant != first.Tenant {
		return nil, err
	}
	p.ShowMedia()
	m := &message{Valued: len(values) > 0, Named: len(values) == 0 && len(t.Variables()) > 0, Others: !sameTemplate(c)}
	label := p.T("campaigns.message_of", web.Short(t.Name, titleWeight))
	shown := rendered(t, values)
	m.Phone, m.Cut = web.Phone(p, shown, label, messageWeight)
	m.Thumbnail = shown.Thumbnail()
	if m.Noted = len(notes) > 0; m.Noted {
		m.Phone.Annotate(func(n int) string { return notes[n-1].Text })
	}
	return m, nil
}

// sent returns the template version of a batch, and the values of its first message, if they
// are kept. The template is empty if it is deleted.
func (s *Pages) sent(ctx context.Context, b campaign.Batch) (t campaign.Template, values []string, err error) {
	t, err = s.version(ctx, b.Tenant, b.TemplateID, b.TemplateVersion)
	if err != nil || len(t.Variables()) == 0 {
		return t, nil, err
	}
	m, err := s.Messages.Sample(ctx, b.BatchRef)
	if _, expired := errors.AsType[*httpapi.Problem](err); expired {
		return t, nil, nil
	}
	return t, m.Values, err
}

func rendered(t campaign.Template, values []string) content.Content {
	if len(values) == 0 {
		return t.Content
	}
	return t.Render(values)
}
