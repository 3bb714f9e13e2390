package webhooks

import (
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

// maxWebhookID is the maximum length of a webhook's ID.
const maxWebhookID = len("msg_") + 64

// resendOne resends the webhook in the form, given by its ID and the time of its
// failure.
func (s *Pages) resendOne(p *web.Page, e delivery.Endpoint) error {
	id := p.Field("webhook")
	at, err := time.Parse(time.RFC3339, p.Field("at"))
	if err != nil || !strings.HasPrefix(id, "msg_") || len(id) > maxWebhookID {
		return campaign.ErrNotFound
	}
	if err := resendable(e); err != nil {
		return err
	}
	if _, err := s.Store.Failure(p.R.Context(), e.Tenant, e.ID, id, at); err != nil {
		return err
	}
	if err := s.useResend(p, e, id); err != nil {
		return err
	}
	if err := p.AuditOn(Path+"/"+e.ID, "endpoint.resend", subject(e)); err != nil {
		return err
	}
	waiting, err := s.Admin.ResendOne(p.R.Context(), e.Tenant, e.ID, id, at)
	if err != nil {
		return refusal(err)
	}
	done, n := "resent", 1
	if waiting {
		done = "resent_waits"
	}
	return s.resent(p, e, done, n)
}

// resendable refuses to resend to a disabled endpoint, before the audit log is written.
func resendable(e delivery.Endpoint) error {
	if e.Off() {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault.endpoint_off"}
	}
	return nil
}

// useResend marks the resend of a webhook, or of all with "", as requested on this page.
func (s *Pages) useResend(p *web.Page, e delivery.Endpoint, webhookID string) error {
	return s.Once.UseFor(p, webhookID, "webhooks.resend_used", Path+"/"+e.ID, "webhooks.endpoint")
}

// resendFailed resends all webhooks that failed since the time in the form, in São
// Paulo's time zone.
func (s *Pages) resendFailed(p *web.Page, e delivery.Endpoint) error {
	since, err := localtime.Parse(p.Field("since"))
	if err != nil {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault.since"}
	}
	if err := resendable(e); err != nil {
		return err
	}
	if err := s.useResend(p, e, ""); err != nil {
		return err
	}
	if err := p.AuditOn(Path+"/"+e.ID, "endpoint.resend_failed", subject(e)); err != nil {
		return err
	}
	sent, err := s.Admin.ResendFailed(p.R.Context(), e.Tenant, e.ID, since, mostAtOnce)
	if err != nil {
		return refusal(err)
	}
	done, n := "resent_all", sent.Deliveries
	switch {
	case sent.Waiting > 0:
		done, n = "resent_waiting", sent.Waiting
	case n == 0:
		done = "resent_none"
	case n >= mostAtOnce:
		done = "resent_part"
	}
	return s.resent(p, e, done, n)
}

// resent shows the endpoint's page, which says what was resent and when it is attempted.
func (s *Pages) resent(p *web.Page, e delivery.Endpoint, done string, n int) error {
	c, err := s.Store.Circuit(p.R.Context(), e.Tenant, e.ID)
	if err != nil {
		return err
	}
	return p.Done(Path+"/"+e.ID, p.KeyFor("webhooks.done."+done, n), p.Number(n), p.When(s.view(e, c).NextProbe))
}
