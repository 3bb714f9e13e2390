// Package credentials shows the API credentials of a tenant. Admins can generate,
// rotate and revoke them.
package credentials

import (
	"cmp"
	"context"
	"embed"
	"net/http"
	"slices"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings"
)

// Store reads credentials.
type Store interface {
	// Credential returns a credential. The error wraps campaign.ErrNotFound if there is none.
	Credential(ctx context.Context, clientID string) (account.Credential, error)
	// Credentials returns the credentials of a tenant, revoked ones included.
	Credentials(ctx context.Context, tenant string) ([]account.Credential, error)
	// LastUsed returns when clients last requested a token, without those that did not.
	LastUsed(ctx context.Context, clientIDs []string) (map[string]time.Time, error)
}

// Pages are the pages of the credentials.
type Pages struct {
	Store Store
	Admin *settings.Service
	Now   func() time.Time
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the credentials.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"credentials", "audit"}} }

// Path is the path of the credentials.
const Path = web.Root + "/settings/credentials"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, web.Root+"/settings", web.RoleViewer, firstSetting)
	ui.Get(mux, Path, web.RoleAdmin, s.list)
	ui.Get(mux, Path+"/new", web.RoleAdmin, s.ask)
	ui.Post(mux, Path, web.RoleAdmin, s.create)
	ui.Get(mux, Path+"/{id}/rotate", web.RoleAdmin, web.With(s.live, s.askRotation))
	ui.Post(mux, Path+"/{id}/rotate", web.RoleAdmin, web.With(s.live, s.rotate))
	ui.Get(mux, Path+"/{id}/revoke", web.RoleAdmin, web.With(s.live, s.askRevocation))
	ui.Post(mux, Path+"/{id}/revoke", web.RoleAdmin, web.With(s.find, s.revoke))
}

// firstSetting leads to the first page of the settings that the person may see.
func firstSetting(p *web.Page) error {
	if p.Admin() {
		return p.Redirect(Path)
	}
	return p.Redirect(web.Root + "/settings/webhooks")
}

// view is a credential without its secret hashes.
type view struct {
	ClientID, Name, By string
	Scope              string
	Created, Used      time.Time
	Revoked            time.Time
	TwoUntil           time.Time // until then two secrets are valid
}

// view returns a credential with its last use.
func (s *Pages) view(c account.Credential, used map[string]time.Time) view {
	v := view{
		ClientID: c.ClientID, Name: c.Name, By: c.CreatedBy, Scope: c.Scope,
		Created: c.CreatedAt, Used: used[c.ClientID], Revoked: c.RevokedAt,
	}
	if len(c.PreviousSecretHash) > 0 && c.PreviousUntil.After(s.Now()) {
		v.TwoUntil = c.PreviousUntil
	}
	return v
}

const pageLength = 10

// listing is the data of the list, newest first: active or revoked credentials.
type listing struct {
	web.ListPage[view]
	OfRevoked bool
	Revoked   int // how many were revoked
}

func (s *Pages) list(p *web.Page) error {
	ctx := p.R.Context()
	all, err := s.Store.Credentials(ctx, p.Session.Tenant)
	if err != nil {
		return err
	}
	l := listing{OfRevoked: p.Query("revoked") != ""}
	shown := slices.DeleteFunc(slices.Clone(all), func(c account.Credential) bool { return c.Revoked() != l.OfRevoked })
	if l.Revoked = len(shown); !l.OfRevoked {
		l.Revoked = len(all) - len(shown)
	}
	slices.SortFunc(shown, func(a, b account.Credential) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ClientID, b.ClientID))
	})
	part, err := web.ListPageOf(p, shown, pageLength)
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range part.Items {
		ids = append(ids, c.ClientID)
	}
	used, err := s.Store.LastUsed(ctx, ids)
	if err != nil {
		return err
	}
	l.ListPage = web.Convert(part, func(c account.Credential) view { return s.view(c, used) })
	return p.Render("credentials.title", "credentials.html", l)
}

func (s *Pages) find(p *web.Page) (account.Credential, error) {
	const maxID = 128
	id := p.R.PathValue("id")
	if len(id) > maxID {
		return account.Credential{}, campaign.ErrNotFound
	}
	c, err := s.Store.Credential(p.R.Context(), id)
	if err == nil && c.Tenant != p.Session.Tenant {
		err = campaign.ErrNotFound
	}
	return c, err
}

// live returns the tenant's credential in the path if it is not revoked.
func (s *Pages) live(p *web.Page) (account.Credential, error) {
	c, err := s.find(p)
	if err == nil && c.Revoked() {
		err = &web.Refusal{Status: http.StatusConflict, Key: "credentials.was_revoked"}
	}
	return c, err
}

type form struct {
	Once   string
	Name   string
	Scopes []scope
	Fault  string // the key of a text
}

