package intake

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// uploadLife is how long an upload can be continued. The bucket's lifecycle deletes unfinished
// ones after a day.
const uploadLife = 20 * time.Hour

// Uploads are the files of submissions and their uploads.
type Uploads interface {
	Blobs
	port.Uploads

	// AbortFile deletes the chunks of an upload. Missing uploads are not an error.
	AbortFile(ctx context.Context, key, upload string) error
	// Copy copies an object. The error wraps campaign.ErrNotFound if there is none.
	Copy(ctx context.Context, from, to string) error
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

// Submission returns a submission. The rest of an interrupted one has the time to which its
// campaign was rescheduled. The error wraps campaign.ErrNotFound if the submission does not exist.
func (s *Service) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	sub, err := s.Store.Submission(ctx, id)
	if err != nil || sub.State != submission.StateInterrupted {
		return sub, err
	}
	return moved(ctx, s.Store, sub)
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

// Check begins to read a file with the columns. A file that is read already is read again. One of which a person has to
// say how it is read waits.
func (s *Service) Check(ctx context.Context, sub submission.Submission, columns submission.Chosen, t campaign.Template) error {
	if !sub.Editable() || sub.Undecided() {
		return nil
	}
	beginCheck(&sub, t.Version)
	if columns.Phone != sub.Columns.Phone { // the corrections are those of other numbers
		sub.Reading.Corrections = nil
	}
	sub.Columns.Chosen = columns
	if err := s.remember(ctx, sub); err != nil {
		return err
	}
	return s.work(ctx, sub)
}

const maxKnown = 300 // names that are remembered

func (s *Service) remember(ctx context.Context, sub submission.Submission) error {
	return s.Store.ChangeKnownColumns(ctx, sub.Tenant, func(known map[string]string) (changed bool) {
		set := func(value string, column int) {
			name := sheet.Fold(sub.Columns.Header[column])
			if name != "" && known[value] != name && (len(known) < maxKnown || known[value] != "") {
				known[value], changed = name, true
			}
		}
		set("phone", sub.Columns.Phone)
		set("uid", sub.Columns.UID)
		for _, v := range sub.Columns.Values {
			set(v.Name, v.Column)
		}
		return changed
	})
}

// TooLate reports whether it is too late for the schedule of a campaign that has not begun.
func (s *Service) TooLate(sub submission.Submission) bool {
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

// LeftOut yields the lines that get no message, in the order of the file.
func (s *Service) LeftOut(ctx context.Context, sub submission.Submission) iter.Seq2[submission.LeftOut, error] {
	return eachLeftOut(ctx, s.Uploads, sub, allOuts(sub))
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
