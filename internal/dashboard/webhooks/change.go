package webhooks

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

// mustBeNamed reports whether a kind is sent only to endpoints that name it.
func mustBeNamed(kind string) bool { return !delivery.Endpoint{}.Subscribes(delivery.Kind(kind)) }

// allOfMessages reports whether the kinds are the default of an endpoint that names
// none.
func allOfMessages(named []string) bool {
	return !slices.ContainsFunc(settings.Kinds(), func(k string) bool { return slices.Contains(named, k) == mustBeNamed(k) })
}

type choice struct {
	Kind   string
	Chosen bool
}

func choices(chosen []string) []choice {
	var all []choice
	for _, k := range settings.Kinds() {
		all = append(all, choice{k, delivery.Endpoint{Kinds: chosen}.Subscribes(delivery.Kind(k))})
	}
	return all
}

type form struct {
	Once, ID, URL string
	Kinds         []choice
	Fault         string // the key of a text
	Was           string // the stored kinds, as text
}

// stateOf returns the kinds of an endpoint as text.
func stateOf(e delivery.Endpoint) string { return "kinds " + strings.Join(e.Kinds, " ") }

func (s *Pages) ask(p *web.Page) error {
	return s.showForm(p, http.StatusOK, form{Kinds: choices(nil)})
}

func (s *Pages) showForm(p *web.Page, status int, f form) error {
	f.Once = web.FormToken()
	return p.RenderStatus(status, "webhooks.new", "webhooks_new.html", f)
}

// chosen returns the kinds selected in a form. ok is false if none is selected.
func chosen(p *web.Page) (names []string, ok bool) {
	names = p.R.PostForm["kind"]
	return names, len(names) > 0
}

// textsOf returns the text keys of kinds in display order, without duplicates. All
// message kinds together have one text.
func textsOf(names []string) (keys []string) {
	all := !slices.ContainsFunc(settings.Kinds(), func(k string) bool { return !mustBeNamed(k) && !slices.Contains(names, k) })
	if all {
		keys = append(keys, "webhooks.kinds_all")
	}
	for _, k := range settings.Kinds() {
		if slices.Contains(names, k) && (!all || mustBeNamed(k)) {
			keys = append(keys, "webhooks.kind."+k)
		}
	}
	return keys
}

// issued is a new signing secret, which is shown only once.
type issued struct {
	ID, URL, Secret string
	PreviousUntil   time.Time // zero for a new endpoint
}

func (s *Pages) create(p *web.Page) error {
	ctx, address := p.R.Context(), p.Field("url")
	names, ok := chosen(p)
	fault := web.FaultOf("webhooks.fault.", s.Admin.CheckNewEndpoint(ctx, p.Session.Tenant, address, names))
	if fault == "" && !ok {
		fault = "webhooks.fault.kinds_none"
	}
	if fault != "" {
		f := form{URL: address, Kinds: choices(append(names, "-")), Fault: fault}
		return s.showForm(p, http.StatusUnprocessableEntity, f)
	}
	if err := s.useForm(p); err != nil {
		return err
	}
	_, visible := web.Address(address)
	if err := p.Audit("endpoint.create", host(address), textsOf(names)...); err != nil {
		return err
	}
	e, err := s.Admin.CreateEndpoint(ctx, p.Session.Tenant, address, names)
	if err != nil {
		return refusalOf(err)
	}
	return p.Render("webhooks.created", "webhooks_secret.html", issued{ID: e.ID, URL: visible, Secret: e.Secret})
}

func (s *Pages) askKinds(p *web.Page, e delivery.Endpoint) error {
	return s.showKinds(p, http.StatusOK, e, choices(e.Kinds), "")
}

func (s *Pages) showKinds(p *web.Page, status int, e delivery.Endpoint, all []choice, fault string) error {
	_, visible := web.Address(e.URL)
	f := form{ID: e.ID, URL: visible, Kinds: all, Fault: fault, Was: stateOf(e)}
	return p.RenderStatus(status, "webhooks.kinds_title", "webhooks_kinds.html", f)
}

func (s *Pages) changeKinds(p *web.Page, e delivery.Endpoint) error {
	names, ok := chosen(p)
	if !ok {
		return s.showKinds(p, http.StatusUnprocessableEntity, e, choices([]string{"-"}), "webhooks.fault.kinds_none")
	}
	if err := s.Admin.CheckKinds(names); err != nil {
		return refusalOf(err)
	}
	if p.Stale(strings.TrimSpace(stateOf(e))) {
		return s.showKinds(p, http.StatusConflict, e, choices(names), "webhooks.fault.kinds_stale")
	}
	return s.change(p, e, "endpoint.kinds", "kinds", func(ctx context.Context) error {
		return s.Admin.ChangeKinds(ctx, e.Tenant, e.ID, names)
	}, textsOf(names)...)
}

// change changes an endpoint, and shows its page with a confirmation.
func (s *Pages) change(p *web.Page, e delivery.Endpoint, action, done string, do func(ctx context.Context) error, details ...string) error {
	if err := p.AuditOn(pageOf(e), action, subject(e), details...); err != nil {
		return err
	}
	if err := do(p.R.Context()); err != nil {
		return refusalOf(err)
	}
	return p.Done(pageOf(e), "webhooks.done."+done)
}

type question struct {
	view
	Once string
	Was  string // identifies the secret
}

func (s *Pages) askRotation(p *web.Page, e delivery.Endpoint) error {
	return p.Render("webhooks.rotate_title", "webhooks_rotate.html", s.question(e))
}

func (s *Pages) askOff(p *web.Page, e delivery.Endpoint) error {
	return p.Render("webhooks.off_title", "webhooks_off.html", s.question(e))
}

func (s *Pages) question(e delivery.Endpoint) question {
	return question{s.view(e, delivery.Circuit{}), web.FormToken(), campaign.Digest(e.Secret)}
}

func (s *Pages) rotate(p *web.Page, e delivery.Endpoint) error {
	keep, ok := web.Overlap(p)
	if !ok {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "webhooks.fault.keep"}
	}
	if err := s.useForm(p); err != nil {
		return err
	}
	if p.Stale(campaign.Digest(e.Secret)) {
		return &web.Refusal{Status: http.StatusConflict, Key: "webhooks.rotated_before", To: pageOf(e), ToKey: "webhooks.endpoint"}
	}
	if err := p.AuditOn(pageOf(e), "endpoint.rotate", subject(e), web.OverlapKey(p)); err != nil {
		return err
	}
	r, err := s.Admin.RotateEndpoint(p.R.Context(), e.Tenant, e.ID, keep)
	if err != nil {
		return err
	}
	_, visible := web.Address(e.URL)
	return p.Render("webhooks.rotated", "webhooks_secret.html", issued{e.ID, visible, r.Secret, r.PreviousUntil})
}

func (s *Pages) switchOff(p *web.Page, e delivery.Endpoint) error {
	if e.Off() { // the form was sent twice
		return p.Done(pageOf(e), "webhooks.done.off")
	}
	return s.change(p, e, "endpoint.off", "off", func(ctx context.Context) error { return s.Admin.DisableEndpoint(ctx, e.Tenant, e.ID) })
}

func (s *Pages) switchOn(p *web.Page, e delivery.Endpoint) error {
	if !e.Off() { // the form was sent twice
		return p.Done(pageOf(e), "webhooks.done.on")
	}
	return s.change(p, e, "endpoint.on", "on", func(ctx context.Context) error { return s.Admin.EnableEndpoint(ctx, e.Tenant, e.ID) })
}
