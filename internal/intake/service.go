package intake

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
)

// Uploads are the files of submissions and their uploads.
type Uploads interface {
	Blobs
	port.Uploads

	// AbortFile deletes the chunks of an upload. Missing uploads are not an error.
	AbortFile(ctx context.Context, key, upload string) error
	// Copy copies an object. The error wraps campaign.ErrNotFound if there is none.
	Copy(ctx context.Context, from, to string) error
}

// Rules reads when a campaign needs a second person, and the prices and budgets of tenants.
type Rules interface {
	// ApprovalFrom returns the number of recipients from which a campaign needs approval, 0 for never.
	ApprovalFrom(ctx context.Context, tenant string) (int, error)
	// Billing returns the prices and limits of a tenant, zero for none.
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
	// Spending returns what is reserved for a date and its month, zero for nothing.
	Spending(ctx context.Context, tenant, date string) (campaign.Spending, error)
	// TenantHours returns the hours of a tenant, zero for none. The error wraps campaign.ErrDamaged if they cannot be read.
	TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error)
}

// Service takes uploads and people's decisions.
type Service struct {
	Store   Store
	Uploads Uploads
	// Stat returns the ETag and the size of an uploaded file.
	Stat  func(ctx context.Context, key string) (tag string, size int64, err error)
	Tasks port.Queue
	Rules Rules
	Now   func() time.Time
	Lead  time.Duration // minimum time from now to a schedule
	// Worker does the steps of a small file in the request, for AtOnce. Zero leaves them all to the
	// queue.
	Worker *Worker
	AtOnce time.Duration
}

// Submission returns a submission. The rest of one that is interrupted or holding has the time to which its
// campaign was rescheduled. The error wraps campaign.ErrNotFound if the submission does not exist.
func (s *Service) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	sub, err := s.Store.Submission(ctx, id)
	if err != nil || sub.State != submission.StateInterrupted && sub.State != submission.StateHolding {
		return sub, err
	}
	return moved(ctx, s.Store, sub)
}

// ScheduleMissed reports whether the schedule has passed or is too close, of a campaign that has not begun.
func (s *Service) ScheduleMissed(sub submission.Submission) bool {
	due, err := localtime.Parse(sub.Schedule)
	return sub.Schedule != "" && sub.Sending.Parts == 0 && (err != nil || due.Before(s.Now().Add(s.Lead)))
}

// Message returns the line and the variables of the message at a position in the parts, from
// 0. The error wraps campaign.ErrNotFound if there is none.
func (s *Service) Message(ctx context.Context, sub submission.Submission, at int) (line int, vars map[string]string, err error) {
	file, err := s.Uploads.Get(ctx, sub.PartKey(at/campaign.MaxMessages+1))
	if err != nil {
		return 0, nil, err
	}
	m, err := submission.DecodeOne(file, at%campaign.MaxMessages) // a part without the lines that were left out is shorter
	return m.Line, m.Vars, err
}

const (
	// AtOnce is the time in which a request does steps. API Gateway waits 30 s.
	AtOnce   = 8 * time.Second
	overtime = 12 * time.Second // for the part that has begun
	// maxSmall is the maximum size in bytes of a file that a request reads, and maxShared that of the
	// texts that the cells of a workbook share.
	maxSmall  = 4 << 20
	maxShared = 4 << 20
)

// work saves a submission and does its steps. Sweep queues its task if the process dies in between.
// If another request was faster, it does nothing.
func (s *Service) work(ctx context.Context, sub submission.Submission) error {
	sub.Repairs = 0
	sub, err := s.Store.SaveSubmission(ctx, sub)
	if errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.proceed(ctx, sub)
}

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
	if _, damaged := errors.AsType[*submission.Fault](err); damaged {
		return false, nil
	}
	return shared > maxShared, err
}
