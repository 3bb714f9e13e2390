// Package webhooks shows the webhook endpoints of a tenant to its people, how they
// fare and what was not taken, and lets admins change them.
package webhooks

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Store reads endpoints and how they fare.
type Store interface {
	Endpoints(ctx context.Context, tenant string) ([]campaign.Endpoint, error)
	Endpoint(ctx context.Context, tenant, id string) (campaign.Endpoint, error)
	Circuit(ctx context.Context, tenant, endpointID string) (campaign.Circuit, error)
	HourlyPosts(ctx context.Context, tenant, endpointID string, since time.Time) ([]campaign.HourlyPosts, error)
	// Failures returns the last failures, the last one first.
	Failures(ctx context.Context, tenant, endpointID string, limit int) ([]campaign.WebhookFailure, error)
	// Failure returns that of a webhook at an instant; the error wraps
	// campaign.ErrNotFound where there is none.
	Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (campaign.WebhookFailure, error)
}

// Admin changes endpoints, and lets webhooks be posted again. Its errors of type
// *campaign.InputError say what is wrong with what was entered.
type Admin interface {
	CheckNewEndpoint(ctx context.Context, tenant, address string, kinds []string) error
	CreateEndpoint(ctx context.Context, tenant, address string, kinds []string) (campaign.Endpoint, error)
	CheckKinds(kinds []string) error
	ChangeKinds(ctx context.Context, tenant, id string, kinds []string) error
	RotateEndpoint(ctx context.Context, tenant, id string, keep time.Duration) (campaign.RotatedSecret, error)
	EnableEndpoint(ctx context.Context, tenant, id string) error
	DisableEndpoint(ctx context.Context, tenant, id string) error
	ResendOne(ctx context.Context, tenant, id, webhookID string, at time.Time) (waiting bool, err error)
	ResendFailed(ctx context.Context, tenant, id string, since time.Time, most int) (campaign.Resent, error)
}

// Poster posts a webhook that tells of nothing to an endpoint.
type Poster interface {
	Test(ctx context.Context, e campaign.Endpoint) (campaign.PostResult, error)
}

// Pages are the pages of the webhook endpoints.
type Pages struct {
	Store  Store
	Admin  Admin
	Poster Poster
	Once   web.SubmitToken
	Now    func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() web.Area { return web.Area{Files: files} }

// Path is where the endpoints are.
const Path = web.Root + "/settings/webhooks"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.View(mux, Path, s.list)
	ui.AdminView(mux, Path+"/new", s.ask)
	ui.Change(mux, Path, s.create)
	ui.View(mux, Path+"/{id}", s.show)
	ui.AdminView(mux, Path+"/{id}/kinds", s.askKinds)
	ui.Change(mux, Path+"/{id}/kinds", s.changeKinds)
	ui.AdminView(mux, Path+"/{id}/rotate", s.askRotation)
	ui.Change(mux, Path+"/{id}/rotate", s.rotate)
	ui.AdminView(mux, Path+"/{id}/off", s.askOff)
	ui.Change(mux, Path+"/{id}/off", s.switchOff)
	ui.Change(mux, Path+"/{id}/on", s.switchOn)
	ui.Change(mux, Path+"/{id}/test", s.test)
	ui.Change(mux, Path+"/{id}/resend", s.resendOne)
	ui.Change(mux, Path+"/{id}/resend-failed", s.resendFailed)
}

// view is an endpoint as it is shown: without its secrets, and without what may be
// one in its address.
type view struct {
	ID, URL      string
	Name         string   // host and path
	Kinds        []string // none for all of messages
	Off          string   // why it is switched off, "" while it is on
	OffAt        time.Time
	TwoUntil     time.Time // until then two secrets sign
	FailingSince time.Time // zero while it is well
	NextProbe    time.Time
}

func (s *Pages) view(e campaign.Endpoint, c campaign.Circuit) view {
	v := view{ID: e.ID, Kinds: e.Kinds, Off: e.OffReason, OffAt: e.OffAt}
	if allOfMessages(e.Kinds) {
		v.Kinds = nil
	}
	v.Name, v.URL = shown(e.URL)
	v.Name, v.URL = web.Short(v.Name, nameWeight), web.Short(v.URL, addressWeight)
	if e.PreviousSecret != "" && e.PreviousUntil.After(s.Now()) {
		v.TwoUntil = e.PreviousUntil
	}
	if c.Open() && !e.Off() {
		v.FailingSince, v.NextProbe = c.Since, c.Next
	}
	return v
}

// shown returns an address without its query, which may hold a key: what tells it
// from others of a tenant, which is host and path, and all of it.
func shown(address string) (name, all string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	all = u.Scheme + "://" + u.Host + u.Path
	if u.RawQuery != "" {
		all += "?…"
	}
	return u.Host + strings.TrimSuffix(u.Path, "/"), all
}

