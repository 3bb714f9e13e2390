package intake

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// FormFile is the file of a form: the chosen one, an object on S3, or the one that is stored. It is zero
// for a form without a file.
type FormFile struct {
	Chosen []byte
	Object string
	Stored bool
}

// None reports whether the form has no file.
func (f FormFile) None() bool { return f.Chosen == nil && f.Object == "" && !f.Stored }

func (f FormFile) digest() string {
	return campaign.Digest(cmp.Or(f.Object, string(f.Chosen)))
}

// ErrStale means that somebody saved the submission after the form was opened.
var ErrStale = errors.New("the form was opened before the last change")

// answered is a form with what is stored of its submission, which has the version 0 if there is none.
type answered struct {
	asked, stored submission.Submission
	all           []submission.Submission // of the tenant
	from          FormFile
}

func (s *Service) answer(ctx context.Context, asked submission.Submission, from FormFile) (a answered, err error) {
	a = answered{asked: asked, from: from}
	if a.all, err = s.Store.Submissions(ctx, asked.Tenant); err != nil {
		return a, err
	}
	if at := slices.IndexFunc(a.all, func(sub submission.Submission) bool { return sub.ID == asked.ID }); at >= 0 {
		a.stored = a.all[at]
	}
	if a.asked.File.Digest = from.digest(); from.Stored {
		a.asked.File = a.stored.File
	}
	return a, nil
}

// stale reports whether a draft was saved after the form was opened.
func (a answered) stale() bool {
	return a.stored.State == submission.StateDraft && a.stored.Version != a.asked.Version
}

// repeated reports whether the submission is what the form asks for, and has not ended in vain.
func (a answered) repeated() bool {
	was, asked := a.stored, a.asked
	return was.State != submission.StateFailed && was.State != submission.StateDiscarded && was.File.Digest == asked.File.Digest &&
		was.Name == asked.Name && was.TemplateID == asked.TemplateID && was.Schedule == asked.Schedule && was.NotAfter == asked.NotAfter
}

// next returns the submission that a form becomes: the one that it began, unless somebody has decided
// about that.
func (s *Service) next(a answered, state submission.State) submission.Submission {
	next := a.stored
	if !next.Replaceable() {
		next = submission.Submission{ID: a.asked.ID}
		if a.stored.Version > 0 || next.CampaignID == "" {
			next.CampaignID = random.UUID()
		}
	}
	if next.State = state; next.Version == 0 || !a.from.Stored && state != submission.StateDraft {
		next.CreatedAt = s.Now()
	}
	return next.Form(a.asked)
}

// room returns an error if the tenant has too many other drafts, or for another submission too many
// unfinished ones. Requests for approval do not count, nor do campaigns whose next wave waits.
func room(all []submission.Submission, next submission.Submission) error {
	others, draft := 0, next.State == submission.StateDraft
	for _, sub := range all {
		waits := sub.State == submission.StateApproval || sub.State == submission.StateRefused || sub.State == submission.StateHolding
		if sub.ID != next.ID && !sub.Closed() && !waits && (sub.State == submission.StateDraft) == draft {
			others++
		}
	}
	switch {
	case draft && others >= submission.MaxDrafts:
		return &inputerr.Error{Code: "too_many_drafts", Detail: "the tenant has too many drafts"}
	case !draft && others >= submission.MaxOpen:
		return &inputerr.Error{Code: "too_many_submissions", Detail: "the tenant has too many unfinished submissions"}
	}
	return nil
}

// Take begins to check the file of a form, which has the ID of its submission and the version with
// which it was opened. The same form again has what it has begun; with another file, that replaces
// the former one. The error is ErrStale if somebody has saved the draft meanwhile, and wraps
// campaign.ErrNotFound if the file does not exist. Invalid input returns a *inputerr.Error.
func (s *Service) Take(ctx context.Context, asked submission.Submission, from FormFile) (submission.Submission, error) {
	return s.judgeForm(ctx, asked, from, s.take)
}

// SaveDraft keeps what is entered in a form, with its file. A form without a name or a file is kept
// too. It returns the errors of Take, and ErrState if somebody has sent, asked for approval of, or
// discarded the submission.
func (s *Service) SaveDraft(
	ctx context.Context, asked submission.Submission, from FormFile, entry account.AuditEntry,
) (submission.Submission, error) {
	return s.judgeForm(ctx, asked, from, func(ctx context.Context, a answered) (submission.Submission, error) {
		return s.saveDraft(ctx, a, entry)
	})
}

// judgeForm judges a form by what is stored, anew if somebody else saves the submission meanwhile.
func (s *Service) judgeForm(
	ctx context.Context, asked submission.Submission, from FormFile,
	judge func(ctx context.Context, a answered) (submission.Submission, error),
) (submission.Submission, error) {
	return repeatRaces(ctx, func() (submission.Submission, error) {
		a, err := s.answer(ctx, asked, from)
		if err != nil {
			return asked, err
		}
		return judge(ctx, a)
	})
}

type save func(ctx context.Context, sub submission.Submission) (submission.Submission, error)

