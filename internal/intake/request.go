package intake

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

const (
	// AtOnce is the time in which a request does steps. API Gateway waits 30 s.
	AtOnce   = 8 * time.Second
	overtime = 12 * time.Second // for the part that has begun
	// maxSmall is the maximum size in bytes of a file that a request reads, and maxShared that of the
	// texts that the cells of a workbook share.
	maxSmall  = 4 << 20
	maxShared = 4 << 20
)

// proceed does the steps of a small file at once, and queues the task for the rest and for others.
func (s *Service) proceed(ctx context.Context, sub submission.Submission) error {
	if s.AtOnce == 0 || sub.File.Size > maxSmall {
		return queue(ctx, s.Tasks, sub.ID, 0)
	}
	working, cancel := context.WithTimeout(ctx, s.AtOnce+overtime)
	defer cancel()
	starting, stop := context.WithTimeout(working, s.AtOnce)
	defer stop()
	heavy, err := s.heavy(working, sub)
	if err == nil && !heavy {
		if err = s.Worker.run(working, starting, sub, false); err == nil {
			return nil
		}
	}
	if err != nil {
		slog.WarnContext(ctx, "submission left to its task", "tenant", sub.Tenant, "campaign_id", sub.CampaignID, "error", err)
	}
	return queue(ctx, s.Tasks, sub.ID, 0)
}

// heavy reports whether the file needs more memory than a request has.
func (s *Service) heavy(ctx context.Context, sub submission.Submission) (bool, error) {
	if sub.State == submission.StateSending {
		return false, nil
	}
	file, size, err := s.Worker.Open(ctx, sub.FileKey(), sub.File.Tag)
	if err != nil {
		return false, err
	}
	shared, err := sheet.SharedSize(ctx, file, size)
	if _, damaged := errors.AsType[*sheet.Error](err); damaged {
		return false, nil
	}
	return shared > maxShared, err
}

// correct changes the name, the template and the times of a submission that nobody has sent. Another
// template, or another version of it, needs another check. Of a checked file, the first part is
// checked with the other name and times. A submission that cannot be changed any more stays as it is:
// its page shows what it became.
func (s *Service) correct(ctx context.Context, sub, to submission.Submission) error {
	if !sub.Editable() {
		return nil
	}
	t, err := s.Store.Template(ctx, to.TemplateID)
	t, err = campaign.OwnTemplate(sub.Tenant, t, err)
	if err != nil {
		return err
	}
	same := sub.TemplateID == to.TemplateID && (sub.State == submission.StateColumns || sub.TemplateVersion == t.Version)
	sub.Name, sub.TemplateID, sub.Schedule, sub.NotAfter = to.Name, to.TemplateID, to.Schedule, to.NotAfter
	switch {
	case !same:
		sub.State = submission.StateOpening
		return s.work(ctx, sub)
	case sub.State == submission.StateReady:
		if err := s.checkAgain(ctx, &sub); err != nil {
			return err
		}
	}
	_, err = s.Store.SaveSubmission(ctx, sub)
	return err
}

// checkAgain checks the first part with another name and other times.
func (s *Service) checkAgain(ctx context.Context, sub *submission.Submission) error {
	if sub.Check.Parts == 0 {
		return nil
	}
	body, err := s.Uploads.Get(ctx, sub.PartKey(1))
	if err != nil {
		return err
	}
	p, people, err := submission.DecodePart(body)
	if err != nil {
		return err
	}
	v, err := s.Worker.Dispatch.Check(ctx, part(p).call(*sub, 1, people))
	if err != nil {
		return err
	}
	f := clone(sub.Check.Findings)
	f.General = nil
	addGeneral(&f, v)
	sub.Check.Findings = f
	return nil
}
