package sending

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// form is the form of a campaign, with what was entered. Its file is the one that is used if the person chooses none. Version
// is that of the submission when the form was opened, 0 if nothing of the form is stored.
type form struct {
	submission.Submission
	List      string // the list of recipients that is the file, or ""
	Templates []campaign.Template
	Fewer     bool               // there are more templates
	Template  *campaign.Template // the selected template
	Phone     preview.Phone      // of the selected template
	Cut       bool               // the preview is cut
	Notes     []note             // errors
	Lead      string             // minimum time from now to a schedule
	Upload    web.Upload
}

// note is an error of the form, and the name of the field to correct.
type note struct{ Field, Text string }

func (f form) Wrong(field string) bool {
	return slices.ContainsFunc(f.Notes, func(n note) bool { return n.Field == field })
}

func (s *Pages) showForm(p *web.Page) (err error) {
	f := form{Submission: submission.Submission{TemplateID: p.Query("template")}}
	switch {
	case p.Query("copy") != "":
		f, err = s.copyOf(p, p.Query("copy"))
	case p.Query("from") != "":
		f, err = s.formOf(p, p.Query("from"))
	case p.Query("list") != "":
		f.List = p.Query("list")
		_, f.File.Name, err = s.recipients(p, f.List)
	}
	if err != nil {
		return err
	}
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) renderForm(p *web.Page, status int, f form) error {
	all, err := s.Store.Templates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	archived, err := s.Store.ArchivedTemplates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	f.choices(slices.DeleteFunc(all, func(t campaign.Template) bool { return archived[t.ID] && t.ID != f.TemplateID }))
	f.Lead = s.lead(p)
	f.CampaignID = cmp.Or(f.CampaignID, random.UUID())
	if t, err := s.template(p, f.TemplateID); err == nil {
		f.show(p, t)
	} else if !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if f.Upload, err = s.uploads().Field(p); err != nil {
		return err
	}
	return p.RenderStatus(status, "sending.title", "sending_form.html", f)
}

// show shows a template's columns and its preview.
func (f *form) show(p *web.Page, t campaign.Template) {
	f.Template = &t
	f.Phone, f.Cut = web.Phone(p, t.Content, p.T("sending.preview"), phoneWeight)
	f.Phone.Dark = p.Query("dark") != ""
}

const (
	// mostChoices is the number of templates in the selection list: the newest ones and
	// the selected one. choiceWeight is the maximum size in bytes of a name in it.
	mostChoices  = 50
	choiceWeight = 150
)

