// Package imports shows what becomes of the file of a campaign: the choice of columns, the progress of
// the checks, the review and the sending. Browsers send a large file in parts directly to the bucket.
package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"iter"
	"net/http"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/recipients"
)

// Store reads templates and requests for approval. The error wraps campaign.ErrNotFound if
// there is none.
type Store interface {
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	Template(ctx context.Context, id string) (campaign.Template, error)
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
	Approval(ctx context.Context, tenant, id string) (campaign.Approval, error)
	// AskApproval keeps the existing request of the campaign.
	AskApproval(ctx context.Context, a campaign.Approval) error
	// SaveApproval returns an error that wraps campaign.ErrLostRace if the stored state is not
	// was.
	SaveApproval(ctx context.Context, a campaign.Approval, was campaign.ApprovalState) error
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	Agent(ctx context.Context, id string) (campaign.Agent, error)
}

// Intake takes uploads and decisions. Invalid input returns a *inputerr.Error.
type Intake interface {
	Start(ctx context.Context, asked submission.Submission) (submission.Submission, map[int]int64, error)
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	PartURL(ctx context.Context, sub submission.Submission, part int) (string, error)
	Finish(ctx context.Context, sub submission.Submission) error
	Check(ctx context.Context, sub submission.Submission, columns recipients.Columns, t campaign.Template) error
	TooLate(sub submission.Submission) bool
	Send(ctx context.Context, sub submission.Submission) error
	AwaitApproval(ctx context.Context, sub submission.Submission) error
	Discard(ctx context.Context, sub submission.Submission) error
	// LeftOut yields the lines that get no message, in the order of the file.
	LeftOut(ctx context.Context, sub submission.Submission) iter.Seq2[submission.LeftOut, error]
	Message(ctx context.Context, sub submission.Submission, at int) (line int, vars map[string]string, err error)
}

// Pages are the pages of imports.
type Pages struct {
	Store  Store
	Intake Intake
	// Origin returns the origin to which browsers send the parts of a file.
	Origin func(ctx context.Context) (string, error)
	// PartSize is the size of all parts but the last.
	PartSize int64
	Now      func() time.Time
	// DropDraft deletes a version of the draft that became a campaign.
	DropDraft func(p *web.Page, id string, version int) error
}

//go:embed *.html texts.json
var files embed.FS

//go:embed import.js
var script []byte

// scriptHash changes with the script, so that browsers can cache it.
var scriptHash = func() string {
	sum := sha256.Sum256(script)
	return hex.EncodeToString(sum[:6])
}()

// Area returns the pages and texts of imports.
func Area() web.Area { return web.Area{Files: files, Texts: []string{"imports", "audit", "refusal"}} }

// Path is the path of the imports.
const Path = web.Root + "/imports"

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	ui.View(mux, Path, s.list)
	ui.WithoutSession(mux, "GET "+Path+"/upload/{hash}/import.js", serveScript)
	ui.AuthorChange(mux, Path, s.start)
	ui.AuthorChange(mux, Path+"/part", s.part)
	ui.AuthorChange(mux, Path+"/finish", s.finish)
	ui.View(mux, Path+"/{campaignId}", s.show)
	ui.View(mux, Path+"/{campaignId}/sample", s.showSample)
	ui.AuthorView(mux, Path+"/{campaignId}/left-out", s.leftOut)
	ui.AuthorChange(mux, Path+"/{campaignId}/columns", s.choose)
	ui.AuthorChange(mux, Path+"/{campaignId}/confirm", s.confirm)
	ui.ApproverChange(mux, Path+"/{campaignId}/decide", s.decide)
	ui.AuthorChange(mux, Path+"/{campaignId}/cancel", s.cancel)
}

func serveScript(p *web.Page) error {
	if p.R.PathValue("hash") != scriptHash {
		return campaign.ErrNotFound
	}
	p.W.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	p.W.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, err := p.W.Write(script)
	return err
}

// Upload allows the form of a new campaign to upload large files.
func (s *Pages) Upload(p *web.Page) (web.Upload, error) {
	origin, err := s.Origin(p.R.Context())
	if err != nil {
		return web.Upload{}, err
	}
	p.UploadTo(origin)
	return web.Upload{Script: Path + "/upload/" + scriptHash + "/import.js", PartSize: s.PartSize}, nil
}

func pathOf(sub submission.Submission) string { return Path + "/" + sub.CampaignID }

// nameWeight is the maximum size in bytes of a name in a page.
const nameWeight = 300

// mostListed is the maximum number of submissions in the list: the newest ones.
const mostListed = 50

