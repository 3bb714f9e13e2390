package templates

import (
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/media/mediafile"
)

type form struct {
	draft
	variables
	Once    string
	Cut     bool // the preview is cut
	Phone   preview.Phone
	Counts  []count
	Hint    hint
	Stops   []string      // texts of buttons that read as an opt-out and are none
	Before  content.Class // before the last change, as the form says
	Notes   []string      // errors
	Refused bool
	Files   []file // the newest ones that the template can show
	Upload  web.Upload
	Newer   int // newer version that somebody else has saved, or 0

	page   *web.Page
	focus  string            // the element that gets the focus
	errors map[string]string // by the name of the field
	links  bool              // clicks can be counted
}

// count is the length of a text, without its variables.
type count struct {
	Label      string
	Have, Most int
}

type file struct{ Name, Link string }

const mostFiles = 8 // that the form offers; the page of media has all

func (s *Pages) files(p *web.Page) (newest []file, err error) {
	all, err := s.Store.MediaFiles(p.R.Context(), p.Session.Tenant)
	mediafile.SortNewest(all)
	for _, f := range all[:min(len(all), mostFiles)] {
		if !f.Deleting {
			newest = append(newest, file{web.Short(f.Name, nameWeight), f.Link(s.MediaURL)})
		}
	}
	return newest, err
}

func newForm(p *web.Page, d draft) *form {
	t := d.template(p.Session.Tenant)
	f := &form{draft: d, page: p, variables: variablesOf(t), Counts: counts(p, t), Hint: hintOf(p, t.Content), Stops: stopsOf(t.Content), errors: map[string]string{}}
	f.Newer = overwritten(p)
	f.Phone, f.Cut = web.Phone(p, t.Content, p.T("templates.preview"), previewWeight(d))
	f.Before = content.Class(p.R.PostForm.Get("class"))
	f.Phone.Dark = p.R.PostForm.Has("dark")
	for _, flaw := range flawsOf(t) {
		f.note(flaw)
	}
	return f
}

// note adds an error to the form. Errors stand at their fields once the form was sent.
func (f *form) note(flaw content.Flaw) {
	note, name := describe(f.page, f.Form, flaw), f.fieldOf(flaw)
	f.Notes = append(f.Notes, note)
	if _, more := f.errors[name]; f.Checked && !more {
		f.errors[name] = note
	}
}

func counts(p *web.Page, t campaign.Template) []count {
	bare := t.Render(make([]string, len(t.Variables())))
	switch formOf(bare) {
	case formText:
		return []count{{p.T("templates.text"), utf8.RuneCountInString(bare.Text), content.MaxText}}
	case formCard:
		return []count{
			{p.T("templates.card_title"), utf8.RuneCountInString(bare.Card.Title), content.MaxTitle},
			{p.T("templates.description"), utf8.RuneCountInString(bare.Card.Description), content.MaxDescription},
		}
	}
	return nil
}

func (s *Pages) blank(p *web.Page) error {
	d := newDraft()
	if p.Query("example") != "" {
		d = exampleDraft(p)
	}
	f := newForm(p, d)
	f.Notes = nil // nothing was entered yet
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) edit(p *web.Page, t campaign.Template) error {
	return s.renderForm(p, http.StatusOK, newForm(p, draftOf(p, t)))
}

// prepare sets what the form offers beside its draft.
func (s *Pages) prepare(p *web.Page, f *form) (err error) {
	f.Once, f.links = web.FormToken(), s.LinkURL != ""
	f.Files, err = s.files(p)
	return err
}

func (s *Pages) renderForm(p *web.Page, status int, f *form) error {
	if err := s.prepare(p, f); err != nil {
		return err
	}
	title := "templates.new"
	if f.ID != "" {
		title = "templates.edit"
	}
	var err error
	if f.Upload, err = s.Upload(p); err != nil {
		return err
	}
	return p.RenderStatus(status, title, "template_form.html", f)
}

func (s *Pages) preview(p *web.Page) error {
	d, err := s.read(p, p.Field("id"))
	if err != nil {
		return err
	}
	f := newForm(p, d)
	if p.Partial() {
		return p.Fragment("template_preview.html", f)
	}
	return s.renderForm(p, http.StatusOK, f)
}

func (s *Pages) create(p *web.Page) error {
	return s.save(p, campaign.Template{})
}

// change saves a new version. Campaigns keep their version.
func (s *Pages) change(p *web.Page, newest campaign.Template) error {
	return s.save(p, newest)
}