func (f *form) choices(all []campaign.Template) {
	slices.SortStableFunc(all, func(a, b campaign.Template) int {
		switch f.TemplateID {
		case a.ID:
			return -1
		case b.ID:
			return 1
		}
		return b.CreatedAt.Compare(a.CreatedAt)
	})
	f.Fewer = len(all) > mostChoices
	all = all[:min(len(all), mostChoices)]
	slices.SortStableFunc(all, func(a, b campaign.Template) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	for i := range all {
		all[i].Name = web.Short(all[i].Name, choiceWeight)
	}
	f.Templates = all
	if len(all) > 0 && !slices.ContainsFunc(all, func(t campaign.Template) bool { return t.ID == f.TemplateID }) {
		f.TemplateID = all[0].ID
	}
}

// Columns returns the columns that a file needs: those of the template's variables that the page shows, and the number
// of others. Variables named like the columns of the numbers and the uids have their values.
func (f form) Columns(p *web.Page) (c shownColumns) {
	const tag, most = len(` <code class="column"></code>`), 3000
	c.Phone, c.UID = ownColumnNames(p, *f.Template)
	c.Few, c.More = web.Few(moreColumns(*f.Template, c.Phone, c.UID), tag, most)
	return c
}

type shownColumns struct {
	Phone, UID string
	Few        []string
	More       int
}

func (s *Pages) template(p *web.Page, id string) (campaign.Template, error) {
	return web.OwnTemplate(p, id, s.Store.Template)
}

// templateOf returns the version of the template that a confirmed submission is sent with, and the current one of another
// submission.
func (s *Pages) templateOf(p *web.Page, sub submission.Submission) (campaign.Template, error) {
	if !sub.Confirmed() {
		return s.template(p, sub.TemplateID)
	}
	return web.OwnTemplate(p, sub.TemplateID, func(ctx context.Context, id string) (campaign.Template, error) {
		return s.Store.TemplateVersion(ctx, id, sub.TemplateVersion)
	})
}

func (s *Pages) asked(p *web.Page) (campaign.Template, error) {
	return s.template(p, p.Query("template"))
}

// lead returns the minimum time from now to a schedule, as a text.
func (s *Pages) lead(p *web.Page) string {
	n, unit := int(s.Lead/time.Second), "seconds"
	if s.Lead >= time.Minute && s.Lead%time.Minute == 0 {
		n, unit = int(s.Lead/time.Minute), "minutes"
	}
	if n == 1 {
		unit = strings.TrimSuffix(unit, "s")
	}
	return p.T("sending."+unit, p.Number(n))
}

// chooseTemplate shows the form with the selected template, for browsers without scripts.
func (s *Pages) chooseTemplate(p *web.Page) error {
	f := entered(p)
	if _, err := s.kept(p, &f); err != nil {
		return err
	}
	return s.renderForm(p, http.StatusOK, f)
}

// maxChosen is the maximum size in bytes of what the fields of a template and of times hold. A draft keeps
// invalid ones too.
const maxChosen = 100

func entered(p *web.Page) form {
	chosen := func(name string) string { return web.Short(p.Field(name), maxChosen) }
	version, _ := strconv.Atoi(p.Field("version"))
	from, _ := campaign.ParseUUID(p.Field("from"))
	return form{List: p.Field("list"), Submission: submission.Submission{
		Name: p.Field("name"), TemplateID: strings.ToLower(chosen("template")), Schedule: chosen("schedule"), NotAfter: chosen("notAfter"),
		ID: campaign.ID{CampaignID: from}, Version: max(0, version),
	}}
}

// showColumns answers with the columns of the selected template, and with its preview for another place of the page.
func showColumns(p *web.Page, t campaign.Template) error {
	var f form
	f.show(p, t)
	return p.Fragment("sending_chosen.html", f)
}

// example returns a sample file for a template, in the CSV format of Brazilian
// spreadsheets.
func example(p *web.Page, t campaign.Template) error {
	var file bytes.Buffer
	w := csv.NewWriter(&file)
	w.Comma, w.UseCRLF = web.CSVSeparator, true
	phone, uid := ownColumnNames(p, t)
	more := moreColumns(t, phone, uid)
	if err := w.WriteAll([][]string{
		slices.Concat([]string{phone}, more, []string{uid}), slices.Concat([]string{exampleNumber}, more, []string{p.T("sending.example_uid")}),
	}); err != nil {
		return fmt.Errorf("encode an example: %w", err)
	}
	return p.CSV("sending.example_name", file.Bytes())
}

// exampleNumber is a valid number that belongs to nobody: numbers that begin with 90000
// are not assigned.
const exampleNumber = "11900000000"

// ownColumnNames returns the names of the columns of the numbers and the uids.
func ownColumnNames(p *web.Page, t campaign.Template) (phone, uid string) {
	return columnName(t, "phone", p.T("sending.column.phone")), columnName(t, "uid", p.T("sending.column.uid"))
}

// columnName returns the name of a column in the reader's language, or the standard one if it is also a variable.
func columnName(t campaign.Template, standard, name string) string {
	if slices.ContainsFunc(t.Variables(), func(v string) bool { return strings.EqualFold(v, standard) }) {
		return standard
	}
	return name
}

// moreColumns returns the columns that a template needs besides those of the numbers and the uids.
func moreColumns(t campaign.Template, phone, uid string) []string {
	return slices.DeleteFunc(t.Variables(), func(name string) bool {
		return strings.EqualFold(name, phone) || strings.EqualFold(name, uid)
	})
}
