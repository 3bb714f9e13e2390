// Package webhooks shows the webhook endpoints of a tenant, their state and their
// failures. Admins can change them.
package webhooks

import (
	"context"
	"embed"
	"net/http"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// Store reads endpoints, their state and their failures.
type Store interface {
	// Endpoints returns the endpoints of a tenant, disabled ones included.
	Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error)
	// Endpoint returns an endpoint. The error wraps campaign.ErrNotFound if there is none.
	Endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error)
	// Circuit returns the circuit of an endpoint. Without one, only Tenant and EndpointID are set.
	Circuit(ctx context.Context, tenant, endpointID string) (delivery.Circuit, error)
	// HourlyPosts returns the hours with posts since an instant, in order.
	HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]delivery.HourlyPosts, error)
	// FailuresBefore returns up to limit failures before a place, newest first.
	FailuresBefore(ctx context.Context, tenant, endpointID string, before delivery.Place, limit int) ([]delivery.Failure, error)
	// KeptPostsBefore is FailuresBefore for kept posts, without their answers.
	KeptPostsBefore(ctx context.Context, tenant, endpointID string, before delivery.Place, limit int) ([]delivery.KeptPost, error)
	// FailuresAbout returns those about a message after a time, and those that do not name theirs, among the last limit.
	// looked is the time of the oldest that was looked at, zero for all.
	FailuresAbout(ctx context.Context, tenant, endpointID, messageID string, after time.Time, limit int) (about []delivery.Failure, looked time.Time, err error)
	// KeptPostsAbout is FailuresAbout for kept posts, without their answers.
	KeptPostsAbout(ctx context.Context, tenant, endpointID, messageID string, after time.Time, limit int) (about []delivery.KeptPost, looked time.Time, err error)
	// KeptPost returns the kept post of a webhook at a time. The error wraps
	// campaign.ErrNotFound if there is none.
	KeptPost(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.KeptPost, error)
	// Failure returns the failure of a webhook at a time. The error wraps
	// campaign.ErrNotFound if there is none.
	Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.Failure, error)
	// Deliveries returns up to 100 deliveries to an endpoint by ID, without those of which all is posted.
	Deliveries(ctx context.Context, tenant, endpointID string, ids []string) (map[string]delivery.Delivery, error)
	// FindBatch returns an error that wraps campaign.ErrNotFound if there is no batch with the key.
	FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error)
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Standings returns the summaries of up to 50 campaigns by ID.
	Standings(ctx context.Context, tenant string, campaignIDs []string) (map[string]campaign.Summary, error)
}

// Pages are the pages of the webhook endpoints.
type Pages struct {
	Store    Store
	Messages *query.Service
	Admin    *settings.Service
	Poster   webhook.Poster
	Now      func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of webhooks.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"webhooks", "audit"}} }

// Path is the path of the endpoints.
const Path = web.Root + "/settings/webhooks"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleViewer, s.list)
	ui.Get(mux, Path+"/new", web.RoleAdmin, s.ask)
	ui.Post(mux, Path, web.RoleAdmin, s.create)
	ui.Get(mux, Path+"/{id}", web.RoleViewer, web.With(s.find, s.show))
	ui.Get(mux, Path+"/{id}/posts/{post}", web.RoleViewer, web.With(s.find, s.showPost))
	ui.Get(mux, Path+"/{id}/messages/{message}", web.RoleViewer, web.With(s.find, s.showMessage))
	ui.Post(mux, Path+"/{id}/messages/{message}/resend", web.RoleAdmin, web.With(s.find, s.resendEvent))
	ui.Get(mux, Path+"/{id}/kinds", web.RoleAdmin, web.With(s.find, s.askKinds))
	ui.Post(mux, Path+"/{id}/kinds", web.RoleAdmin, web.With(s.find, s.changeKinds))
	ui.Get(mux, Path+"/{id}/rotate", web.RoleAdmin, web.With(s.find, s.askRotation))
	ui.Post(mux, Path+"/{id}/rotate", web.RoleAdmin, web.With(s.find, s.rotate))
	ui.Get(mux, Path+"/{id}/off", web.RoleAdmin, web.With(s.find, s.askOff))
	ui.Post(mux, Path+"/{id}/off", web.RoleAdmin, web.With(s.find, s.switchOff))
	ui.Post(mux, Path+"/{id}/on", web.RoleAdmin, web.With(s.find, s.switchOn))
	ui.Post(mux, Path+"/{id}/test", web.RoleAdmin, web.With(s.find, s.test))
	ui.Post(mux, Path+"/{id}/resend", web.RoleAdmin, web.With(s.find, s.resendOne))
	ui.Post(mux, Path+"/{id}/resend-failed", web.RoleAdmin, web.With(s.find, s.resendFailed))
}

// view is an endpoint without its secrets, and without the query of its URL, which may
// contain one.
type view struct {
	ID, URL      string
	Name         string   // host and path
	Kinds        []string // none for all message kinds
	Off          string   // why it is disabled, "" while it is enabled
	OffAt        time.Time
	TwoUntil     time.Time // until then webhooks have two signatures
	FailingSince time.Time // zero while it is healthy
	NextProbe    time.Time
}