// listed is an endpoint in the list, with its posts of the last day.
type listed struct {
	view
	Taken, Failed int
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
		row := listed{s.view(e, c), d.Taken, d.Failed}
		row.URL = web.Short(row.URL, nameWeight)
		rows = append(rows, row)
	}
	return p.Render("webhooks.title", "webhooks.html", rows)
}

// find returns the tenant's endpoint that the address names.
func (s *Pages) find(p *web.Page) (campaign.Endpoint, error) {
	const maxID = 128
	id := p.R.PathValue("id")
	if len(id) > maxID {
		return campaign.Endpoint{}, campaign.ErrNotFound
	}
	return s.Store.Endpoint(p.R.Context(), p.Session.Tenant, id)
}

const (
	// pageLength is how many failures a page shows, and shownFailures how many of the
	// last ones the pages show.
	pageLength    = 15
	shownFailures = 300
	// What an address weighs that is shown, and the name that stands for it.
	addressWeight = 2100
	nameWeight    = 200
)

// details are what an endpoint's page shows.
type details struct {
	view
	Day      day
	Failures web.Part[failure]
	Since    string  // what the form of resending all begins with
	Done     string  // what was just done, as the key of a text
	Count    int     // of deliveries that were put back
	Test     *tested // nil for none
}

// tested is what came of a test.
type tested struct {
	Taken  bool
	Reason string // in the reader's language
	Millis int
	At     time.Time
}

// failure is a webhook that was not taken.
type failure struct {
	campaign.WebhookFailure
	Reason  string // in the reader's language
	Attempt int    // counted from 1
	Instant string // of the failure, exactly
}

// failures are the last ones, as far back as the page goes.
func (s *Pages) failures(p *web.Page, e campaign.Endpoint) (shown web.Part[failure], err error) {
	from, err := web.From(p)
	if err != nil {
		return shown, err
	}
	found, err := s.Store.Failures(p.R.Context(), e.Tenant, e.ID, min(from+pageLength+1, shownFailures))
	if err != nil {
		return shown, err
	}
	part, err := web.PartOf(p, found, pageLength)
	shown.From, shown.Prior, shown.Next = part.From, part.Prior, part.Next
	for _, f := range part.Items {
		shown.Items = append(shown.Items, failure{f, reason(p, f.Status, f.Code), f.Attempt + 1, f.At.UTC().Format(time.RFC3339Nano)})
	}
	return shown, err
}

// reason says what an endpoint answered, or why there was no answer.
func reason(p *web.Page, status int, code string) string {
	if status > 0 {
		return p.T("webhooks.answered", status, http.StatusText(status))
	}
	if key := "webhooks.code." + code; p.Has(key) {
		return p.T(key)
	}
	return code
}

func (s *Pages) show(p *web.Page) error {
	e, err := s.find(p)
	if err != nil {
		return err
	}
	return s.showEndpoint(p, e, nil)
}

func (s *Pages) showEndpoint(p *web.Page, e campaign.Endpoint, test *tested) error {
	ctx := p.R.Context()
	c, err := s.Store.Circuit(ctx, e.Tenant, e.ID)
	if err != nil {
		return err
	}
	d := details{view: s.view(e, c), Since: p.Local(s.Now().Add(-24 * time.Hour)), Test: test}
	if d.Day, err = s.day(ctx, e); err != nil {
		return err
	}
	if d.Failures, err = s.failures(p, e); err != nil {
		return err
	}
	d.Count, _ = strconv.Atoi(p.Query("n")) // what a person writes there they see
	if done := "webhooks.done." + p.Query("done"); p.Has(done) {
		d.Done = done
	}
	return p.Render("webhooks.endpoint", "webhooks_endpoint.html", d)
}

// test posts a test event. Its answer is a part of the page where a script asks.
func (s *Pages) test(p *web.Page) error {
	e, err := s.find(p)
	if err != nil {
		return err
	}
	if err := p.Audit("endpoint.test", subject(e)); err != nil {
		return err
	}
	result, err := s.Poster.Test(p.R.Context(), e)
	if err != nil {
		return err
	}
	t := &tested{
		Taken: result.Code == "", Reason: reason(p, result.Status, result.Code), Millis: int(result.Took.Milliseconds()), At: result.At,
	}
	if p.Partial() {
		return p.Fragment("webhooks_test.html", details{Test: t})
	}
	return s.showEndpoint(p, e, t)
}

// subject names an endpoint in the audit log, which is kept longer than it may be:
// a path can be as good as a password.
func subject(e campaign.Endpoint) string { return host(e.URL) + " (" + e.ID + ")" }

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// refusal is what a person is told of an error of the service.
func refusal(err error) error {
	if wrong, ok := errors.AsType[*campaign.InputError](err); ok {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault." + wrong.Code}
	}
	return err
}

// useForm uses up the form that was sent. Whoever sends it again, as a reload of the
// page with the secret does, is led to the list.
func (s *Pages) useForm(p *web.Page) error {
	return s.Once.Use(p, "webhooks.form_used", Path, "webhooks.all")
}
