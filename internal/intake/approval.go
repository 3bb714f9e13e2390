package intake

import (
	"context"
	"errors"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/settings/account"
)

// Step is what a person decides about a submission.
type Step struct {
	campaign.ID
	Shown string             // Submission.Shown of the page that the person saw
	Audit account.AuditEntry // with who decides
}

// Why a step was not taken. Nothing was saved.
var (
	// ErrState means that the submission has a state without this step.
	ErrState = errors.New("the submission has another state")
	// ErrDecided means that another person or another decision was first.
	ErrDecided = errors.New("the submission was decided before")
	// ErrChanged means that the page showed something else than what would be sent.
	ErrChanged = errors.New("the page showed another submission")
	// ErrNeedsApproval means that a second person has to approve the campaign.
	ErrNeedsApproval = errors.New("the campaign needs approval")
	// ErrOwn means that the person asked for the approval.
	ErrOwn = errors.New("the approval is of another person")
	// ErrNotOwn means that another person asked for the approval.
	ErrNotOwn = errors.New("another person asked for the approval")
	// ErrTooLate means that the time of sending has passed or is too close.
	ErrTooLate = errors.New("the time of sending has passed")
	// ErrOverBudget means that the budget of now has no room for the campaign.
	ErrOverBudget = errors.New("the budget has no room")
)

// errRepeated means that the same person has taken the same step before.
var errRepeated = errors.New("the step was taken before")

// actionReturned is the action in the audit log of an approval that came too late.
const actionReturned = "approval.return"

// maxRaces is how often a step is judged again because somebody else saved the submission.
const maxRaces = 8

// decide saves what a step changes, as one write with its entry of the audit log. If somebody else
// saves the submission meanwhile, the step is judged again. Work that is due afterwards is done; sweep
// queues its task if the process dies in between.
func (s *Service) decide(ctx context.Context, step Step, change func(sub *submission.Submission, entry *account.AuditEntry) error) (submission.Submission, error) {
	for range maxRaces {
		sub, err := s.Submission(ctx, step.ID)
		if err != nil {
			return sub, err
		}
		next, entry := sub, step.Audit
		if err := change(&next, &entry); err != nil {
			if errors.Is(err, errRepeated) {
				err = nil
			}
			return sub, err
		}
		next.Repairs = 0
		next, err = s.Store.SaveDecision(ctx, next, entry)
		switch {
		case errors.Is(err, campaign.ErrLostRace):
			continue
		case err == nil && next.Working():
			err = s.proceed(ctx, next)
		}
		return next, err
	}
	return submission.Submission{}, campaign.ErrLostRace
}

// Rules reads when a campaign needs a second person.
type Rules interface {
	// ApprovalFrom returns the number of recipients from which a campaign needs approval, 0 for never.
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
}

// NeedsApproval reports whether a second person has to approve a submission that nobody has decided
// about: its people are counted, also those who opted out.
func (s *Service) NeedsApproval(ctx context.Context, sub submission.Submission) (bool, error) {
	from, err := s.Rules.ApprovalFrom(ctx, sub.Tenant)
	return from > 0 && sub.Check.Findings.Accepted >= from, err
}

// Send begins to dispatch the parts, or continues after a stop. The rule of approval is judged about the
// version that is saved.
func (s *Service) Send(ctx context.Context, step Step) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		if sub.State != submission.StateReady && sub.State != submission.StateInterrupted {
			return ErrState
		}
		if err := s.sendable(ctx, *sub, step); err != nil {
			return err
		}
		if err := s.allowed(ctx, *sub); err != nil {
			return err
		}
		begin(sub)
		return nil
	})
}

// allowed returns ErrNeedsApproval if one person may not send a checked submission.
func (s *Service) allowed(ctx context.Context, sub submission.Submission) error {
	if sub.State != submission.StateReady {
		return nil
	}
	needed, err := s.NeedsApproval(ctx, sub)
	if err == nil && needed {
		return ErrNeedsApproval
	}
	return err
}

// begin makes a submission one whose parts are dispatched.
func begin(sub *submission.Submission) {
	sub.State, sub.Fault, sub.Columns.First = submission.StateSending, submission.Fault{}, nil
}

// sendable returns why a submission cannot be sent as a page showed it, or nil. The rest of an
// interrupted one may exceed the budget: what has room goes.
func (s *Service) sendable(ctx context.Context, sub submission.Submission, step Step) error {
	if step.Shown != sub.Shown() || !sub.Check.Findings.Fits() {
		return ErrChanged
	}
	if err := s.current(ctx, sub); err != nil || sub.State == submission.StateInterrupted {
		return err
	}
	quote, err := s.Quote(ctx, sub)
	if err == nil && quote.Exceeded() {
		return ErrOverBudget
	}
	return err
}

// current returns an error if the template or the time of a checked submission is no longer good.
func (s *Service) current(ctx context.Context, sub submission.Submission) error {
	t, err := s.Store.Template(ctx, sub.TemplateID)
	switch {
	case errors.Is(err, campaign.ErrNotFound), err == nil && (t.Tenant != sub.Tenant || t.Version != sub.TemplateVersion):
		return ErrChanged
	case err == nil && s.TooLate(sub):
		return ErrTooLate
	}
	return err
}

