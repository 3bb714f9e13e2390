package sending

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach/lists"
)

func pathOf(sub submission.Submission) string { return SubmissionsPath + "/" + sub.CampaignID }

const nameWeight = 300 // bytes of a name in a page

const mostListed = 50 // the newest ones

// submissions reads the tenant's submissions, and counts for the tabs what waits for a person.
func (s *Pages) submissions(p *web.Page) ([]submission.Submission, error) {
	all, err := s.Store.Submissions(p.R.Context(), p.Session.Tenant)
	p.TabCounts = map[string]int{}
	for _, sub := range all {
		switch {
		case sub.State == submission.StateDraft:
			p.TabCounts[DraftsPath]++
		case sub.State == submission.StateApproval:
			p.TabCounts[ApprovalsPath]++
		case !done(sub, s.Now()):
			p.TabCounts[SubmissionsPath]++
		}
	}
	return all, err
}

// done reports whether a file needs nobody now.
func done(sub submission.Submission, now time.Time) bool {
	return sub.Closed() || sub.State == submission.StateSending || early(sub, now)
}

// early reports whether the next wave of a campaign waits for its time, before a person can open it.
func early(sub submission.Submission, now time.Time) bool {
	return sub.State == submission.StateHolding && intake.OpensFrom(sub).After(now)
}

// listed are files of a tenant, the newest first, with the key of their heading.
type listed struct {
	Heading string
	Files   []submission.Submission
}

// listSubmissions lists the files that are to be reviewed, and apart those that wait for approval, and those that are
// sent or ended.
func (s *Pages) listSubmissions(p *web.Page, all []submission.Submission) error {
	now := s.Now()
	all = slices.DeleteFunc(all, func(sub submission.Submission) bool { return sub.State == submission.StateDraft })
	slices.SortFunc(all, func(a, b submission.Submission) int {
		return cmp.Or(falseFirst(done(a, now), done(b, now)), b.CreatedAt.Compare(a.CreatedAt))
	})
	all = all[:min(len(all), mostListed)]
	for n := range all {
		all[n].Name, all[n].File.Name = web.Short(all[n].Name, nameWeight), web.Short(all[n].File.Name, nameWeight)
	}
	groups := []listed{{Heading: "ui.files"}, {Heading: "submission.state.approval"}, {Heading: "submission.done"}}
	for _, sub := range all {
		of := &groups[0]
		switch {
		case done(sub, now):
			of = &groups[2]
		case sub.State == submission.StateApproval:
			of = &groups[1]
		}
		of.Files = append(of.Files, sub)
	}
	return p.Render("ui.files", "submissions.html", groups)
}

func (s *Pages) inPath(p *web.Page) (submission.Submission, error) {
	return s.find(p, p.R.PathValue("campaignId"))
}

func (s *Pages) find(p *web.Page, id string) (submission.Submission, error) {
	return web.OfCampaign(p, id, func(ctx context.Context, id campaign.ID) (submission.Submission, error) {
		return s.Intake.Submission(ctx, id)
	})
}

func (s *Pages) show(p *web.Page, sub submission.Submission) error {
	if sub.State == submission.StateSent || sub.State == submission.StateHolding {
		return p.Redirect(web.CampaignPath(sub.CampaignID))
	}
	if sub.State == submission.StateDraft {
		return p.Redirect(Path + "?from=" + sub.CampaignID)
	}
	if p.Partial() && sub.Working() {
		return p.Fragment("submission_progress.html", progress{sub, openOf(sub)})
	}
	if p.Partial() { // what follows is another page
		return p.Redirect(pathOf(sub))
	}
	if sub.Working() {
		p.RefreshEvery(web.Often)
	}
	return s.render(p, http.StatusOK, sub, "")
}

