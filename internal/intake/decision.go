package intake

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
)

// Choice is what a person decides about a submission.
type Choice string

// The choices.
const (
	Send     Choice = "send" // begin to dispatch the parts, or continue after a stop
	Ask      Choice = "ask"  // a second person to approve a checked submission
	Approve  Choice = "approve"
	Refuse   Choice = "refuse"
	Withdraw Choice = "withdraw" // take a request back
	Reopen   Choice = "reopen"   // take a refused submission back
	Discard  Choice = "discard"
	OpenWave Choice = "open wave" // of a campaign that goes in waves
	// DiscardDraft is Discard of a submission that is a draft.
	DiscardDraft Choice = "discard draft"
)

// Step is a person's decision about a submission.
type Step struct {
	campaign.ID
	Choice Choice
	Shown  string             // Submission.Shown of the page that the person saw
	Reason string             // of a refusal, or of an opened wave
	Wave   int                // that is opened
	Early  bool               // it is opened although the results of the wave before have not had their time
	Audit  account.AuditEntry // with who decides
}

// decision is a step that is judged, with the submission as the step changes it.
type decision struct {
	Step
	sub submission.Submission
}

// judges return why a choice is not taken, or change the submission.
var judges = map[Choice]func(s *Service, ctx context.Context, d *decision) error{
	Send: (*Service).send, Ask: (*Service).ask, Approve: (*Service).approve, Refuse: (*Service).refuse,
	Withdraw: (*Service).withdraw, Reopen: (*Service).reopen, Discard: (*Service).discard, DiscardDraft: (*Service).discard,
	OpenWave: (*Service).openWave,
}

// Why a step was not taken. Nothing was saved.
var (
	ErrState          = errors.New("the submission has another state")   // it has a state without this step
	ErrDecided        = errors.New("the submission was decided before")  // by another person, or in another way
	ErrChanged        = errors.New("the page showed another submission") // since the page was made
	ErrNeedsApproval  = errors.New("the campaign needs approval")
	ErrOwn            = errors.New("another person has to approve the campaign")
	ErrNotOwn         = errors.New("another person asked for the approval")
	ErrScheduleMissed = errors.New("the time of sending has passed") // or is too close
	ErrOverBudget     = errors.New("the budget has no room")
	ErrTooLong        = errors.New("the last wave would go too late") // after notAfter, or after rollout.MaxDuration
	ErrTooEarly       = errors.New("the wave cannot be opened yet")
	ErrPauseRuns      = errors.New("the results of the wave before have not had their time") // see Step.Early
	ErrPaused         = errors.New("the campaign is paused")
)

var errRepeated = errors.New("the step was taken before")

const actionReturned = "approval.return" // in the audit log, of an approval that came too late

// maxRaces is how often a step is judged again because somebody else saved the submission.
const maxRaces = 8

// Decide takes a step, as one write with its entry of the audit log. It returns the submission as it is
// then. Work that is due afterwards is done; sweep queues its task if the process dies in between. The
// files of a discarded submission are deleted; batches that are dispatched remain.
func (s *Service) Decide(ctx context.Context, step Step) (submission.Submission, error) {
	sub, err := repeatRaces(ctx, func() (submission.Submission, error) {
		sub, err := s.Submission(ctx, step.ID)
		if err != nil {
			return sub, err
		}
		d := &decision{step, sub}
		if err := judges[step.Choice](s, ctx, d); errors.Is(err, errRepeated) {
			return sub, nil
		} else if err != nil {
			return sub, err
		}
		d.sub.Repairs = 0
		sub, err = s.Store.SaveDecision(ctx, d.sub, d.Audit)
		if err == nil && sub.Working() {
			err = s.proceed(ctx, sub)
		}
		return sub, err
	})
	if err == nil && sub.State == submission.StateDiscarded {
		err = clean(ctx, s.Store, s.Uploads, sub)
	}
	return sub, err
}

// repeatRaces repeats what is judged anew if somebody else saves the submission meanwhile.
func repeatRaces(ctx context.Context, do func() (submission.Submission, error)) (sub submission.Submission, err error) {
	for try := range maxRaces {
		if waitErr := retry.Wait(ctx, try); waitErr != nil {
			return sub, errors.Join(err, waitErr)
		}
		if sub, err = do(); !errors.Is(err, campaign.ErrLostRace) {
			break
		}
	}
	return sub, err
}

// NeedsApproval reports whether a second person has to approve a submission that has no decision yet.
// The number of its people decides; those who opted out count too.
func (s *Service) NeedsApproval(ctx context.Context, sub submission.Submission) (bool, error) {
	from, err := s.Rules.ApprovalFrom(ctx, sub.Tenant)
	return from > 0 && sub.Check.Findings.Accepted >= from, err
}

// send sends a submission, unless it needs approval. The rule is judged on the submission that is then saved.
func (s *Service) send(ctx context.Context, d *decision) error {
	if d.sub.State != submission.StateReady && d.sub.State != submission.StateInterrupted {
		return ErrState
	}
	if err := s.sendable(ctx, d); err != nil {
		return err
	}
	if d.sub.State == submission.StateReady {
		if needed, err := s.NeedsApproval(ctx, d.sub); err != nil || needed {
			return cmp.Or(err, ErrNeedsApproval)
		}
	}
	d.begin(s.Now())
	return nil
}

