package webhooks

import (
	"context"
	"net/http"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/webhook/delivery"
)

// mostAtOnce is the maximum number of deliveries resent by one request. A delivery may
// hold some hundred webhooks.
const mostAtOnce = 300

// resendOne resends the webhook in the form, given by its ID and the time of a stored attempt,
// delivered or failed.
func (s *Pages) resendOne(p *web.Page, e delivery.Endpoint) error {
	id := p.Field("webhook")
	at, err := time.Parse(time.RFC3339, p.Field("at"))
	if err != nil || !strings.HasPrefix(id, "msg_") || len(id) > maxWebhookID {
		return campaign.ErrNotFound
	}
	a, err := s.attempt(p.R.Context(), e, delivery.Place{At: at, WebhookID: id})
	if err == nil && !a.CanResend() {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return err
	}
	return s.resend(p, e, pageOf(e), id, "endpoint.resend", func(ctx context.Context) (done string, n int, err error) {
		parked, err := s.Admin.ResendOne(ctx, e.Tenant, e.ID, id, at)
		return doneOf(parked), 1, err
	})
}

func doneOf(parked bool) string {
	if parked {
		return "resent_waits"
	}
	return "resent"
}

// resendFailed resends all webhooks that failed since the time in the form, in São
// Paulo's time zone.
func (s *Pages) resendFailed(p *web.Page, e delivery.Endpoint) error {
	since, err := localtime.Parse(p.Field("since"))
	if err != nil {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault.since"}
	}
	return s.resend(p, e, pageOf(e), "", "endpoint.resend_failed", func(ctx context.Context) (done string, n int, err error) {
		sent, err := s.Admin.ResendFailed(ctx, e.Tenant, e.ID, since, mostAtOnce)
		switch n = sent.Deliveries; {
		case sent.Parked > 0:
			return "resent_waiting", sent.Parked, err
		case n == 0:
			return "resent_none", n, err
		case n >= mostAtOnce:
			return "resent_part", n, err
		}
		return "resent_all", n, err
	})
}

// resend resends a webhook, or all with the ID "", once for each shown page. The page at the path then
// says what was resent and when it is attempted.
func (s *Pages) resend(
	p *web.Page, e delivery.Endpoint, path, id, action string, send func(context.Context) (string, int, error),
) error {
	if e.Off() {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault.endpoint_off"}
	}
	if err := web.UseFormFor(p, id, "webhooks.resend_used", path, "webhooks.endpoint"); err != nil {
		return err
	}
	if err := p.AuditOn(path, action, subject(e)); err != nil {
		return err
	}
	done, n, err := send(p.R.Context())
	if err != nil {
		return refusalOf(err)
	}
	c, err := s.Store.Circuit(p.R.Context(), e.Tenant, e.ID)
	if err != nil {
		return err
	}
	return p.Done(path, p.KeyFor("webhooks.done."+done, n), p.Number(n), p.When(s.view(e, c).NextProbe))
}