type scope struct {
	Name   string
	Chosen bool
}

func (s *Pages) ask(p *web.Page) error {
	return s.showForm(p, http.StatusOK, "", []string{account.ScopeDispatch}, "")
}

func (s *Pages) showForm(p *web.Page, status int, name string, chosen []string, fault string) error {
	f := form{Once: web.FormToken(), Name: name, Fault: fault}
	for _, each := range account.Scopes {
		f.Scopes = append(f.Scopes, scope{each, slices.Contains(chosen, each)})
	}
	return p.RenderStatus(status, "credentials.new_title", "credentials_new.html", f)
}

// faultOf returns the key of the text of a form's first error, or "".
func (s *Pages) faultOf(name string, scopes []string) string {
	fault := web.FaultOf("credentials.fault.", s.Admin.CheckCredential(name))
	unknown := func(each string) bool { return !slices.Contains(account.Scopes, each) }
	if fault == "" && (len(scopes) == 0 || slices.ContainsFunc(scopes, unknown)) {
		return "credentials.fault.scopes"
	}
	return fault
}

// issued is a new secret, which is shown only once.
type issued struct {
	Name, ClientID, Secret string
	PreviousUntil          time.Time // zero if no previous secret is valid
	Ended                  bool      // the previous secret and all refresh tokens ended
}

func (s *Pages) create(p *web.Page) error {
	name, scopes := p.Field("name"), p.R.PostForm["scope"]
	if fault := s.faultOf(name, scopes); fault != "" {
		return s.showForm(p, http.StatusUnprocessableEntity, name, scopes, fault)
	}
	if err := s.useForm(p); err != nil {
		return err
	}
	if err := p.Audit("credential.create", name, details(scopes)...); err != nil {
		return err
	}
	c, err := s.Admin.CreateCredential(p.R.Context(), p.Session.Tenant, name, p.Session.Email, scopes...)
	if err != nil {
		return err
	}
	return p.Render("credentials.created_title", "credentials_secret.html", issued{Name: c.Name, ClientID: c.ClientID, Secret: c.Secret})
}

// details are the audit log's keys of texts for scopes other than the default.
func details(scopes []string) (keys []string) {
	if slices.Equal(scopes, []string{account.ScopeDispatch}) {
		return nil
	}
	for _, each := range scopes {
		keys = append(keys, "credentials.scope."+each)
	}
	return keys
}

type question struct {
	view
	Once string
	Was  string // identifies the secret
}

// secretOf returns what identifies the secret of a credential in a form.
func secretOf(c account.Credential) string { return campaign.Digest(string(c.SecretHash)) }

func (s *Pages) askRotation(p *web.Page, c account.Credential) error {
	return p.Render("credentials.rotate_title", "credentials_rotate.html", question{s.view(c, nil), web.FormToken(), secretOf(c)})
}

func (s *Pages) rotate(p *web.Page, c account.Credential) error {
	keep, ok := web.Overlap(p)
	if !ok && p.Field("keep") != web.None {
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "credentials.fault.keep"}
	}
	if err := s.useForm(p); err != nil {
		return err
	}
	if p.Stale(secretOf(c)) {
		return &web.Refusal{Status: http.StatusConflict, Key: "credentials.rotated_before", To: Path, ToKey: "credentials.all"}
	}
	if err := p.Audit("credential.rotate", subject(c), web.OverlapKey(p)); err != nil {
		return err
	}
	r, err := s.Admin.RotateCredential(p.R.Context(), c.ClientID, keep)
	if err != nil {
		return err
	}
	return p.Render("credentials.rotated_title", "credentials_secret.html",
		issued{Name: c.Name, ClientID: c.ClientID, Secret: r.Secret, PreviousUntil: r.PreviousUntil, Ended: keep == 0})
}

func subject(c account.Credential) string { return c.Name + " (" + c.ClientID + ")" }

func (s *Pages) askRevocation(p *web.Page, c account.Credential) error {
	used, err := s.Store.LastUsed(p.R.Context(), []string{c.ClientID})
	if err != nil {
		return err
	}
	return p.Render("credentials.revoke_title", "credentials_revoke.html", s.view(c, used))
}

func (s *Pages) revoke(p *web.Page, c account.Credential) error {
	if !c.Revoked() {
		if err := p.Audit("credential.revoke", subject(c)); err != nil {
			return err
		}
		if err := s.Admin.RevokeCredential(p.R.Context(), c.ClientID); err != nil {
			return err
		}
	}
	return p.Done(Path, "credentials.revoked_now")
}

// useForm marks the form as sent. A repeated submission, as by reloading the page with
// the secret, is redirected to the list.
func (s *Pages) useForm(p *web.Page) error {
	return web.UseForm(p, "credentials.form_used", Path, "credentials.all")
}
