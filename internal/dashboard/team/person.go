package team

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings/account"
)

func equal(a, b string) bool { return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) }

// question is the data of a user's page.
type question struct {
	account.Person
	Roles []web.Role
	Self  bool   // the user is the one who asks
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
	q.Last = isAdmin(q.Person) && !slices.ContainsFunc(people, func(who account.Person) bool { return isAdmin(who) && who.Email != q.Email })
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
	if _, err := s.Admin.Invite(p.R.Context(), changed); err != nil || !isAdmin(who) {
		return err
	}
	people, _, err := s.Users.People(p.R.Context(), p.Session.Tenant)
	if err != nil || slices.ContainsFunc(people, isAdmin) {
		return err
	}
	if err := p.AuditOn(Path, "team.role", who.Email, "ui.role."+changed.Role, "ui.role."+who.Role); err != nil {
		return err
	}
	if _, err := s.Admin.Invite(p.R.Context(), who); err != nil {
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
	if _, err := s.Admin.RemovePerson(p.R.Context(), q.Person); err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.Done(Path, "team.removed", q.Email)
}
