// Package campaignupload is where a tenant's people send a campaign from a file: they see
// what the API would say to it, and confirm.
package campaignupload

import (
	"cmp"
	"context"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/dispatchclient"
)

// Store reads what a campaign rests on. The error of what does not exist wraps
// campaign.ErrNotFound.
type Store interface {
	// Templates returns a tenant's templates without their contents.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	Template(ctx context.Context, id string) (campaign.Template, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
}

// Blobs keeps uploads for a day; the error of one that is not there wraps
// campaign.ErrNotFound.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte, contentType string) error
	Get(ctx context.Context, key string) ([]byte, error)
}

// Pages are the pages by which a campaign is sent.
type Pages struct {
	Store    Store
	Blobs    Blobs
	Dispatch dispatchclient.Dispatcher
	Random   io.Reader
	Now      func() time.Time
	Lead     time.Duration // a schedule is at least this far ahead
}

//go:embed *.html texts.json
var files embed.FS

// Area is this part of the dashboard.
func Area() web.Area { return web.Area{Files: files} }

// Path is where a campaign begins.
const Path = web.Root + "/campaigns/new"

const reviewPath = Path + "/review"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.AdminView(mux, Path, s.begin)
	ui.AdminView(mux, Path+"/columns", s.columns)
	ui.Change(mux, Path+"/columns", s.choose)
	ui.AdminView(mux, Path+"/example", s.example)
	ui.Change(mux, Path, s.take)
	ui.AdminView(mux, reviewPath, s.review)
	ui.Change(mux, Path+"/confirm", s.confirm)
}

// form is a campaign as it is being entered.
type form struct {
	upload
	From      string // the upload that is being corrected, whose file is kept
	Templates []campaign.Template
	Fewer     bool               // there are more templates
	Template  *campaign.Template // the one that was chosen
	Notes     []string           // what is wrong
	Lead      string             // a schedule is at least this far ahead
}

func (s *Pages) begin(p *web.Page) error {
	f := form{upload: upload{TemplateID: p.Query("template")}}
	if id := p.Query("from"); id != "" {
		u, err := s.kept(p, id)
		if err != nil {
			return err
		}
		f.upload, f.From = u, id
	}
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) renderForm(p *web.Page, status int, f form) error {
	all, err := s.Store.Templates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	f.choices(all)
	f.Lead = s.lead(p)
	if t, err := s.template(p, f.TemplateID); err == nil {
		f.Template = &t
	} else if !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	return p.RenderStatus(status, "sending.title", "sending_form.html", f)
}

const (
	// mostChoices is how many templates the form offers, the newest ones, beside the
	// one that was chosen; choiceWeight is what the name of one weighs.
	mostChoices  = 50
	choiceWeight = 150
)

// choices fills in the templates among which to choose. One of them is chosen.
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

// Columns are the columns of the chosen template's variables, as many as the page
// shows.
func (f form) Columns() []string {
	few, _ := f.columns()
	return few
}

// MoreColumns is how many columns Columns leaves out.
func (f form) MoreColumns() int {
	_, more := f.columns()
	return more
}

func (f form) columns() (few []string, more int) {
	const tag, most = len(` <code class="column"></code>`), 3000
	return web.Few(f.Template.Variables(), tag, most)
}

// template returns a template of the person's tenant.
func (s *Pages) template(p *web.Page, id string) (campaign.Template, error) {
	id, ok := campaign.ParseTemplateID(id)
	if !ok {
		return campaign.Template{}, campaign.ErrNotFound
	}
	t, err := s.Store.Template(p.R.Context(), id)
	if err == nil && t.Tenant != p.Session.Tenant {
		return campaign.Template{}, campaign.ErrNotFound
	}
	return t, err
}

// lead says how far ahead a schedule is at least.
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

// choose shows the form with the template that was chosen, to a browser without
// scripts.
func (s *Pages) choose(p *web.Page) error {
	return s.renderForm(p, http.StatusOK, entered(p))
}

func entered(p *web.Page) form {
	return form{From: p.Field("from"), upload: upload{
		Name: p.Field("name"), TemplateID: strings.ToLower(p.Field("template")), Schedule: p.Field("schedule"), NotAfter: p.Field("notAfter"),
	}}
}