func (s *Pages) list(p *web.Page) error {
	all, err := s.Store.Submissions(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b submission.Submission) int { return b.CreatedAt.Compare(a.CreatedAt) })
	all = all[:min(len(all), mostListed)]
	for n := range all {
		all[n].Name, all[n].File.Name = web.Short(all[n].Name, nameWeight), web.Short(all[n].File.Name, nameWeight)
	}
	return p.Render("imports.title", "imports.html", all)
}

// find returns the tenant's submission in the path.
func (s *Pages) find(p *web.Page, id string) (submission.Submission, error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return submission.Submission{}, campaign.ErrNotFound
	}
	return s.Intake.Submission(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
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

// refreshSeconds is the time after which browsers without scripts reload a page in progress.
const refreshSeconds = 5

func (s *Pages) show(p *web.Page) error {
	sub, err := s.find(p, p.R.PathValue("campaignId"))
	if err != nil {
		return err
	}
	if sub.State == submission.StateSent {
		return p.Redirect(web.Root + "/campaigns/" + sub.CampaignID)
	}
	if p.Partial() && sub.Working() {
		return p.Fragment("import_progress.html", sub)
	}
	if p.Partial() { // what follows is another page
		return p.Redirect(pathOf(sub))
	}
	if sub.Working() {
		p.Refresh = refreshSeconds
	}
	return s.render(p, http.StatusOK, sub, "")
}

// view is the data of a submission's page.
type view struct {
	submission.Submission
	Notice   string // the key of a text, or ""
	Template campaign.Template
	Changed  bool // the template has another version than the checked one
	TooLate  bool // it is too late for the schedule
	Due      time.Time
	Until    time.Time
	Minutes  int // of sending, 0 without a limit
	Sample   sample
	Request  *campaign.Approval // nil without a request
	Needed   bool               // a second person has to approve it
	Own      bool               // the person has asked for approval
}

// render shows a submission in its state. notice is the key of a text, or "".
func (s *Pages) render(p *web.Page, status int, sub submission.Submission, notice string) error {
	v := view{Submission: sub, Notice: notice, TooLate: s.Intake.TooLate(sub), Due: instant(sub.Schedule), Until: instant(sub.NotAfter)}
	v.Name, v.File.Name = web.Short(sub.Name, nameWeight), web.Short(sub.File.Name, nameWeight)
	var err error
	if v.Template, err = s.template(p, sub.TemplateID); err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	v.Changed = v.Template.Version != sub.TemplateVersion
	v.Columns.Values = current(sub, v.Template.Variables())
	if err := s.readRequest(p, &v); err != nil {
		return err
	}
	if sub.State == submission.StateReady || sub.State == submission.StateApproval || sub.State == submission.StateInterrupted {
		if err := s.complete(p, &v); err != nil {
			return err
		}
	}
	p.Title = p.T("imports.title_of."+string(sub.State), v.Name)
	p.ShowMedia()
	return p.RenderStatus(status, "imports.title", "import.html", v)
}

// readRequest adds the request for approval, if there is one.
func (s *Pages) readRequest(p *web.Page, v *view) error {
	a, err := s.Store.Approval(p.R.Context(), v.Tenant, v.CampaignID)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	v.Request, v.Own = &a, a.By == p.Session.Email
	return err
}

// complete adds what a person needs for the decision to send.
func (s *Pages) complete(p *web.Page, v *view) (err error) {
	if v.Minutes, err = s.minutes(p, v.Check.Findings.Accepted-v.Sending.Accepted); err != nil {
		return err
	}
	if v.Needed, err = s.needsApproval(p, v.Submission); err != nil {
		return err
	}
	v.Sample, err = s.sample(p, v.Submission)
	return err
}

// minutes returns the time of sending at the agent's rate, 0 without a limit.
func (s *Pages) minutes(p *web.Page, messages int) (int, error) {
	t, err := s.Store.Tenant(p.R.Context(), p.Session.Tenant)
	if errors.Is(err, campaign.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	a, err := s.Store.Agent(p.R.Context(), t.AgentID)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && a.Rate == 0 {
		return 0, nil
	}
	const minute = 60
	perMinute := cmp.Or(a.Rate*minute, 1)
	return (messages + perMinute - 1) / perMinute, err
}

// Hours returns the time of sending in hours, 0 for less than two.
func (v view) Hours() int {
	const hour = 60
	if v.Minutes < 2*hour {
		return 0
	}
	return (v.Minutes + hour - 1) / hour
}

// Sendable reports whether the campaign may be sent as it was checked.
func (v view) Sendable() bool { return v.Check.Findings.Fits() && !v.Changed && !v.TooLate }