type view struct {
	submission.Submission
	Notice         string // the key of a text, or ""
	Template       campaign.Template
	Changed        bool // the template has another version than the checked one, before the campaign is confirmed
	ScheduleMissed bool // it is too late for the schedule
	Until          time.Time
	Minutes        int // of sending, 0 without a limit
	Sample         sample
	Quote          intake.Quote
	Needed         bool   // a second person has to approve it
	Own            bool   // the person has asked for approval
	Unheard        string // the reason of a refusal after another decision
	CannotGo       int    // people whose window does not open in time
	OnLists        []review.OnList
	Words          string // with accents, as they were read
	Review         review.View
	Noted          []review.Kind
	Choices        review.Choices
	Correct        []review.Correction
	Open           openWave
	PlannedWaves   []plannedWave // the waves of a campaign that is not confirmed
	TooLong        string        // why its last wave would go too late, or ""
	Form           wavesForm     // to change the waves
	starting
}

// render shows a submission in its state. notice is the key of a text, or "".
func (s *Pages) render(p *web.Page, status int, sub submission.Submission, notice string) error {
	return s.renderView(p, status, view{Submission: sub, Notice: notice})
}

func (s *Pages) renderView(p *web.Page, status int, v view) error {
	sub := v.Submission
	v.ScheduleMissed, v.Open = s.Intake.ScheduleMissed(sub), openOf(sub)
	v.Until, _ = localtime.Parse(sub.NotAfter) // invalid times are refused before
	v.Name, v.File.Name = web.Short(sub.Name, nameWeight), web.Short(sub.File.Name, nameWeight)
	var err error
	if v.Template, err = s.templateOf(p, sub); err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	v.Changed = v.Template.Version != sub.TemplateVersion
	v.Columns.Values = current(sub, v.Template.Variables())
	v.Choices = review.NewChoices(sub.Reading, sub.Columns.Sheets, sub.Columns.Encodings, review.Source{Findings: sub.Check.Findings})
	v.Own = sub.Approval.AskedBy == p.Session.Email
	if v.Notice == "approval.decided_before" {
		v.Unheard = reason(p)
	}
	if v.Reviewed() {
		if err := s.complete(p, &v); err != nil {
			return err
		}
	}
	p.Title = p.T("submission.title_of."+string(sub.State), v.Name)
	p.ShowMedia()
	return p.RenderStatus(status, "ui.files", "submission.html", v)
}

// Reviewed reports whether the page shows what would be sent.
func (v view) Reviewed() bool {
	reviewed := []submission.State{submission.StateReady, submission.StateApproval, submission.StateRefused, submission.StateInterrupted}
	return slices.Contains(reviewed, v.State)
}

// complete adds what a person needs for the decision to send.
func (s *Pages) complete(p *web.Page, v *view) (err error) {
	if v.Minutes, err = s.minutes(p, v.left()); err != nil {
		return err
	}
	if err := s.addHours(p, v); err != nil {
		return err
	}
	if err := s.addWaves(p, v); err != nil {
		return err
	}
	if v.Quote, err = s.Intake.Quote(p.R.Context(), v.Submission); err != nil {
		return err
	}
	if v.Needed, err = s.Intake.NeedsApproval(p.R.Context(), v.Submission); err != nil {
		return err
	}
	if err := s.addReview(p, v); err != nil {
		return err
	}
	v.Sample, err = s.sample(p, v.Submission, v.Template)
	return err
}

// listNames returns the names of the lists by number. It reads nothing if no list keeps anybody from the message.
func (s *Pages) listNames(p *web.Page, f submission.Findings) (map[int]string, error) {
	if len(f.Suppressed) == 0 {
		return nil, nil
	}
	return lists.Names(p.R.Context(), p.Session.Tenant, s.Store.Lists)
}