func (s *Service) take(ctx context.Context, a answered) (submission.Submission, error) {
	isDraft := a.stored.State == submission.StateDraft
	switch {
	case a.from.Stored && a.stored.Version == 0:
		return a.stored, campaign.ErrNotFound
	case a.stale():
		return a.stored, ErrStale
	case a.from.Stored && !isDraft:
		return a.stored, s.correct(ctx, a.stored, a.asked)
	case !isDraft && a.repeated():
		return a.stored, nil
	}
	next := s.next(a, submission.StateOpening)
	if err := room(a.all, next); err != nil {
		return next, err
	}
	if a.from.Stored {
		if _, _, err := s.Stat(ctx, next.FileKey()); err != nil { // an erasure deletes it
			return next, err
		}
	}
	saved, err := s.keep(ctx, a, next, s.Store.SaveSubmission)
	if err != nil {
		return saved, err
	}
	return saved, s.proceed(ctx, saved)
}

func (s *Service) saveDraft(ctx context.Context, a answered, entry account.AuditEntry) (submission.Submission, error) {
	switch current := a.stored.Version == a.asked.Version; {
	case !current && a.stored.State == submission.StateDraft && a.stored.By == a.asked.By && a.repeated(): // a double click
		return a.stored, nil
	case !current && a.stored.Replaceable():
		return a.stored, ErrStale
	case !current, a.stored.Version > 0 && !a.stored.Replaceable():
		return a.stored, ErrState
	}
	next := s.next(a, submission.StateDraft)
	next.SavedAt = s.Now()
	if err := room(a.all, next); err != nil {
		return next, err
	}
	return s.keep(ctx, a, next, func(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
		return s.Store.SaveDecision(ctx, sub, entry)
	})
}

// keep stores the file of a form, then its row, and then deletes what that replaces. If the row is not
// saved, what was stored before is as it was.
func (s *Service) keep(ctx context.Context, a answered, next submission.Submission, write save) (submission.Submission, error) {
	if err := s.storeFile(ctx, a, &next); err != nil {
		return next, err
	}
	saved, err := write(ctx, next)
	if errors.Is(err, campaign.ErrLostRace) && next.File.Object != a.stored.File.Object {
		return next, errors.Join(err, s.Uploads.Delete(ctx, next.FileKey()))
	}
	if err != nil {
		return next, err
	}
	return saved, s.deleteFormer(ctx, a.stored, saved)
}

// storeFile stores the file of a form as a new object, so that its age is that of the last change. The kept
// file of a campaign that goes on stays where it is.
func (s *Service) storeFile(ctx context.Context, a answered, next *submission.Submission) (err error) {
	if a.from.None() {
		next.File = submission.File{Digest: next.File.Digest}
		return nil
	}
	if a.from.Stored && next.State != submission.StateDraft {
		return nil
	}
	next.File.Object, next.File.Upload = random.UUID(), ""
	switch {
	case a.from.Stored:
		err = s.copy(ctx, a.stored.FileKey(), next.FileKey())
	case a.from.Object != "":
		err = s.copy(ctx, a.from.Object, next.FileKey())
	default:
		err = s.Uploads.PutOnce(ctx, next.FileKey(), a.from.Chosen, "application/octet-stream")
	}
	if a.from.Stored && errors.Is(err, campaign.ErrNotFound) { // an erasure has deleted it: the form of the draft says so
		next.File = submission.File{Name: next.File.Name}
		return nil
	}
	if err != nil {
		return err
	}
	if next.File.Tag, next.File.Size, err = s.Stat(ctx, next.FileKey()); err != nil {
		return err
	}
	if next.File.Size > submission.MaxSize {
		tooLarge := &inputerr.Error{Code: "file_size", Detail: "the file is larger than 200 MB"}
		return errors.Join(tooLarge, s.Uploads.Delete(ctx, next.FileKey()))
	}
	return nil
}

// copy copies a file. An erasure that deletes the file meanwhile may not find the copy, which is deleted
// then too.
func (s *Service) copy(ctx context.Context, from, to string) error {
	if err := s.Uploads.Copy(ctx, from, to); err != nil {
		return err
	}
	_, _, err := s.Stat(ctx, from)
	if errors.Is(err, campaign.ErrNotFound) {
		return errors.Join(err, s.Uploads.Delete(ctx, to))
	}
	return err
}

// deleteFormer deletes what a form has replaced: the file or its upload, and the parts. What is left
// after an error or a death is deleted with the submission.
func (s *Service) deleteFormer(ctx context.Context, former, next submission.Submission) error {
	if former.ID != next.ID {
		return nil
	}
	switch {
	case former.File.Object == "" || former.File.Object == next.File.Object:
	case former.State == submission.StateUploading:
		if err := s.Uploads.AbortFile(ctx, former.FileKey(), former.File.Upload); err != nil {
			return err
		}
	default:
		if err := s.Uploads.Delete(ctx, former.FileKey()); err != nil {
			return err
		}
	}
	if former.Check.Number == 0 {
		return nil
	}
	return deleteFiles(ctx, s.Uploads, []string{former.CheckFolder()}, nil)
}

// HasFile reports whether the form of a submission needs no other file. An erasure deletes the one of a
// draft.
func (s *Service) HasFile(ctx context.Context, sub submission.Submission) (bool, error) {
	if !sub.HasFile() || sub.State != submission.StateDraft { // what was read stays, also if an erasure deletes the file
		return sub.HasFile(), nil
	}
	_, _, err := s.Stat(ctx, sub.FileKey())
	return err == nil, campaign.IgnoreNotFound(err)
}