// columns tells which columns the file of a template needs.
func (s *Pages) columns(p *web.Page) error {
	t, err := s.template(p, p.Query("template"))
	if err != nil {
		return err
	}
	return p.Fragment("sending_columns.html", form{Template: &t})
}

// example answers with a file for a template, as spreadsheets of Brazil open it.
func (s *Pages) example(p *web.Page) error {
	t, err := s.template(p, p.Query("template"))
	if err != nil {
		return err
	}
	p.W.Header().Set("Content-Type", "text/csv; charset=utf-8")
	p.W.Header().Set("Content-Disposition", `attachment; filename="`+p.T("sending.example_name")+`"`)
	if _, err := io.WriteString(p.W, "\ufeff"); err != nil {
		return fmt.Errorf("write an example: %w", err)
	}
	w := csv.NewWriter(p.W)
	w.Comma, w.UseCRLF = ';', true
	more := moreColumns(t)
	return w.WriteAll([][]string{
		append([]string{"phone", "uid"}, more...), append([]string{"11987654321", p.T("sending.example_uid")}, more...),
	})
}

// moreColumns are the columns that a template needs beside phone and uid.
func moreColumns(t campaign.Template) []string {
	return slices.DeleteFunc(t.Variables(), func(name string) bool {
		return strings.EqualFold(name, "phone") || strings.EqualFold(name, "uid")
	})
}

// take keeps a campaign with its file, and goes on to what is to be said about it.
func (s *Pages) take(p *web.Page) error {
	f := entered(p)
	if err := s.check(p, &f); err != nil {
		return err
	}
	if len(f.Notes) > 0 {
		return s.renderForm(p, http.StatusUnprocessableEntity, f)
	}
	var err error
	if f.CampaignID, err = dispatchclient.NewCampaignID(s.Random); err != nil {
		return err
	}
	id, err := s.keep(p, f.upload)
	if err != nil {
		return err
	}
	return p.Redirect(reviewPath + "?upload=" + id)
}

// maxName is how many characters the name of a campaign may have.
const maxName = 1000

// check takes the file and notes what is wrong with the form.
func (s *Pages) check(p *web.Page, f *form) error {
	t, err := s.template(p, f.TemplateID)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		f.Notes = append(f.Notes, p.T("refusal.template_not_found"))
	case err != nil:
		return err
	}
	switch {
	case f.Name == "":
		f.Notes = append(f.Notes, p.T("sending.no_name"))
	case utf8.RuneCountInString(f.Name) > maxName:
		f.Notes = append(f.Notes, p.T("sending.long_name", p.Number(maxName)))
	}
	return s.takeFile(p, f, t.Variables())
}

// takeFile takes the file of the form, or else the one of the upload that is being
// corrected, and notes what is wrong with it.
func (s *Pages) takeFile(p *web.Page, f *form, variables []string) error {
	content, header, err := p.R.FormFile("file")
	switch {
	case err == nil:
		defer func() { _ = content.Close() }() // it rests in memory
		if f.file, err = io.ReadAll(content); err != nil {
			return fmt.Errorf("read an uploaded file: %w", err)
		}
		f.FileName = path.Base(header.Filename)
	case f.From != "":
		before, err := s.kept(p, f.From)
		if err != nil {
			return err
		}
		f.file, f.FileName = before.file, before.FileName
	default:
		f.Notes = append(f.Notes, p.T("sending.no_file"))
		return nil
	}
	t, err := readFile(f.file)
	if err == nil {
		err = t.fit(variables)
	}
	if err != nil {
		f.From = "" // its file is not kept
		f.Notes = append(f.Notes, explain(p, err))
	}
	return nil
}

// explain says what is wrong with a file, and what to do.
func explain(p *web.Page, err error) string {
	if wrong, ok := errors.AsType[*fileError](err); ok {
		text := p.T(wrong.key, wrong.args...)
		if wrong.also != "" {
			text += " " + p.T(wrong.also)
		}
		return text
	}
	return p.T("ui.bad_form")
}
