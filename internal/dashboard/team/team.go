// Package team shows the users of a tenant. Admins invite and remove users, and change their
// roles.
package team

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"slices"
	"strings"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// Users lists and changes the users of a tenant. Invalid input returns a *inputerr.Error.
type Users interface {
	// People returns complete false if there are too many in all tenants.
	People(ctx context.Context, tenant string) (people []account.Person, complete bool, err error)
	// Invite adds a user, or changes the role of an existing one and ends the sessions. It
	// returns a temporary password unless it was mailed.
	Invite(ctx context.Context, who account.Person) (password string, err error)
	// RemovePerson returns an error that wraps campaign.ErrNotFound if there is no such user.
	RemovePerson(ctx context.Context, who account.Person) (account.Person, error)
}

// Pages are the pages of the team.
type Pages struct {
	Users Users
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts of the team.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"team", "audit"}} }

// Path is the path of the page.
const Path = web.Root + "/settings/team"

// Register serves the pages. The addresses of users are in forms, never in URLs.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleAdmin, s.show)
	ui.Post(mux, Path, web.RoleAdmin, s.invite)
	ui.Post(mux, Path+"/person", web.RoleAdmin, web.With(s.question, s.ask))
	ui.Post(mux, Path+"/role", web.RoleAdmin, web.With(s.question, s.changeRole))
	ui.Post(mux, Path+"/remove", web.RoleAdmin, s.remove)
	// The link to the other language leads to the path of a form.
	ui.Get(mux, Path+"/person", web.RoleAdmin, toList)
	ui.Get(mux, Path+"/role", web.RoleAdmin, toList)
	ui.Get(mux, Path+"/remove", web.RoleAdmin, toList)
}

func toList(p *web.Page) error { return p.Redirect(Path) }

type list struct {
	People   []account.Person
	Complete bool
	Roles    []web.Role
	Email    string // entered
	Role     web.Role
	Fault    string // the key of a text
}

func (s *Pages) show(p *web.Page) error {
	return s.render(p, http.StatusOK, list{Role: web.RoleViewer})
}

func (s *Pages) render(p *web.Page, status int, l list) (err error) {
	l.Roles = web.Roles()
	if l.People, l.Complete, err = s.Users.People(p.R.Context(), p.Session.Tenant); err != nil {
		return err
	}
	return p.RenderStatus(status, "team.title", "team.html", l)
}

// invited is a user who was invited, with the password that was not mailed.
type invited struct{ Email, Password string }

func (s *Pages) invite(p *web.Page) error {
	who := account.Person{Tenant: p.Session.Tenant, Email: p.Field("email"), Role: p.Field("role")}
	if !slices.Contains(web.Roles(), web.Role(who.Role)) {
		return s.render(p, http.StatusUnprocessableEntity, list{Email: who.Email, Fault: "team.fault.role_unknown"})
	}
	switch _, err := s.question(p); {
	case err == nil: // a role is changed on the person's page, which says what it means
		return s.render(p, http.StatusConflict, list{Email: who.Email, Role: web.Role(who.Role), Fault: "team.fault.known"})
	case !errors.Is(err, campaign.ErrNotFound):
		return err
	}
	if err := p.AuditOn(Path, "team.invite", who.Email, "ui.role."+who.Role); err != nil {
		return err
	}
	password, err := s.Users.Invite(p.R.Context(), who)
	if fault := web.FaultOf("team.fault.", err); fault != "" {
		if !p.Has(fault) {
			fault = "team.fault.other"
		}
		return s.render(p, http.StatusUnprocessableEntity, list{Email: who.Email, Role: web.Role(who.Role), Fault: fault})
	}
	if err != nil {
		return err
	}
	if password != "" {
		return p.Render("team.invited_title", "team_invited.html", invited{who.Email, password})
	}
	return p.Done(Path, "team.invited", who.Email)
}

func equal(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

type question struct {
	account.Person
	Roles []web.Role
	Self  bool   // the user is the signed-in one
	Last  bool   // the user is the only admin
	Was   string // the role when the page was shown
	Stale bool   // somebody else has changed the role since
}

func (*Pages) ask(p *web.Page, q question) error {
	return p.Render("team.person", "team_person.html", q)
}

// question reads the user in the form. The error wraps campaign.ErrNotFound if the tenant has
// no such user.
func (s *Pages) question(p *web.Page) (q question, err error) {
	people, _, err := s.Users.People(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return q, err
	}
	at := slices.IndexFunc(people, func(who account.Person) bool { return equal(who.Email, p.Field("email")) })
	if at < 0 {
		return q, campaign.ErrNotFound
	}
	q = question{Person: people[at], Roles: web.Roles(), Was: people[at].Role, Self: equal(people[at].Email, p.Session.Email)}
	otherAdmin := func(who account.Person) bool { return isAdmin(who) && who.Email != q.Email }
	q.Last = isAdmin(q.Person) && !slices.ContainsFunc(people, otherAdmin)
	return q, nil
}

func isAdmin(who account.Person) bool { return web.Role(who.Role) == web.RoleAdmin }

// lastAdmin refuses to leave a tenant without an admin.
func lastAdmin() error { return &web.Refusal{Status: http.StatusConflict, Key: "team.last_admin"} }

func (s *Pages) changeRole(p *web.Page, q question) error {
	role := web.Role(p.Field("role"))
	switch {
	case !slices.Contains(web.Roles(), role):
		return &web.Refusal{Status: http.StatusUnprocessableEntity, Key: "ui.bad_form"}
	case string(role) == q.Role:
		return p.Redirect(Path)
	case q.Last:
		return lastAdmin()
	case p.Stale(q.Role):
		q.Role, q.Stale = string(role), true
		return p.RenderStatus(http.StatusConflict, "team.person", "team_person.html", q)
	}
	if err := p.AuditOn(Path, "team.role", q.Email, "ui.role."+q.Role, "ui.role."+string(role)); err != nil {
		return err
	}
	if err := s.setRole(p, q.Person, role); err != nil {
		return err
	}
	return p.Done(Path, "team.changed", q.Email)
}

// setRole changes the role of a user. If no admin is left, because another request removed one
// at the same time, it gives the role back and refuses. Each request changes first and checks
// afterwards, so that the last one of several sees the changes of the others.
func (s *Pages) setRole(p *web.Page, who account.Person, role web.Role) error {
	changed := who
	changed.Role = string(role)
	if _, err := s.Users.Invite(p.R.Context(), changed); err != nil || !isAdmin(who) {
		return err
	}
	people, _, err := s.Users.People(p.R.Context(), p.Session.Tenant)
	if err != nil || slices.ContainsFunc(people, isAdmin) {
		return err
	}
	if err := p.AuditOn(Path, "team.role", who.Email, "ui.role."+changed.Role, "ui.role."+who.Role); err != nil {
		return err
	}
	if _, err := s.Users.Invite(p.R.Context(), who); err != nil {
		return err
	}
	return lastAdmin()
}

func (s *Pages) remove(p *web.Page) error {
	q, err := s.question(p)
	if errors.Is(err, campaign.ErrNotFound) { // removed by a former click
		return p.Redirect(Path)
	}
	if err != nil {
		return err
	}
	if q.Last {
		return lastAdmin()
	}
	if err := p.AuditOn(Path, "team.remove", q.Email); err != nil {
		return err
	}
	if isAdmin(q.Person) {
		if err := s.setRole(p, q.Person, web.RoleViewer); err != nil {
			return err
		}
	}
	if _, err := s.Users.RemovePerson(p.R.Context(), q.Person); err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.Done(Path, "team.removed", q.Email)
}
