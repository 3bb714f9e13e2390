package intake

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// uploadLife is how long an upload can be continued. The bucket's lifecycle deletes unfinished
// ones after a day.
const uploadLife = 20 * time.Hour

// Start begins an upload for a form, or continues the person's unfinished one of the same file. It
// returns the numbers of the chunks that were sent already. The errors are those of Take.
func (s *Service) Start(ctx context.Context, asked submission.Submission) (submission.Submission, []int, error) {
	if asked.File.Size < 1 || asked.File.Size > submission.MaxSize {
		return asked, nil, &inputerr.Error{Code: "file_size", Detail: "the file is empty or larger than 200 MB"}
	}
	a, err := s.answer(ctx, asked, FormFile{})
	if err != nil {
		return asked, nil, err
	}
	for _, sub := range a.all {
		if !s.continues(sub, asked) {
			continue
		}
		sent, err := uploadOf(sub).Sent(ctx, s.Uploads)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		if err != nil {
			return asked, nil, err
		}
		sub.Name, sub.TemplateID, sub.Schedule, sub.NotAfter = asked.Name, asked.TemplateID, asked.Schedule, asked.NotAfter
		sub, err = s.Store.SaveSubmission(ctx, sub)
		return sub, sent, err
	}
	sub, err := s.create(ctx, a)
	return sub, nil, err
}

// create begins an upload, which replaces what the form has begun before.
func (s *Service) create(ctx context.Context, a answered) (submission.Submission, error) {
	if a.stale() {
		return a.stored, ErrStale
	}
	sub := s.next(a, submission.StateUploading)
	if err := room(a.all, sub); err != nil {
		return sub, err
	}
	sub.File.Object, sub.File.Digest = random.UUID(), ""
	var err error
	if sub.File.Upload, err = s.Uploads.StartUpload(ctx, sub.FileKey()); err != nil {
		return sub, err
	}
	saved, err := s.Store.SaveSubmission(ctx, sub)
	if errors.Is(err, campaign.ErrLostRace) {
		return sub, errors.Join(ErrStale, s.Uploads.AbortFile(ctx, sub.FileKey(), sub.File.Upload))
	}
	if err != nil {
		return sub, err
	}
	return saved, s.deleteFormer(ctx, a.stored, saved)
}

// continues reports whether an upload is the unfinished one of the same file. That of another form
// does not become the one of a saved form.
func (s *Service) continues(sub, asked submission.Submission) bool {
	was, is := sub.File, asked.File
	return (sub.ID == asked.ID || asked.Version == 0) && sub.State == submission.StateUploading && sub.By == asked.By &&
		was.Name == is.Name && was.Size == is.Size && was.Modified == is.Modified && s.Now().Sub(sub.CreatedAt) < uploadLife
}

func uploadOf(sub submission.Submission) port.Upload {
	return port.Upload{Key: sub.FileKey(), ID: sub.File.Upload, Size: sub.File.Size}
}

// ChunkURL returns the URL to which a chunk of an upload is sent with PUT.
func (s *Service) ChunkURL(ctx context.Context, sub submission.Submission, chunk int) (string, error) {
	if sub.State != submission.StateUploading {
		return "", campaign.ErrNotFound
	}
	return uploadOf(sub).ChunkURL(ctx, s.Uploads, chunk)
}

// Finish ends an upload whose chunks were sent. It can be repeated.
func (s *Service) Finish(ctx context.Context, sub submission.Submission) error {
	if sub.State != submission.StateUploading {
		return nil
	}
	if err := s.end(ctx, &sub); err != nil {
		return err
	}
	sub.State = submission.StateOpening
	return s.work(ctx, sub)
}

// FinishDraft ends an upload whose file is kept as a draft. It can be repeated.
func (s *Service) FinishDraft(ctx context.Context, sub submission.Submission, entry account.AuditEntry) error {
	if sub.State != submission.StateUploading {
		return nil
	}
	sub.State, sub.SavedAt = submission.StateDraft, s.Now()
	all, err := s.Store.Submissions(ctx, sub.Tenant)
	if err == nil {
		err = room(all, sub)
	}
	if err == nil {
		err = s.end(ctx, &sub)
	}
	if err != nil {
		return err
	}
	_, err = s.Store.SaveDecision(ctx, sub, entry)
	if errors.Is(err, campaign.ErrLostRace) { // another request was faster
		return nil
	}
	return err
}

func (s *Service) end(ctx context.Context, sub *submission.Submission) (err error) {
	if err = uploadOf(*sub).Finish(ctx, s.Uploads); err == nil {
		sub.File.Tag, _, err = s.Stat(ctx, sub.FileKey())
	}
	return err
}