// save saves a template, or changes the cards and suggestions of its form. A repeated
// submission of the form has no effect. newest is the zero Template for a new one.
func (s *Pages) save(p *web.Page, newest campaign.Template) error {
	d, err := s.read(p, newest.ID)
	if err != nil {
		return err
	}
	if do := p.Field("do"); do != "" {
		return s.rearrange(p, d, do)
	}
	t := d.template(p.Session.Tenant)
	if flaws := flawsOf(t); len(flaws) > 0 {
		return s.refuse(p, d, flaws[0])
	}
	if d.stale(newest.Version, overwritten(p)) {
		return s.refuseStale(p, d, newest.Version)
	}
	if flaws := s.Media.Flaws(p.R.Context(), t.Content, newest.Content); len(flaws) > 0 {
		return s.refuse(p, d, flaws[0], flaws...)
	}
	t.Version = newest.Version + 1
	return s.keep(p, d, t)
}

// overwritten returns the version that the person has been told of as newer, or 0.
func overwritten(p *web.Page) int {
	n, _ := strconv.Atoi(p.Field("over"))
	return n
}

// stale reports whether somebody saved a version after the edited one, and the person was
// not told of it.
func (d draft) stale(newest, told int) bool {
	return d.Edited > 0 && newest != d.Edited && newest != told
}

// refuseStale shows the form, which says that there is a newer version. Saved again, it is
// the version after that.
func (s *Pages) refuseStale(p *web.Page, d draft, newest int) error {
	f := newForm(p, d)
	f.Newer = newest
	return s.renderForm(p, http.StatusConflict, f)
}

func (s *Pages) keep(p *web.Page, d draft, t campaign.Template) error {
	to, toKey := Path, "templates.all"
	if t.ID != "" {
		to, toKey = linkOf(t), "templates.back"
	}
	if err := web.UseForm(p, "templates.form_used", to, toKey); err != nil {
		return err
	}
	saved, err := s.put(p, t)
	if t.ID != "" && errors.Is(err, campaign.ErrLostRace) {
		return s.refuseStale(p, d, t.Version)
	}
	if err != nil {
		return err
	}
	return p.Done(linkOf(saved), "templates.done.saved", saved.Name, p.Number(saved.Version))
}

// put saves a new template, or the next version of one with an ID, together with its entry in the audit log.
func (s *Pages) put(p *web.Page, t campaign.Template) (campaign.Template, error) {
	if t.Version > campaign.MaxTemplateVersions {
		return t, tooMany("templates.too_many_versions", p.Number(campaign.MaxTemplateVersions))
	}
	if t.ID != "" {
		return s.Store.AddTemplateVersion(p.R.Context(), t, p.AuditEntry(linkOf(t), "template.change", t.Name))
	}
	entry := p.AuditEntry("", "template.create", t.Name)
	t.ID = random.UUID()
	saved, full, err := s.Store.CreateTemplate(p.R.Context(), t, campaign.MaxTemplates, entry)
	if full {
		err = tooMany("templates.too_many", p.Number(campaign.MaxTemplates))
	}
	return saved, err
}

func tooMany(key, most string) error {
	return &web.Refusal{Status: http.StatusConflict, Key: key, Args: []any{most}, To: Path, ToKey: "templates.all"}
}

// linkOf returns the path of a template, "" for a new one.
func linkOf(t campaign.Template) string {
	if t.ID == "" {
		return ""
	}
	return Path + "/" + t.ID
}

// rearrange shows the form after a command of its buttons. Nothing is saved.
func (s *Pages) rearrange(p *web.Page, d draft, command string) error {
	focus := d.change(command)
	f := newForm(p, d)
	f.focus = focus
	if p.Partial() {
		if err := s.prepare(p, f); err != nil {
			return err
		}
		return p.Fragment("template_editor.html", f)
	}
	return s.renderForm(p, http.StatusOK, f)
}

// refuse shows the form with the errors at their fields: those of the draft, and others that
// the draft does not show. The first one has the focus.
func (s *Pages) refuse(p *web.Page, d draft, first content.Flaw, others ...content.Flaw) error {
	d.Checked = true
	d.show(first)
	f := newForm(p, d)
	for _, flaw := range others {
		f.note(flaw)
	}
	f.Refused, f.focus = true, d.fieldOf(first)
	return s.renderForm(p, http.StatusUnprocessableEntity, f)
}
