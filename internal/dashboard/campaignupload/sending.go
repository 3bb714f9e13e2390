// Package campaignupload sends a campaign from a file: it shows a review with the API's
// findings, and sends after a confirmation.
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
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/port"
	"campaign-dispatch/internal/random"
)

// Store reads templates and campaigns. The error wraps campaign.ErrNotFound if there is
// none.
type Store interface {
	// Templates returns a tenant's templates without their contents.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	// ArchivedTemplates returns the IDs of the archived templates.
	ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error)
	Template(ctx context.Context, id string) (campaign.Template, error)
	Batch(ctx context.Context, ref campaign.BatchRef) (campaign.Batch, error)
	// Dispatched returns a campaign without its outcomes.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Drafts(ctx context.Context, tenant string) ([]campaign.Draft, error)
	Draft(ctx context.Context, tenant, id string) (campaign.Draft, error)
	// SaveDraft writes the next version of a draft. The error wraps campaign.ErrLostRace if
	// d.Version is not the stored one.
	SaveDraft(ctx context.Context, d campaign.Draft) error
	// DeleteDraft deletes a draft if d.Version is the stored one. It reports whether it did.
	DeleteDraft(ctx context.Context, d campaign.Draft) (bool, error)
	// ApprovalFrom returns the number of recipients from which a campaign needs approval, 0
	// for never.
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
	// SaveApprovalFrom returns an error that wraps campaign.ErrLostRace if the stored number
	// is neither was nor from.
	SaveApprovalFrom(ctx context.Context, tenant string, was, from int) error
	Approval(ctx context.Context, tenant, id string) (campaign.Approval, error)
	// AskApproval keeps the existing request of the campaign.
	AskApproval(ctx context.Context, a campaign.Approval) error
	// SaveApproval returns an error that wraps campaign.ErrLostRace if the stored state is not
	// was.
	SaveApproval(ctx context.Context, a campaign.Approval, was campaign.ApprovalState) error
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	Agent(ctx context.Context, id string) (campaign.Agent, error)
}

// Pages serves the pages for sending a campaign.
type Pages struct {
	Store    Store
	Blobs    port.Blobs
	Dispatch dispatch.Dispatcher
	OptOuts  port.OptOuts
	Now      func() time.Time
	Lead     time.Duration // minimum time from now to a schedule
	// Upload allows a page to upload large files.
	Upload func(p *web.Page) (web.Upload, error)
	// Import starts a campaign whose file is too large for the form, and returns the path of its
	// page.
	Import func(p *web.Page, c web.LargeCampaign) (path string, err error)
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts for sending a campaign.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"sending", "audit", "approval"}} }

// Path is the path of the form.
const Path = web.Root + "/campaigns/new"

const reviewPath = Path + "/review"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.AuthorView(mux, Path, s.begin)
	ui.AuthorView(mux, Path+"/columns", s.columns)
	ui.AuthorChange(mux, Path+"/columns", s.choose)
	ui.AuthorView(mux, Path+"/example", s.example)
	ui.AuthorChange(mux, Path, s.take)
	ui.AuthorView(mux, reviewPath, s.review)
	ui.AuthorView(mux, reviewPath+"/sample", s.showSample)
	ui.AuthorChange(mux, Path+"/confirm", s.confirm)
	ui.AuthorChange(mux, Path+"/draft", s.saveDraft)
	ui.AuthorView(mux, DraftsPath, s.drafts)
	ui.AuthorChange(mux, DraftsPath+"/{id}/delete", s.deleteDraft)
	ui.View(mux, ApprovalsPath+"/{campaignId}", s.showApproval)
	ui.ApproverChange(mux, ApprovalsPath+"/{campaignId}", s.decide)
	ui.View(mux, RulePath, s.showRule)
	ui.Change(mux, RulePath, s.changeRule)
}

// form is the data of the form.
type form struct {
	upload
	From      string // the upload being corrected, whose file is reused
	Templates []campaign.Template
	Fewer     bool               // there are more templates
	Template  *campaign.Template // the selected template
	Notes     []note             // errors
	Lead      string             // minimum time from now to a schedule
	Upload    web.Upload
}

// note is an error of the form, and the name of the field to correct.
type note struct{ Field, Text string }

// Wrong reports whether a field is to be corrected.
func (f form) Wrong(field string) bool {
	return slices.ContainsFunc(f.Notes, func(n note) bool { return n.Field == field })
}