func (s *Pages) view(e delivery.Endpoint, c delivery.Circuit) view {
	v := view{ID: e.ID, Kinds: e.Kinds, Off: e.OffReason, OffAt: e.OffAt}
	if allOfMessages(e.Kinds) {
		v.Kinds = nil
	}
	v.Name, v.URL = web.Address(e.URL)
	v.Name, v.URL = web.Short(v.Name, nameWeight), web.Short(v.URL, addressWeight)
	if e.PreviousSecret != "" && e.PreviousUntil.After(s.Now()) {
		v.TwoUntil = e.PreviousUntil
	}
	if c.Open() && !e.Off() {
		v.FailingSince, v.NextProbe = c.Since, c.Next
	}
	return v
}

// listed is an endpoint in the list, with its posts in the last 24 hours.
type listed struct {
	view
	Accepted, Failed int
}

func (s *Pages) list(p *web.Page) error {
	endpoints, err := s.Store.Endpoints(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	var rows []listed
	for _, e := range endpoints {
		c, err := s.Store.Circuit(p.R.Context(), e.Tenant, e.ID)
		if err != nil {
			return err
		}
		d, err := s.day(p.R.Context(), e)
		if err != nil {
			return err
		}
		row := listed{s.view(e, c), d.Accepted, d.Failed}
		row.URL = web.Short(row.URL, nameWeight)
		rows = append(rows, row)
	}
	return p.Render("webhooks.title", "webhooks.html", rows)
}

func (s *Pages) find(p *web.Page) (delivery.Endpoint, error) {
	const maxID = 128
	id := p.R.PathValue("id")
	if len(id) > maxID {
		return delivery.Endpoint{}, campaign.ErrNotFound
	}
	return s.Store.Endpoint(p.R.Context(), p.Session.Tenant, id)
}

// Maximum sizes in bytes of a URL, and of the name shown for it.
const (
	addressWeight = 2100
	nameWeight    = 200
)

type details struct {
	view
	Day   day
	Log   logPage
	Since string  // initial value of the form for resending all
	Test  *tested // nil for none
	Once  string
}

type tested struct {
	Accepted bool
	Reason   string // in the reader's language
	Millis   int
	At       time.Time
}

func pageOf(e delivery.Endpoint) string { return Path + "/" + e.ID }

// reason describes an endpoint's answer, or why there was none.
func reason(p *web.Page, status int, code string) string {
	if status > 0 {
		return p.T(meaning(status), status, http.StatusText(status))
	}
	return p.Known("webhooks.code."+code, code)
}

// meaning returns the key of what an endpoint's status means.
func meaning(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "webhooks.status.access"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return "webhooks.status.missing"
	case status == http.StatusGone:
		return "webhooks.status.gone"
	case status == http.StatusTooManyRequests:
		return "webhooks.status.busy"
	case status >= http.StatusInternalServerError:
		return "webhooks.status.broken"
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return "webhooks.status.moved"
	case status >= http.StatusBadRequest:
		return "webhooks.status.refused"
	}
	return "webhooks.answered"
}

func (s *Pages) show(p *web.Page, e delivery.Endpoint) error {
	return s.showEndpoint(p, e, nil)
}

func (s *Pages) showEndpoint(p *web.Page, e delivery.Endpoint, test *tested) error {
	ctx := p.R.Context()
	c, err := s.Store.Circuit(ctx, e.Tenant, e.ID)
	if err != nil {
		return err
	}
	d := details{view: s.view(e, c), Since: p.Local(s.Now().Add(-24 * time.Hour)), Test: test, Once: web.FormToken()}
	if d.Day, err = s.day(ctx, e); err != nil {
		return err
	}
	if d.Log, err = s.log(p, e); err != nil {
		return err
	}
	d.Log.Once = d.Once
	return p.Render("webhooks.endpoint", "webhooks_endpoint.html", d)
}

// test posts a test event. It answers with a part of the page for scripts.
func (s *Pages) test(p *web.Page, e delivery.Endpoint) error {
	if err := p.AuditOn(pageOf(e), "endpoint.test", subject(e)); err != nil {
		return err
	}
	result, err := s.Poster.Test(p.R.Context(), e)
	if err != nil {
		return err
	}
	t := &tested{
		Accepted: result.Code == "", Reason: reason(p, result.Status, result.Code), Millis: int(result.Took.Milliseconds()), At: result.At,
	}
	if p.Partial() {
		return p.Fragment("webhooks_test.html", details{Test: t})
	}
	return s.showEndpoint(p, e, t)
}

// subject names an endpoint in the audit log without its path: a path may be a secret,
// and the log is kept for longer.
func subject(e delivery.Endpoint) string { return host(e.URL) + " (" + e.ID + ")" }

func host(address string) string {
	name, _ := web.Address(address)
	host, _, _ := strings.Cut(name, "/")
	return host
}

func refusalOf(err error) error {
	if fault := web.FaultOf("webhooks.fault.", err); fault != "" {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: fault}
	}
	return err
}

// useForm marks the form as sent. A repeated submission, as by reloading the page with
// the secret, is redirected to the list.
func (s *Pages) useForm(p *web.Page) error {
	return web.UseForm(p, "webhooks.form_used", Path, "webhooks.all")
}
