// Package team shows the users of a tenant. Admins invite and remove users, and change their
// roles.
package team

import (
	"context"
	"embed"
	"net/http"
	"slices"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings/account"
)

// Users lists the users of a tenant. complete is false if there are too many in all tenants.
type Users interface {
	People(ctx context.Context, tenant string) (people []account.Person, complete bool, err error)
}

// Admin changes users. Invalid input returns a *inputerr.Error.
type Admin interface {
	// Invite adds a user, or changes the role of an existing one and ends the sessions. It
	// returns a temporary password unless it was mailed.
	Invite(ctx context.Context, who account.Person) (password string, err error)
	// RemovePerson returns an error that wraps campaign.ErrNotFound if there is no such user.
	RemovePerson(ctx context.Context, who account.Person) (account.Person, error)
}

// Pages are the pages of the team.
type Pages struct {
	Users Users
	Admin Admin
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
	ui.Get(mux, Path+"/person", web.RoleAdmin, first)
	ui.Get(mux, Path+"/role", web.RoleAdmin, first)
	ui.Get(mux, Path+"/remove", web.RoleAdmin, first)
}

func first(p *web.Page) error { return p.Redirect(Path) }

// list is the data of the page.
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
	known, err := s.known(p, who.Email)
	if err != nil {
		return err
	}
	if known.Email != "" { // a role is changed on the person's page, which says what it means
		return s.render(p, http.StatusConflict, list{Email: who.Email, Role: web.Role(who.Role), Fault: "team.fault.known"})
	}
	if err := p.AuditOn(Path, "team.invite", who.Email, "ui.role."+who.Role); err != nil {
		return err
	}
	password, err := s.Admin.Invite(p.R.Context(), who)
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

// known returns the tenant's user with an address, or the zero Person.
func (s *Pages) known(p *web.Page, email string) (account.Person, error) {
	people, _, err := s.Users.People(p.R.Context(), p.Session.Tenant)
	for _, who := range people {
		if equal(who.Email, email) {
			return who, err
		}
	}
	return account.Person{}, err
}