func (s *Pages) begin(p *web.Page) error {
	f := form{upload: upload{TemplateID: p.Query("template")}}
	if id := p.Query("copy"); id != "" {
		var err error
		if f.upload, err = s.copyOf(p, id); err != nil {
			return err
		}
	}
	if id := p.Query("draft"); id != "" {
		var err error
		if f, err = s.openDraft(p, id); err != nil {
			return err
		}
	}
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
	archived, err := s.Store.ArchivedTemplates(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	f.choices(slices.DeleteFunc(all, func(t campaign.Template) bool { return archived[t.ID] && t.ID != f.TemplateID }))
	f.Lead = s.lead(p)
	f.Draft = cmp.Or(f.Draft, random.UUID())
	if t, err := s.template(p, f.TemplateID); err == nil {
		f.Template = &t
	} else if !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if f.Upload, err = s.Upload(p); err != nil {
		return err
	}
	return p.RenderStatus(status, "sending.title", "sending_form.html", f)
}

const (
	// mostChoices is the number of templates in the selection list: the newest ones and
	// the selected one. choiceWeight is the maximum size in bytes of a name in it.
	mostChoices  = 50
	choiceWeight = 150
)

// choices sets the selection list of templates, including the selected one.
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

// Columns returns the columns of the template's variables that the page shows.
func (f form) Columns() []string {
	few, _ := f.columns()
	return few
}

// MoreColumns returns the number of columns that Columns omits.
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
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return campaign.Template{}, campaign.ErrNotFound
	}
	t, err := s.Store.Template(p.R.Context(), id)
	if err == nil && t.Tenant != p.Session.Tenant {
		return campaign.Template{}, campaign.ErrNotFound
	}
	return t, err
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

// choose shows the form with the selected template, for browsers without scripts.
func (s *Pages) choose(p *web.Page) error {
	return s.renderForm(p, http.StatusOK, entered(p))
}

func entered(p *web.Page) form {
	version, _ := strconv.Atoi(p.Field("draftVersion"))
	return form{From: p.Field("from"), upload: upload{
		Draft: p.Field("draft"), DraftVersion: max(0, version),
		Name: p.Field("name"), TemplateID: strings.ToLower(p.Field("template")), Schedule: p.Field("schedule"), NotAfter: p.Field("notAfter"),
	}}
}

// columns shows the columns that a template's file needs.
func (s *Pages) columns(p *web.Page) error {
	t, err := s.template(p, p.Query("template"))
	if err != nil {
		return err
	}
	return p.Fragment("sending_columns.html", form{Template: &t})
}

// example returns a sample file for a template, in the CSV format of Brazilian
// spreadsheets.
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
		append([]string{"phone", "uid"}, more...), append([]string{exampleNumber, p.T("sending.example_uid")}, more...),
	})
}

// exampleNumber is a valid number that belongs to nobody: numbers that begin with 90000
// are not assigned.
const exampleNumber = "11900000000"

// moreColumns returns the columns that a template needs besides phone and uid.
func moreColumns(t campaign.Template) []string {
	return slices.DeleteFunc(t.Variables(), func(name string) bool {
		return strings.EqualFold(name, "phone") || strings.EqualFold(name, "uid")
	})
}

// take stores a campaign with its file, and redirects to the review.
func (s *Pages) take(p *web.Page) error {
	f := entered(p)
	if err := s.check(p, &f); err != nil {
		return err
	}
	if len(f.Notes) > 0 {
		return s.renderForm(p, http.StatusUnprocessableEntity, f)
	}
	if f.Object != "" {
		path, err := s.Import(p, web.LargeCampaign{
			Name: f.Name, TemplateID: f.TemplateID, Schedule: f.Schedule, NotAfter: f.NotAfter, FileName: f.FileName, Object: f.Object,
		})
		if err != nil {
			return err
		}
		return p.Redirect(path)
	}
	f.CampaignID = random.UUID()
	id, err := s.keep(p, f.upload)
	if err != nil {
		return err
	}
	return p.Redirect(reviewPath + "?upload=" + id)
}

// maxName is the maximum number of characters of a campaign's name.
const maxName = 1000

// check reads the file and adds the errors of the form.
func (s *Pages) check(p *web.Page, f *form) error {
	t, err := s.template(p, f.TemplateID)
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		f.Notes = append(f.Notes, note{"template", p.T("refusal.template_not_found")})
	case err != nil:
		return err
	}
	switch {
	case f.Name == "":
		f.Notes = append(f.Notes, note{"name", p.T("sending.no_name")})
	case utf8.RuneCountInString(f.Name) > maxName:
		f.Notes = append(f.Notes, note{"name", p.T("sending.long_name", p.Number(maxName))})
	}
	return s.takeFile(p, f, t.Variables())
}

// takeFile reads the file of the form, or the one of the upload being corrected, and
// adds its errors.
func (s *Pages) takeFile(p *web.Page, f *form, variables []string) error {
	content, header, err := p.R.FormFile("file")
	switch {
	case err == nil:
		defer func() { _ = content.Close() }() // it is in memory
		if f.file, err = io.ReadAll(content); err != nil {
			return fmt.Errorf("read an uploaded file: %w", err)
		}
		f.FileName = path.Base(header.Filename)
	case f.From != "":
		before, err := s.kept(p, f.From)
		if err != nil {
			return err
		}
		if f.file, f.FileName, f.Object = before.file, before.FileName, before.Object; f.Object != "" {
			return nil // the import reads it
		}
	default:
		f.Notes = append(f.Notes, note{"file", p.T("sending.no_file")})
		return nil
	}
	t, err := readFile(f.file)
	if err == nil {
		err = t.fit(variables)
	}
	if err != nil {
		f.From = "" // its file is not kept
		f.Notes = append(f.Notes, note{"file", explain(p, err)})
	}
	return nil
}

// explain returns the text of a file's error.
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