// Ask asks a second person to approve a checked submission.
func (s *Service) Ask(ctx context.Context, step Step) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		if sub.State == submission.StateApproval && sub.Approval.AskedBy == step.Audit.Who && step.Shown == sub.Shown() {
			return errRepeated
		}
		if sub.State != submission.StateReady {
			return ErrState
		}
		if err := s.sendable(ctx, *sub, step); err != nil {
			return err
		}
		sub.State, sub.Approval = submission.StateApproval, submission.Approval{AskedBy: step.Audit.Who, AskedAt: s.Now()}
		return nil
	})
}

// Approve approves a submission of another person, which begins to be sent by the same write. If its
// template or its time is no longer good, it returns to who asked: the result is then ready.
func (s *Service) Approve(ctx context.Context, step Step) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, entry *account.AuditEntry) error {
		if err := decidable(*sub, step, submission.DecisionApproved, submission.DecisionReturned); err != nil {
			return err
		}
		if sub.Approval.AskedBy == step.Audit.Who {
			return ErrOwn
		}
		switch err := s.sendable(ctx, *sub, step); {
		case errors.Is(err, ErrChanged), errors.Is(err, ErrTooLate):
			sub.State, entry.Action = submission.StateReady, actionReturned
			sub.Approval = sub.Approval.Decided(submission.DecisionReturned, step.Audit.Who, s.Now())
			return nil
		case err != nil:
			return err
		}
		begin(sub)
		sub.Approval = sub.Approval.Decided(submission.DecisionApproved, step.Audit.Who, s.Now())
		return nil
	})
}

// decidable returns why a request cannot be decided, or nil. A decision that the person made before
// is repeated.
func decidable(sub submission.Submission, step Step, same ...submission.Decision) error {
	for _, d := range same {
		if sub.Approval.Decision == d && sub.Approval.DecidedBy == step.Audit.Who {
			return errRepeated
		}
	}
	switch {
	case sub.State != submission.StateApproval && sub.Approval.Asked():
		return ErrDecided
	case sub.State != submission.StateApproval:
		return ErrState
	case step.Shown != sub.Shown():
		return ErrChanged
	}
	return nil
}

// Refuse refuses a submission. Who asked may reopen it.
func (s *Service) Refuse(ctx context.Context, step Step, reason string) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		if err := decidable(*sub, step, submission.DecisionRefused); err != nil {
			return err
		}
		sub.State, sub.Approval.Reason = submission.StateRefused, reason
		sub.Approval = sub.Approval.Decided(submission.DecisionRefused, step.Audit.Who, s.Now())
		return nil
	})
}

// Withdraw takes a request back, by who asked.
func (s *Service) Withdraw(ctx context.Context, step Step) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		switch {
		case sub.Approval.Decision == submission.DecisionWithdrawn && sub.Approval.DecidedBy == step.Audit.Who:
			return errRepeated
		case sub.Approval.AskedBy != step.Audit.Who:
			return ErrNotOwn
		case sub.State != submission.StateApproval:
			return ErrDecided
		}
		sub.State = submission.StateReady
		sub.Approval = sub.Approval.Decided(submission.DecisionWithdrawn, step.Audit.Who, s.Now())
		return nil
	})
}

// Reopen takes a refused submission back, by who asked. The reason of the refusal stays until the
// next request.
func (s *Service) Reopen(ctx context.Context, step Step) (submission.Submission, error) {
	return s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		switch {
		case sub.Approval.AskedBy != step.Audit.Who:
			return ErrNotOwn
		case sub.State == submission.StateReady && sub.Approval.Decision == submission.DecisionRefused:
			return errRepeated
		case sub.State != submission.StateRefused:
			return ErrState
		}
		sub.State = submission.StateReady
		return nil
	})
}

// Discard closes a submission and deletes its files. Batches that are dispatched remain. It can
// be repeated. A submission that is being sent is not discarded: its campaign is cancelled.
func (s *Service) Discard(ctx context.Context, step Step) (submission.Submission, error) {
	return s.discard(ctx, step, func(sub submission.Submission) bool { return !sub.Closed() && sub.State != submission.StateSending })
}

// DiscardDraft is Discard of a submission that is a draft. The error is ErrState for another one.
func (s *Service) DiscardDraft(ctx context.Context, step Step) (submission.Submission, error) {
	return s.discard(ctx, step, func(sub submission.Submission) bool { return sub.State == submission.StateDraft })
}

// discard closes a submission if it may be discarded.
func (s *Service) discard(ctx context.Context, step Step, may func(sub submission.Submission) bool) (submission.Submission, error) {
	sub, err := s.decide(ctx, step, func(sub *submission.Submission, _ *account.AuditEntry) error {
		switch {
		case sub.State == submission.StateDiscarded:
			return errRepeated
		case !may(*sub):
			return ErrState
		case sub.State == submission.StateUploading:
			if err := s.Uploads.AbortFile(ctx, sub.FileKey(), sub.File.Upload); err != nil {
				return err
			}
		case sub.State == submission.StateApproval:
			sub.Approval = sub.Approval.Decided(submission.DecisionWithdrawn, step.Audit.Who, s.Now())
		}
		*sub = sub.Close(submission.StateDiscarded)
		return nil
	})
	if err != nil {
		return sub, err
	}
	return sub, clean(ctx, s.Store, s.Uploads, sub)
}