// minutes returns the time of sending at the agent's rate, 0 without a limit.
func (s *Pages) minutes(p *web.Page, messages int) (int, error) {
	t, err := s.Store.Tenant(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return 0, campaign.IgnoreNotFound(err)
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

// OverBudget reports whether the budget of now has no room for the campaign. What has room of an
// interrupted one goes.
func (v view) OverBudget() bool {
	return v.State != submission.StateInterrupted && v.Quote.Exceeded()
}

func (v view) Sendable() bool {
	return v.Check.Findings.Fits() && !v.Changed && !v.ScheduleMissed && v.TooLong == "" && !v.OverBudget()
}

type sample struct {
	Path                string
	Phone               preview.Phone
	Cut                 bool // the preview is cut
	None                bool // there is no message at the position
	Trial               web.Trial
	At, Of              int // position from 1, and the number of messages
	Prior, Next, Random int
}

const phoneWeight = 4000 // bytes of a message's texts

// sample returns the preview that the parameter "person" chooses, the first one without it. t is the checked
// template, or another version of it, which is not shown. An invalid position wraps campaign.ErrNotFound.
func (s *Pages) sample(p *web.Page, sub submission.Submission, t campaign.Template) (shown sample, err error) {
	shown = sample{Path: pathOf(sub), At: 1, Of: sub.Check.Findings.Accepted + sub.Check.Findings.Invalid()}
	if text := p.Query("person"); text != "" {
		if shown.At, err = strconv.Atoi(text); err != nil || shown.At < 1 || shown.At > shown.Of {
			return shown, campaign.ErrNotFound
		}
	}
	of := max(1, shown.Of)
	shown.Prior, shown.Next = shown.At-1, shown.At%of+1
	shown.Random = (shown.At+rand.IntN(max(1, of-1)))%of + 1 //nolint:gosec // nobody gains from guessing it
	line, vars, err := s.Intake.Message(p.R.Context(), sub, shown.At-1)
	if errors.Is(err, campaign.ErrNotFound) { // sent already, or a part with fewer messages
		shown.None = true
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	if t.Version != sub.TemplateVersion {
		t, err = s.Store.TemplateVersion(p.R.Context(), sub.TemplateID, sub.TemplateVersion)
		if t, err = campaign.OwnTemplate(sub.Tenant, t, err); err != nil {
			return shown, err
		}
	}
	shown.Trial = web.NewTrial(sub.TemplateID, vars)
	var values []string
	for _, name := range t.Variables() {
		values = append(values, vars[name])
	}
	shown.Phone, shown.Cut = web.Phone(p, t.Render(values), p.T("sending.first_message", line), phoneWeight)
	return shown, nil
}

func (s *Pages) showSample(p *web.Page, sub submission.Submission) error {
	if !p.Partial() {
		return s.show(p, sub)
	}
	shown, err := s.sample(p, sub, campaign.Template{})
	if err != nil {
		return err
	}
	p.ShowMedia()
	return p.Fragment("submission_sample.html", shown)
}

// leftOut downloads the lines that get no message, or those of one kind, also of a noted one, in the CSV format of Brazilian
// spreadsheets.
func (s *Pages) leftOut(p *web.Page, sub submission.Submission) error {
	if !(view{Submission: sub}).Reviewed() || sub.Check.Findings.ToDownload() == 0 { // the columns may be those of another check
		return campaign.ErrNotFound
	}
	names, err := s.listNames(p, sub.Check.Findings)
	if err != nil {
		return err
	}
	d := review.Download{Header: usedColumns(sub), Lists: names, Cells: func(l submission.LeftOut) []string { return cellsOf(sub, l) }}
	return d.Lines(p, s.Intake.LeftOut(p.R.Context(), sub))
}

// opened is a number of lines of a kind. Authors can open it to the lines.
type opened struct {
	Path  string
	Kind  submission.Kind
	Count int
}

func (v view) Opened(kind submission.Kind, count int) opened {
	return opened{pathOf(v.Submission), kind, count}
}

// usedColumns returns the names of the columns whose values the messages have.
func usedColumns(sub submission.Submission) []string {
	names := []string{sub.Columns.Header[sub.Columns.Phone], sub.Columns.Header[sub.Columns.UID]}
	for _, v := range ownColumns(sub) {
		names = append(names, sub.Columns.Header[v.Column])
	}
	return names
}

// ownColumns returns the variables with a column of their own, so that the file with their values can be checked again:
// a variable can have the column of the numbers, of the uids or of another variable.
func ownColumns(sub submission.Submission) (own []submission.Column) {
	used := map[int]bool{sub.Columns.Phone: true, sub.Columns.UID: true}
	for _, v := range sub.Columns.Values {
		if !used[v.Column] {
			own = append(own, v)
		}
		used[v.Column] = true
	}
	return own
}

func cellsOf(sub submission.Submission, l submission.LeftOut) []string {
	cells := []string{l.Phone, l.UID}
	for _, v := range ownColumns(sub) {
		cells = append(cells, l.Vars[v.Name])
	}
	return cells
}
