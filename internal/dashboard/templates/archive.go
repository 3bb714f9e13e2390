package templates

import (
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

func (s *Pages) archive(p *web.Page) error {
	return s.move(p, true, "template.archive", "templates.done.archived", s.Store.ArchiveTemplate)
}

func (s *Pages) restore(p *web.Page) error {
	return s.move(p, false, "template.restore", "templates.done.restored", s.Store.RestoreTemplate)
}

// move archives or restores a template. doneKey is the text of what was done. A repeated form
// changes nothing.
func (s *Pages) move(p *web.Page, archive bool, action, doneKey string, do func(ctx context.Context, tenant, id string) error) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	archived, err := s.Store.TemplateArchived(p.R.Context(), t.Tenant, t.ID)
	if err != nil {
		return err
	}
	if archived == archive {
		return p.Done(linkOf(t), doneKey, t.Name)
	}
	if err := p.AuditOn(linkOf(t), action, t.Name); err != nil {
		return err
	}
	if err := do(p.R.Context(), t.Tenant, t.ID); err != nil {
		return err
	}
	return p.Done(linkOf(t), doneKey, t.Name)
}

// duplicate saves a new template with the content of the current version, and opens it in
// the editor. A repeated submission has no effect.
func (s *Pages) duplicate(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	all, err := s.Store.Templates(p.R.Context(), t.Tenant)
	if err != nil {
		return err
	}
	if err := s.Once.Use(p, "templates.form_used", Path, "templates.all"); err != nil {
		return err
	}
	original := t.Name
	t = campaign.Template{Tenant: t.Tenant, Name: copyName(p, original, all), Traffic: t.Traffic, Content: t.Content}
	if err := p.Audit("template.create", t.Name); err != nil {
		return err
	}
	if t, err = s.Keeper.KeepTemplate(p.R.Context(), t); err != nil {
		return err
	}
	return p.Done(linkOf(t)+"/edit", "templates.done.duplicated", original)
}

// copyName returns a name for a copy that no template of the tenant has.
func copyName(p *web.Page, name string, all []campaign.Template) string {
	for n := 1; ; n++ {
		mark := p.T("templates.copy")
		if n > 1 {
			mark = p.T("templates.copy_n", p.Number(n))
		}
		copied := cutTo(name, campaign.MaxTemplateName-len([]rune(mark))-1) + " " + mark
		if !slices.ContainsFunc(all, func(t campaign.Template) bool { return t.Name == copied }) {
			return copied
		}
	}
}

// cutTo returns the first most characters of a text.
func cutTo(text string, most int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), most)])
}
