package templates

import (
	"cmp"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/sheet"
)

// pageLength is the number of templates per page. nameWeight is the maximum size in
// bytes of a name in the list.
const (
	pageLength = 25
	nameWeight = 250
)

type listPage struct {
	web.Part[campaign.Template]
	Query      string
	Archived   bool // the list shows the archived templates
	InArchive  int  // number of archived templates
	Searchable bool // there is something to search
}

func (s *Pages) list(p *web.Page) error {
	l := listPage{Query: strings.TrimSpace(p.Query("q")), Archived: p.Query("archived") != ""}
	all, err := s.Store.Templates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	archived, err := s.Store.ArchivedTemplates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	shown := l.matching(all, archived)
	l.Searchable = l.Query != "" || len(shown) > 1
	if l.Part, err = web.PartOf(p, shown, pageLength); err != nil {
		return err
	}
	for i := range l.Items {
		l.Items[i].Name = web.Short(l.Items[i].Name, nameWeight)
	}
	return p.Render(l.Title(), "templates.html", l)
}

func (l listPage) Title() string {
	if l.Archived {
		return "templates.archived_title"
	}
	return "templates.title"
}

// matching counts the archived templates, and returns those of the list in the order of their names.
func (l *listPage) matching(all []campaign.Template, archived map[string]bool) (shown []campaign.Template) {
	for _, t := range all {
		if archived[t.ID] {
			l.InArchive++
		}
		if archived[t.ID] == l.Archived && strings.Contains(sheet.Fold(t.Name), sheet.Fold(l.Query)) {
			shown = append(shown, t)
		}
	}
	slices.SortStableFunc(shown, func(a, b campaign.Template) int {
		return cmp.Compare(sheet.Fold(a.Name), sheet.Fold(b.Name))
	})
	return shown
}
