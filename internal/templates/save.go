package templates

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// serveCreate creates a template. With an Idempotency-Key, the template's ID is derived
// from it, so that a repeated call finds the template.
func (s *Service) serveCreate(w http.ResponseWriter, r *http.Request) error {
	claims, _, err := s.open(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	id, err := newID(r.Header, claims)
	if err != nil {
		return err
	}
	t, _, err := readTemplate(r, claims.Tenant)
	if err != nil {
		return err
	}
	t.ID = id
	if err := s.checkNew(r.Context(), t); err != nil {
		return err
	}
	first, full, err := s.Store.CreateTemplate(r.Context(), t, campaign.MaxTemplates, s.entry(claims, "template.create", t.Name))
	switch {
	case errors.Is(err, campaign.ErrNoMedia):
		return noMedia()
	case err != nil:
		return fmt.Errorf("create template: %w", err)
	case full:
		detail := fmt.Sprintf("the tenant has %d templates, the maximum", campaign.MaxTemplates)
		return httpapi.Refuse(http.StatusConflict, "", "too_many_templates", detail)
	case !same(first, t):
		return httpapi.KeyReused("template", "template")
	}
	answerSaved(r.Context(), w, first)
	return nil
}

// checkNew checks the media of a new template, unless an earlier call has created it.
func (s *Service) checkNew(ctx context.Context, t campaign.Template) error {
	if !t.HasMedia() {
		return nil
	}
	_, err := s.Store.Template(ctx, t.ID)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		return s.checkMedia(ctx, t, content.Content{})
	case err != nil:
		return fmt.Errorf("read template: %w", err)
	}
	return nil
}

// checkMedia refuses a template with media that the provider could not fetch.
func (s *Service) checkMedia(ctx context.Context, t campaign.Template, before content.Content) error {
	flaws := s.Media.Flaws(ctx, t.Content, before)
	if len(flaws) == 0 {
		return nil
	}
	return httpapi.RefuseAll(violationsOf(placed(t, flaws)))
}

// readTemplate reads a template and the version that it is based on, nil for none.
func readTemplate(r *http.Request, tenant string) (t campaign.Template, base *int, err error) {
	var in input
	if err := readBody(r, &in); err != nil {
		return t, nil, err
	}
	t = in.template(tenant)
	if found := violations(t); len(found) > 0 {
		return t, nil, httpapi.RefuseAll(found)
	}
	return t, in.Version, nil
}

func newID(h http.Header, claims accesstoken.Claims) (string, error) {
	id, fault := httpapi.NewID(h, "template", claims.Tenant, claims.ClientID)
	if fault != nil {
		return "", httpapi.Refuse(http.StatusBadRequest, fault.Pointer, fault.Code, fault.Detail)
	}
	return id, nil
}

// serveChange saves a new version. A repeated call finds its own version and returns it.
func (s *Service) serveChange(w http.ResponseWriter, r *http.Request) error {
	claims, current, err := s.openOwn(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	t, base, err := readTemplate(r, claims.Tenant)
	if err != nil {
		return err
	}
	if base == nil {
		return httpapi.Refuse(http.StatusBadRequest, "/version", "missing_field", "is required: the version that the change is based on")
	}
	t.ID, t.Version = current.ID, *base+1
	if t, err = s.change(r.Context(), current, t, s.entry(claims, "template.change", t.Name)); err != nil {
		return err
	}
	answerSaved(r.Context(), w, t)
	return nil
}

// change saves t as the version after the current one.
func (s *Service) change(ctx context.Context, current, t campaign.Template, e account.AuditEntry) (campaign.Template, error) {
	switch {
	case t.Version == current.Version && same(current, t):
		return current, nil
	case t.Version != current.Version+1:
		return t, conflict()
	case t.Version > campaign.MaxTemplateVersions:
		detail := fmt.Sprintf("the template has %d versions, the maximum", current.Version)
		return t, httpapi.Refuse(http.StatusConflict, "", "too_many_versions", detail)
	}
	if err := s.checkMedia(ctx, t, current.Content); err != nil {
		return t, err
	}
	saved, err := s.Store.AddTemplateVersion(ctx, t, e)
	switch {
	case errors.Is(err, campaign.ErrLostRace):
		return s.repeated(ctx, t)
	case errors.Is(err, campaign.ErrNoMedia):
		return t, noMedia()
	case err != nil:
		return t, fmt.Errorf("save template: %w", err)
	}
	return saved, nil
}

// repeated returns the version that a concurrent call saved, if it is the same as t.
func (s *Service) repeated(ctx context.Context, t campaign.Template) (campaign.Template, error) {
	saved, err := s.Store.TemplateVersion(ctx, t.ID, t.Version)
	if err == nil && !same(saved, t) {
		err = campaign.ErrNotFound
	}
	return saved, httpapi.Missing("read template", err, conflict())
}

// noMedia refuses a URL that only uploaded files have.
func noMedia() *httpapi.Problem {
	return httpapi.Refuse(http.StatusBadRequest, "", codes[content.FlawUnknown], "shows a file that was not uploaded, or was deleted")
}

func conflict() *httpapi.Problem {
	return httpapi.Refuse(http.StatusConflict, jsonscan.Pointer("version"), "version_conflict",
		"the template has a newer version, or not this one: read it and apply the change to it")
}

func same(a, b campaign.Template) bool {
	one, err := json.Marshal(savedOf(a))
	other, otherErr := json.Marshal(savedOf(b))
	return errors.Join(err, otherErr) == nil && bytes.Equal(one, other)
}

func (s *Service) entry(claims accesstoken.Claims, action, name string) account.AuditEntry {
	return account.AuditEntry{Tenant: claims.Tenant, At: s.Now(), Who: claims.ClientID, Action: action, Subject: name}
}

func answerSaved(ctx context.Context, w http.ResponseWriter, t campaign.Template) {
	slog.InfoContext(ctx, "template saved", "tenant", t.Tenant, "template_id", t.ID, "version", t.Version)
	w.Header().Set("Location", Path+"/"+t.ID)
	httpapi.WriteJSON(w, http.StatusCreated, newAnswer(t))
}
