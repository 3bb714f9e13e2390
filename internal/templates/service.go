// Package templates serves the API for templates: it lists, reads, creates and previews
// them, and saves new versions.
package templates

import (
	"context"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Store reads and writes templates.
type Store interface {
	// TemplatePage returns up to limit templates without their contents, after an ID.
	TemplatePage(ctx context.Context, tenant, after string, limit int) (page []campaign.Template, more bool, err error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
	// TemplateVersion returns a version, which never changes. The error wraps campaign.ErrNotFound if there is none.
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	// CreateTemplate returns the first version of a template that exists. full reports that
	// the tenant already has as many as most templates.
	CreateTemplate(ctx context.Context, t campaign.Template, most int, e account.AuditEntry) (first campaign.Template, full bool, err error)
	// AddTemplateVersion writes a version after the current one. The error wraps
	// campaign.ErrLostRace if the current version is another than the one before.
	AddTemplateVersion(ctx context.Context, t campaign.Template, e account.AuditEntry) (campaign.Template, error)
}

// Media checks the media of templates.
type Media interface {
	// Flaws returns the media that the provider could not fetch. Those of the version before
	// were checked before.
	Flaws(ctx context.Context, saved, before content.Content) []content.Flaw
}

// Service serves the requests about templates.
type Service struct {
	Tokens  accesstoken.Authorizer
	Media   Media
	Store   Store
	Now     func() time.Time
	BaseURL string // configured base URL, or ""
}

// Path is the path of the templates.
const Path = "/api/v1/external/templates"

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	for pattern, serve := range map[string]httpapi.HandlerFunc{
		"GET " + Path:                   s.serveList,
		"POST " + Path:                  s.serveCreate,
		"POST " + Path + "/preview":     s.servePreview,
		"GET " + Path + "/{templateId}": s.serveTemplate,
		"GET " + Path + "/{templateId}/versions/{version}": s.serveVersion,
		"POST " + Path + "/{templateId}/versions":          s.serveChange,
		"POST " + Path + "/{templateId}/preview":           s.servePreviewOf,
	} {
		mux.Handle(pattern, serve)
	}
}

func (s *Service) open(r *http.Request, known httpapi.Parameters) (accesstoken.Claims, httpapi.Query, error) {
	door := accesstoken.Door{Tokens: s.Tokens, BaseURL: s.BaseURL, Scope: account.ScopeTemplates}
	return door.Open(r, known, "This call has no dry run: preview the template instead. Nothing was changed.")
}

// openOwn is open for a request about a template.
func (s *Service) openOwn(r *http.Request, known httpapi.Parameters) (accesstoken.Claims, campaign.Template, error) {
	claims, _, err := s.open(r, known)
	if err != nil {
		return claims, campaign.Template{}, err
	}
	t, err := s.own(r, claims.Tenant)
	return claims, t, err
}

// own returns the tenant's template that the path names.
func (s *Service) own(r *http.Request, tenant string) (campaign.Template, error) {
	id, ok := campaign.ParseUUID(r.PathValue("templateId"))
	if !ok {
		return campaign.Template{}, noTemplate()
	}
	t, err := s.Store.Template(r.Context(), id)
	t, err = campaign.OwnTemplate(tenant, t, err)
	return t, httpapi.Missing("read template", err, noTemplate())
}

// version returns a version of a template, given its newest one.
func (s *Service) version(ctx context.Context, newest campaign.Template, version int) (campaign.Template, error) {
	if version == newest.Version {
		return newest, nil
	}
	if version < 1 || version > newest.Version {
		return campaign.Template{}, noVersion()
	}
	t, err := s.Store.TemplateVersion(ctx, newest.ID, version)
	return t, httpapi.Missing("read template", err, noVersion())
}

func noTemplate() *httpapi.Problem {
	return httpapi.NotFound("template_not_found", "There is no template with this ID.")
}

func noVersion() *httpapi.Problem {
	return httpapi.NotFound("version_not_found", "The template has no such version.")
}
