package campaigns

import (
	"context"
	"errors"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
)

// messageWeight and titleWeight are the maximum sizes in bytes of the shown message and of a
// name.
const (
	messageWeight = 4000
	titleWeight   = 250
)

// message is the message of a campaign as a phone shows it, with the values of its first
// recipient, or with the names of the variables if the values are deleted.
type message struct {
	Phone  preview.Phone
	Cut    bool // the preview is cut
	Valued bool // it shows the values of a recipient
	Named  bool // it shows the names of variables
	Others bool // the campaign has further templates or versions
}

// message returns the message of the campaign's first batch, nil if its template is deleted
// or not the tenant's.
func (s *Pages) message(p *web.Page, c campaign.Campaign) (*message, error) {
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
	m.Phone, m.Cut = web.Phone(p, rendered(t, values), label, messageWeight)
	return m, nil
}

// sent returns the template version of a batch, and the values of its first message, if they
// are kept. The template is empty if it is deleted.
func (s *Pages) sent(ctx context.Context, b campaign.Batch) (t campaign.Template, values []string, err error) {
	t, err = s.Store.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	if errors.Is(err, campaign.ErrNotFound) {
		return t, nil, nil
	}
	if err != nil || len(t.Variables()) == 0 {
		return t, nil, err
	}
	m, err := s.Messages.Sample(ctx, b.BatchRef)
	if _, expired := errors.AsType[*httpapi.Problem](err); expired {
		return t, nil, nil
	}
	return t, m.Values, err
}

// rendered returns the content with the values, or with the names of the variables.
func rendered(t campaign.Template, values []string) content.Content {
	if len(values) == 0 {
		return t.Content
	}
	return t.Render(values)
}
