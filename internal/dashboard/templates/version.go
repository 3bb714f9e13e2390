package templates

import (
	"cmp"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
)

// version is a version of a template in the list of them.
type version struct {
	campaign.Template
	Renamed string // its name, where it is not the present one
	Begins  string // how its text begins
}

const (
	// versionsLength is how many versions a page lists.
	versionsLength = 5
	// beginsWeight is what the beginning of a text weighs.
	beginsWeight = 120
)

func versionsOf(p *web.Page, now campaign.Template, all []campaign.Template) (web.Part[version], error) {
	part, err := web.PartOf(p, all, versionsLength)
	listed := web.Part[version]{From: part.From, Next: part.Next, Prior: part.Prior}
	for _, t := range part.Items {
		v := version{Template: t, Begins: web.Short(begins(t), beginsWeight)}
		if t.Name != now.Name {
			v.Renamed = web.Short(t.Name, nameWeight)
		}
		listed.Items = append(listed.Items, v)
	}
	return listed, err
}

func begins(t campaign.Template) string {
	if t.Card == nil {
		return t.Text
	}
	return cmp.Or(t.Card.Title, t.Card.Description)
}

// whole is a version on a page of its own.
type whole struct {
	campaign.Template
	Phone preview.Phone
	Cut   bool
	variables
	Current bool
}

// showVersion shows one version as a phone does.
func (s *Pages) showVersion(p *web.Page) error {
	t, err := s.own(p)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(p.R.PathValue("version"), 10, 31)
	if err != nil {
		return campaign.ErrNotFound
	}
	v, err := s.Store.TemplateVersion(p.R.Context(), t.ID, int(n))
	if err != nil {
		return err
	}
	view := whole{Template: v, variables: variablesOf(v), Current: v.Version == t.Version}
	view.Phone, view.Cut = web.Phone(v, p.T("templates.preview_version", v.Version), wholeWeight)
	p.Title = p.T("templates.version_n", p.Number(v.Version))
	p.ShowMedia()
	return p.Render("templates.one", "template_version.html", view)
}

// variables are the names of a template's variables, as many as a page shows.
type variables struct {
	Variables []string
	More      int
}

// variablesWeight is what the names of variables weigh.
const variablesWeight = 2500

func variablesOf(t campaign.Template) (v variables) {
	v.Variables, v.More = web.Few(t.Variables(), web.MarkWeight, variablesWeight)
	return v
}

const (
	// phoneWeight is what a phone's texts weigh beside others on a page, and
	// wholeWeight what they weigh on a page of their own: all that the provider takes.
	phoneWeight = 5000
	wholeWeight = 17000
)