// begin makes the submission one whose parts are dispatched, the first wave if it goes in waves.
func (d *decision) begin(now time.Time) {
	d.sub.State, d.sub.Fault, d.sub.Columns.First = submission.StateSending, submission.Fault{}, nil
	if d.sub.Plan.InWaves() && d.sub.Sending.Wave() == 0 {
		d.open(now)
	}
}

// settle ends the request for approval.
func (s *Service) settle(d *decision, how submission.Decision, next submission.State) {
	d.sub.State, d.sub.Approval = next, d.sub.Approval.Decided(how, d.Audit.Who, s.Now())
}

// ended reports whether the person has ended the request in this way before.
func (d *decision) ended(how submission.Decision) bool {
	return d.sub.Approval.Decision == how && d.sub.Approval.DecidedBy == d.Audit.Who
}

// byAsker reports whether the person who decides is the one who asked for the approval.
func (d *decision) byAsker() bool { return d.sub.Approval.AskedBy == d.Audit.Who }

// sendable returns why a submission cannot be sent as a page showed it, or nil. The rest of an
// interrupted one may exceed the budget: what has room goes.
func (s *Service) sendable(ctx context.Context, d *decision) error {
	sub := d.sub
	if d.Shown != sub.Shown() || !sub.Check.Findings.Fits() {
		return ErrChanged
	}
	if err := s.current(ctx, sub); err != nil || sub.State == submission.StateInterrupted {
		return err
	}
	late, err := s.isLate(ctx, sub)
	if err != nil || late {
		return cmp.Or(err, ErrTooLong)
	}
	quote, err := s.Quote(ctx, sub)
	if err == nil && quote.Exceeded() {
		return ErrOverBudget
	}
	return err
}

// current returns an error if the template or the time of a checked submission is no longer good.
func (s *Service) current(ctx context.Context, sub submission.Submission) error {
	t, err := s.template(ctx, sub)
	t, err = campaign.OwnTemplate(sub.Tenant, t, err)
	switch {
	case errors.Is(err, campaign.ErrNotFound), err == nil && t.Version != sub.TemplateVersion:
		return ErrChanged
	case err == nil && s.ScheduleMissed(sub):
		return ErrScheduleMissed
	}
	return err
}

// template returns the version of the template that a confirmed submission is sent with, and the current one for another
// submission.
func (s *Service) template(ctx context.Context, sub submission.Submission) (campaign.Template, error) {
	if sub.Confirmed() {
		return s.Store.TemplateVersion(ctx, sub.TemplateID, sub.TemplateVersion)
	}
	return s.Store.Template(ctx, sub.TemplateID)
}

func (s *Service) ask(ctx context.Context, d *decision) error {
	if d.sub.State == submission.StateApproval && d.byAsker() && d.Shown == d.sub.Shown() {
		return errRepeated
	}
	if d.sub.State != submission.StateReady {
		return ErrState
	}
	if err := s.sendable(ctx, d); err != nil {
		return err
	}
	d.sub.State, d.sub.Approval = submission.StateApproval, submission.Approval{AskedBy: d.Audit.Who, AskedAt: s.Now()}
	return nil
}

// approve approves a submission of another person. The same write begins to send it. If its template
// or its time is no longer good, it is ready again, for the person who asked.
func (s *Service) approve(ctx context.Context, d *decision) error {
	if err := d.decidable(submission.DecisionApproved, submission.DecisionReturned); err != nil {
		return err
	}
	if d.byAsker() {
		return ErrOwn
	}
	switch err := s.sendable(ctx, d); {
	case errors.Is(err, ErrChanged), errors.Is(err, ErrScheduleMissed), errors.Is(err, ErrTooLong):
		d.Audit.Action = actionReturned
		s.settle(d, submission.DecisionReturned, submission.StateReady)
		return nil
	case err != nil:
		return err
	}
	d.begin(s.Now())
	s.settle(d, submission.DecisionApproved, d.sub.State)
	return nil
}

// decidable returns why a request cannot be decided, or nil. A decision that the person made before
// is repeated.
func (d *decision) decidable(same ...submission.Decision) error {
	switch {
	case slices.ContainsFunc(same, d.ended):
		return errRepeated
	case d.sub.State != submission.StateApproval && d.sub.Approval.Asked():
		return ErrDecided
	case d.sub.State != submission.StateApproval:
		return ErrState
	case d.Shown != d.sub.Shown():
		return ErrChanged
	}
	return nil
}

func (s *Service) refuse(_ context.Context, d *decision) error {
	if err := d.decidable(submission.DecisionRefused); err != nil {
		return err
	}
	d.sub.Approval.Reason = d.Reason
	s.settle(d, submission.DecisionRefused, submission.StateRefused)
	return nil
}

