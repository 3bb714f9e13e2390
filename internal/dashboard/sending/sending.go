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
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/rollout"
)

// Store reads campaigns, submissions, templates and agents.
type Store interface {
	reach.Store
	// Templates returns a tenant's templates without their contents.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	// ArchivedTemplates returns the IDs of the archived templates.
	ArchivedTemplates(ctx context.Context, tenant string) (map[string]bool, error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Dispatched returns a campaign without its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Submissions returns the submissions of a tenant. The error wraps campaign.ErrDamaged if one cannot be read.
	Submissions(ctx context.Context, tenant string) ([]submission.Submission, error)
	// ApprovalFrom returns 0 for never.
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
	// SaveApprovalFrom writes the entries of the audit log with the change. The error wraps campaign.ErrLostRace if
	// the stored number is not was.
	SaveApprovalFrom(ctx context.Context, tenant string, was, from int, audit ...account.AuditEntry) error
	// Tenant returns a tenant. The error wraps campaign.ErrNotFound if there is none.
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	// Lists returns the lists of numbers that get no messages, deleted ones included.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
	// Agent returns an agent. The error wraps campaign.ErrNotFound if there is none.
	Agent(ctx context.Context, id string) (campaign.Agent, error)
	// CreateRecipients makes a list of recipients, or returns the existing one. A refused request returns a *httpapi.Problem.
	CreateRecipients(ctx context.Context, id campaign.ID, exportID string, who export.Audience) (export.Export, error)
	// Find returns a list of recipients. If there is none, the error is a *httpapi.Problem.
	Find(ctx context.Context, id campaign.ID, exportID string) (export.Export, error)
}

// Intake takes forms, uploads and decisions. Invalid input returns a *inputerr.Error. A decision returns
// the submission as it is then. The error is intake.ErrStale, with what is stored, if somebody has saved
// the draft since the form was opened.
type Intake interface {
	// Submission returns a submission. The error wraps campaign.ErrNotFound if there is none.
	Submission(ctx context.Context, id campaign.ID) (submission.Submission, error)
	// Start starts an upload, or continues the same one. It returns the numbers of the chunks that have arrived.
	Start(ctx context.Context, asked submission.Submission) (submission.Submission, []int, error)
	// ChunkURL returns where a chunk is sent with PUT. The error wraps campaign.ErrNotFound if nothing is being uploaded.
	ChunkURL(ctx context.Context, sub submission.Submission, chunk int) (string, error)
	// Finish ends an upload whose chunks have arrived. It can be repeated.
	Finish(ctx context.Context, sub submission.Submission) error
	// FinishDraft is Finish for a file that is kept as a draft.
	FinishDraft(ctx context.Context, sub submission.Submission, entry account.AuditEntry) error
	// Take begins to check the file of a form. The error wraps campaign.ErrNotFound if there is no such file.
	Take(ctx context.Context, asked submission.Submission, from intake.FormFile) (submission.Submission, error)
	// SaveDraft returns intake.ErrState if the submission is no draft any more and cannot become one.
	SaveDraft(
		ctx context.Context, asked submission.Submission, from intake.FormFile, entry account.AuditEntry,
	) (submission.Submission, error)
	// HasFile reports whether the form needs no other file.
	HasFile(ctx context.Context, sub submission.Submission) (bool, error)
	// Check begins to read the file with the columns, again if it was read.
	Check(ctx context.Context, sub submission.Submission, columns submission.Chosen, t campaign.Template) error
	// Read reads the file in another way.
	Read(ctx context.Context, sub submission.Submission, reading submission.Reading, t campaign.Template) error
	// ScheduleMissed reports whether the time of sending has passed or is too close.
	ScheduleMissed(sub submission.Submission) bool
	// Quote returns what a checked campaign costs now.
	Quote(ctx context.Context, sub submission.Submission) (intake.Quote, error)
	// PlannedWaves returns the waves of a checked campaign as they go at the earliest, none for one that goes at once.
	PlannedWaves(ctx context.Context, sub submission.Submission) ([]intake.PlannedWave, error)
	// SetPlan sets the waves of a checked campaign, or none. The error wraps campaign.ErrLostRace if somebody has saved the
	// submission since, and is intake.ErrState if it was confirmed.
	SetPlan(ctx context.Context, sub submission.Submission, plan rollout.Plan) error
	// NeedsApproval reports whether a second person has to approve it.
	NeedsApproval(ctx context.Context, sub submission.Submission) (bool, error)
	// Decide returns intake.ErrNeedsApproval, with the submission, if a second person has to approve it.
	Decide(ctx context.Context, step intake.Step) (submission.Submission, error)
	// LeftOut yields the lines that get no message, in the order of the file.
	LeftOut(ctx context.Context, sub submission.Submission) iter.Seq2[submission.LeftOut, error]
	// FirstLines returns the first lines of each kind that get no message, or are noted.
	FirstLines(ctx context.Context, sub submission.Submission, most int) ([]submission.LeftOut, error)
	// Words returns the first words with accents, as they were read.
	Words(ctx context.Context, sub submission.Submission) ([]string, error)
	// Message returns the message at a position, from 0. The error wraps campaign.ErrNotFound if there is none.
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
	ui.Get(mux, FollowUpPath, web.RoleAuthor, web.With(s.question, askAudience))
	ui.Post(mux, FollowUpPath, web.RoleAuthor, web.With(s.question, s.chooseAudience))
	ui.Get(mux, FollowUpPath+"/{exportId}", web.RoleAuthor, web.With(s.listInPath, listProgress))
	ui.Get(mux, RulePath, web.RoleViewer, web.With(s.rule, showRule))
	ui.Post(mux, RulePath, web.RoleAdmin, web.With(s.rule, s.changeRule))
}

func (s *Pages) registerForm(ui *web.UI, mux *http.ServeMux) {
	ui.Get(mux, Path, web.RoleAuthor, s.showForm)
	ui.Get(mux, Path+"/columns", web.RoleAuthor, web.With(s.asked, showColumns))
	ui.Post(mux, Path+"/columns", web.RoleAuthor, s.chooseTemplate)
	ui.Get(mux, Path+"/example", web.RoleAuthor, web.With(s.asked, example))
	ui.Get(mux, Path+"/best-hour", web.RoleAuthor, s.proposeHour)
	ui.Post(mux, Path, web.RoleAuthor, s.take)
	ui.Post(mux, Path+"/draft", web.RoleAuthor, s.saveDraft)
	ui.Get(mux, DraftsPath, web.RoleAuthor, web.With(s.submissions, s.drafts))
	ui.Post(mux, DraftsPath+"/{id}/delete", web.RoleAuthor, s.deleteDraft)
}

func (s *Pages) registerSubmissions(ui *web.UI, mux *http.ServeMux) {
	uploads := s.uploads()
	ui.Get(mux, SubmissionsPath, web.RoleViewer, web.With(s.submissions, s.listSubmissions))
	ui.Post(mux, SubmissionsPath, web.RoleAuthor, uploads.Start)
	ui.Post(mux, SubmissionsPath+"/chunk", web.RoleAuthor, uploads.Chunk)
	ui.Post(mux, SubmissionsPath+"/finish", web.RoleAuthor, uploads.Finish)
	ui.Get(mux, SubmissionsPath+"/{campaignId}", web.RoleViewer, web.With(s.inPath, s.show))
	ui.Get(mux, SubmissionsPath+"/{campaignId}/sample", web.RoleViewer, web.With(s.inPath, s.showSample))
	ui.Get(mux, SubmissionsPath+"/{campaignId}/left-out", web.RoleAuthor, web.With(s.inPath, s.leftOut))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/columns", web.RoleAuthor, web.With(s.inPath, s.chooseColumns))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/reading", web.RoleAuthor, web.With(s.inPath, s.chooseReading))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/waves", web.RoleAuthor, web.With(s.inPath, s.changeWaves))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/confirm", web.RoleAuthor, web.With(s.inPath, s.confirm))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/decide", web.RoleApprover, web.With(s.inPath, s.decide))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/withdraw", web.RoleAuthor, web.With(s.inPath, s.withdraw))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/reopen", web.RoleAuthor, web.With(s.inPath, s.reopen))
	ui.Post(mux, SubmissionsPath+"/{campaignId}/cancel", web.RoleAuthor, web.With(s.inPath, s.cancel))
	ui.Get(mux, ApprovalsPath, web.RoleViewer, web.With(s.submissions, s.approvals))
}
