// Package sending has the pages that make a campaign: the form, the choice of columns, the progress of
// the checks, the review, the approval, the drafts, and follow-ups of earlier campaigns. Browsers send a
// large file in chunks directly to the bucket.
package sending

import (
	"context"
	"embed"
	"iter"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/suppression"
)

// Store reads campaigns, submissions, templates and agents. The error wraps campaign.ErrNotFound if
// there is none.
type Store interface {
	// Templates returns a tenant's templates without their contents.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error)
	Template(ctx context.Context, id string) (campaign.Template, error)
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	// ApprovalFrom returns 0 for never.
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
	// SaveApprovalFrom writes the entries of the audit log with the change. The error wraps campaign.ErrLostRace if
	// the stored number is not was.
	SaveApprovalFrom(ctx context.Context, tenant string, was, from int, audit ...account.AuditEntry) error
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	SendPolicy(ctx context.Context, tenant string) (reach.Policy, error)
	// Lists returns the lists of numbers that get no messages, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]suppression.List, error)
	Agent(ctx context.Context, id string) (campaign.Agent, error)
	// CreateRecipients and Find make and find lists of recipients. A refused request and a missing list
	// return a *httpapi.Problem.
	// CreateRecipients returns the existing export if the ID is used.
	CreateRecipients(ctx context.Context, id campaign.ID, exportID string, who export.Audience) (export.Export, error)
	Find(ctx context.Context, id campaign.ID, exportID string) (export.Export, error)
}

// Intake takes forms, uploads and decisions. Invalid input returns a *inputerr.Error. A decision returns
// the submission as it is then. The error is intake.ErrStale, with what is stored, if somebody has saved
// the draft since the form was opened.
type Intake interface {
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	Start(ctx context.Context, asked submission.Submission) (submission.Submission, []int, error)
	ChunkURL(ctx context.Context, sub submission.Submission, chunk int) (string, error)
	Finish(ctx context.Context, sub submission.Submission) error
	FinishDraft(ctx context.Context, sub submission.Submission, entry account.AuditEntry) error
	Take(ctx context.Context, asked submission.Submission, from intake.FormFile) (submission.Submission, error)
	// SaveDraft returns intake.ErrState if the submission is no draft any more and cannot become one.
	SaveDraft(
		ctx context.Context, asked submission.Submission, from intake.FormFile, entry account.AuditEntry,
	) (submission.Submission, error)
	HasFile(ctx context.Context, sub submission.Submission) (bool, error)
	Check(ctx context.Context, sub submission.Submission, columns submission.Chosen, t campaign.Template) error
	// Read reads the file in another way.
	Read(ctx context.Context, sub submission.Submission, reading submission.Reading, t campaign.Template) error
	TooLate(sub submission.Submission) bool
	Quote(ctx context.Context, sub submission.Submission) (intake.Quote, error)
	NeedsApproval(ctx context.Context, sub submission.Submission) (bool, error)
	// Decide returns intake.ErrNeedsApproval, with the submission, if a second person has to approve it.
	Decide(ctx context.Context, step intake.Step) (submission.Submission, error)
	LeftOut(ctx context.Context, sub submission.Submission) iter.Seq2[submission.LeftOut, error]
	// FirstLines returns the first lines of each kind that get no message, or are noted.
	FirstLines(ctx context.Context, sub submission.Submission, most int) ([]submission.LeftOut, error)
	// Words returns the first words with accents, as they were read.
	Words(ctx context.Context, sub submission.Submission) ([]string, error)
	Message(ctx context.Context, sub submission.Submission, at int) (line int, vars map[string]string, err error)
}

// Pages serves the pages that make a campaign.
type Pages struct {
	Store  Store
	Intake Intake
	Now    func() time.Time
	Lead   time.Duration // minimum time from now to a schedule
	// Origin returns the origin to which browsers send the chunks of a file.
	Origin func(ctx context.Context) (string, error)
	Reads  *recent.Reads
}

//go:embed *.html texts.json
var files embed.FS

// Area returns the pages and texts that make a campaign.
func Area() web.Area {
	return web.Area{Files: files, Texts: []string{"sending", "submission", "approval", "followup", "audit", "refusal"}}
}

// The paths of the form, of the list of submissions, and of the page that asks for the people of a follow-up.
const (
	Path            = web.Root + "/campaigns/new"
	SubmissionsPath = web.Root + "/submissions"
	FollowUpPath    = web.Root + "/campaigns/{campaignId}/follow-up"
)

// Register serves the pages.
func (s *Pages) Register(ui *web.UI, mux *http.ServeMux) {
	s.registerForm(ui, mux)
	s.registerSubmissions(ui, mux)
	ui.Get(mux, FollowUpPath, web.RoleAuthor, s.askAudience)
	ui.Post(mux, FollowUpPath, web.RoleAuthor, s.chooseAudience)
	ui.Get(mux, FollowUpPath+"/{exportId}", web.RoleAuthor, s.listProgress)
	ui.Get(mux, RulePath, web.RoleViewer, s.showRule)
	ui.Post(mux, RulePath, web.RoleAdmin, s.changeRule)
}

func (s *Pages) registerForm(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleAuthor, s.showForm)
	ui.Get(mux, Path+"/columns", web.RoleAuthor, s.columns)
	ui.Post(mux, Path+"/columns", web.RoleAuthor, s.chooseTemplate)
	ui.Get(mux, Path+"/example", web.RoleAuthor, s.example)
	ui.Get(mux, Path+"/best-hour", web.RoleAuthor, s.proposeHour)
	ui.Post(mux, Path, web.RoleAuthor, s.take)
	ui.Post(mux, Path+"/draft", web.RoleAuthor, s.saveDraft)
	ui.Get(mux, DraftsPath, web.RoleAuthor, s.drafts)
	ui.Post(mux, DraftsPath+"/{id}/delete", web.RoleAuthor, s.deleteDraft)
}

func (s *Pages) registerSubmissions(ui *web.UI, mux *http.ServeMux) {
	uploads := s.uploads()
	ui.Get(mux, SubmissionsPath, web.RoleViewer, s.listSubmissions)
	ui.Post(mux, SubmissionsPath, web.RoleAuthor, uploads.Start)
	ui.Post(mux, SubmissionsPath+"/chunk", web.RoleAuthor, uploads.Chunk)
	ui.Post(mux, SubmissionsPath+"/finish", web.RoleAuthor, uploads.Finish)
	ui.Get(mux, SubmissionsPath+"/{campaignId}", web.RoleViewer, s.show)
	ui.Get(mux, SubmissionsPath+"/{campaignId}/sample", web.RoleViewer, s.showSample)
	ui.Get(mux, SubmissionsPath+"/{campaignId}/left-out", web.RoleAuthor, s.leftOut)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/columns", web.RoleAuthor, s.chooseColumns)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/reading", web.RoleAuthor, s.chooseReading)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/confirm", web.RoleAuthor, s.confirm)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/decide", web.RoleApprover, s.decide)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/withdraw", web.RoleAuthor, s.withdraw)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/reopen", web.RoleAuthor, s.reopen)
	ui.Post(mux, SubmissionsPath+"/{campaignId}/cancel", web.RoleAuthor, s.cancel)
	ui.Get(mux, ApprovalsPath, web.RoleViewer, s.approvals)
}