func (s *Service) withdraw(_ context.Context, d *decision) error {
	switch {
	case d.ended(submission.DecisionWithdrawn):
		return errRepeated
	case !d.byAsker():
		return ErrNotOwn
	case d.sub.State != submission.StateApproval:
		return ErrDecided
	}
	s.settle(d, submission.DecisionWithdrawn, submission.StateReady)
	return nil
}

// reopen keeps the reason of the refusal until the next request.
func (*Service) reopen(_ context.Context, d *decision) error {
	switch {
	case !d.byAsker():
		return ErrNotOwn
	case d.sub.State == submission.StateReady && d.sub.Approval.Decision == submission.DecisionRefused:
		return errRepeated
	case d.sub.State != submission.StateRefused:
		return ErrState
	}
	d.sub.State = submission.StateReady
	return nil
}

// discard closes a submission. One that is being sent is not discarded: its campaign is cancelled.
func (s *Service) discard(ctx context.Context, d *decision) error {
	switch state := d.sub.State; {
	case state == submission.StateDiscarded:
		return errRepeated
	case d.sub.Closed(), state == submission.StateSending, d.Choice == DiscardDraft && state != submission.StateDraft:
		return ErrState
	case state == submission.StateUploading:
		if err := s.Uploads.AbortFile(ctx, d.sub.FileKey(), d.sub.File.Upload); err != nil {
			return err
		}
	case state == submission.StateApproval:
		s.settle(d, submission.DecisionWithdrawn, state)
	}
	d.sub = d.sub.Close(submission.StateDiscarded)
	d.sub.DiscardedBy, d.sub.DiscardedAt = d.Audit.Who, s.Now()
	return nil
}

// Quote is what a campaign costs at the prices of now.
type Quote struct {
	Priced bool           // there are prices
	Price  campaign.Money // of the messages to people from whom none is withheld
	// OptedOut and Suppressed are the prices of the messages that are withheld.
	OptedOut, Suppressed campaign.Money
	Reserves             campaign.Money // of all accepted messages, which is what its acceptance reserves
	// Budgets are the budgets of the days on which parts of the campaign are booked, each with what it reserves on that
	// day as its cost, the first day first. There are none without limits.
	Budgets []campaign.BudgetFigures
}

// Exceeded reports whether a budget has no room for what the campaign books in it.
func (q Quote) Exceeded() bool {
	_, full := q.Full()
	return full
}

// Full returns the first budget that has no room for what the campaign books in it, and false if all have room. The days
// of a month share its budget.
func (q Quote) Full() (campaign.BudgetFigures, bool) {
	booked := map[string]campaign.Money{} // by month, for earlier days
	for _, b := range q.Budgets {
		month := campaign.MonthOf(b.Date)
		if b.Month != nil {
			b.Month = &campaign.MonthBudget{Month: month, Limit: b.Month.Limit, Used: b.Month.Used + booked[month]}
		}
		if b.Cost > 0 && b.Exceeded() {
			return b, true
		}
		booked[month] += b.Cost
	}
	return campaign.BudgetFigures{}, false
}

// Quote returns what a checked campaign costs now.
func (s *Service) Quote(ctx context.Context, sub submission.Submission) (q Quote, err error) {
	billing, err := s.Rules.Billing(ctx, sub.Tenant)
	if err != nil || !billing.Set() {
		return q, err
	}
	found := sub.Check.Findings
	q = Quote{
		Priced: true, Price: billing.Cost(found.SentClasses()), Reserves: billing.Cost(found.Classes),
		OptedOut: billing.Cost(found.OptedOutClasses), Suppressed: billing.Cost(found.SuppressedClasses),
	}
	if !billing.Limited() {
		return q, nil
	}
	q.Budgets, err = s.budgets(ctx, sub, billing)
	return q, err
}

// budgets returns the budgets in which the parts of a checked campaign are booked: each part is a call with a first
// opening of its own.
func (s *Service) budgets(ctx context.Context, sub submission.Submission, billing campaign.Billing) (all []campaign.BudgetFigures, err error) {
	hours, err := s.hours(ctx, sub)
	if err != nil {
		return nil, err
	}
	costs := map[string]campaign.Money{}
	for _, booked := range bookings(sub, hours, s.Now()) {
		bookedOn := hours.BookedOn(booked.at)
		for zones, classes := range booked.classes {
			costs[bookedOn(zones)] += billing.Cost(classes)
		}
	}
	for _, date := range slices.Sorted(maps.Keys(costs)) {
		used, err := s.Rules.Spending(ctx, sub.Tenant, date)
		if err != nil {
			return nil, err
		}
		all = append(all, *campaign.Budget{Date: date, Cost: costs[date], Limits: billing.Limits, Used: used}.Figures())
	}
	return all, nil
}

// hours returns the sending hours of a campaign's messages.
func (s *Service) hours(ctx context.Context, sub submission.Submission) (reach.Hours, error) {
	policy, err := s.Rules.TenantHours(ctx, sub.Tenant)
	if err != nil || len(policy.Rules) == 0 {
		return reach.Hours{}, err
	}
	t, err := s.template(ctx, sub)
	return policy.HoursFor(t.Traffic, nil), campaign.IgnoreNotFound(err)
}
