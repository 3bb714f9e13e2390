package intake

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi/inputerr"
	"campaign-dispatch/internal/port"
	"campaign-dispatch/internal/random"
	"campaign-dispatch/internal/recipients"
)

const (
	// PartSize is the size in bytes of all parts of an upload but the last.
	PartSize = 8 << 20
	// uploadLife is how long an upload can be continued. The bucket's lifecycle deletes
	// unfinished ones after a day.
	uploadLife = 20 * time.Hour
	// lostAfter is the age of a working import's last progress from which its task counts as
	// lost. It exceeds the function's timeout.
	lostAfter = 150 * time.Second
)

// Uploads are the uploads in parts. The error wraps campaign.ErrNotFound if an upload does not
// exist.
type Uploads interface {
	Blobs

	StartUpload(ctx context.Context, key string) (string, error)
	PartURL(ctx context.Context, key, upload string, part int, size int64) (string, error)
	UploadedParts(ctx context.Context, key, upload string) (map[int]int64, error)
	FinishUpload(ctx context.Context, key, upload string) error
	AbortFile(ctx context.Context, key, upload string) error
	// Copy copies an object.
	Copy(ctx context.Context, from, to string) error
}

// Service takes uploads and people's decisions.
type Service struct {
	Store   Store
	Uploads Uploads
	// Stat returns the ETag and the size of an uploaded file.
	Stat  func(ctx context.Context, key string) (tag string, size int64, err error)
	Tasks port.Queue
	Now   func() time.Time
	Lead  time.Duration // minimum time from now to a schedule
}

// Start begins an upload, or continues the person's unfinished one of the same file. It returns
// the sizes of the parts that are uploaded already, by number. Invalid input returns a
// *inputerr.Error.
func (s *Service) Start(ctx context.Context, asked campaign.Import) (campaign.Import, map[int]int64, error) {
	if asked.Size < 1 || asked.Size > campaign.MaxImport {
		return asked, nil, &inputerr.Error{Code: "file_size", Detail: "the file is empty or larger than 200 MB"}
	}
	all, err := s.Store.Imports(ctx, asked.Tenant)
	if err != nil {
		return asked, nil, err
	}
	for _, i := range all {
		if !s.continues(i, asked) {
			continue
		}
		parts, err := s.Uploads.UploadedParts(ctx, i.Blob(), i.Upload)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		if err != nil {
			return asked, nil, err
		}
		i.Name, i.TemplateID, i.Schedule, i.NotAfter = asked.Name, asked.TemplateID, asked.Schedule, asked.NotAfter
		i, err = s.Store.SaveImport(ctx, i)
		return i, parts, err
	}
	if err := roomIn(all); err != nil {
		return asked, nil, err
	}
	return s.create(ctx, asked)
}

// roomIn returns an error if the tenant has too many unfinished imports.
func roomIn(all []campaign.Import) error {
	open := 0
	for _, i := range all {
		if !i.Closed() {
			open++
		}
	}
	if open < campaign.MaxImports {
		return nil
	}
	return &inputerr.Error{Code: "too_many_imports", Detail: "the tenant has too many unfinished imports"}
}

// StartFrom begins an import of an object. Invalid input returns a *inputerr.Error, and a
// missing object an error that wraps campaign.ErrNotFound.
func (s *Service) StartFrom(ctx context.Context, i campaign.Import, object string) (campaign.Import, error) {
	all, err := s.Store.Imports(ctx, i.Tenant)
	if err == nil {
		err = roomIn(all)
	}
	if err != nil {
		return i, err
	}
	i.CampaignID, i.State, i.CreatedAt = random.UUID(), campaign.ImportOpening, s.Now()
	if err := s.Uploads.Copy(ctx, object, i.Blob()); err != nil {
		return i, err
	}
	if i.Tag, i.Size, err = s.Stat(ctx, i.Blob()); err != nil {
		return i, err
	}
	if i.Size > campaign.MaxImport {
		return i, errors.Join(&inputerr.Error{Code: "file_size", Detail: "the file is larger than 200 MB"}, s.Uploads.Delete(ctx, i.Blob()))
	}
	return i, s.work(ctx, i)
}

// continues reports whether an upload is the unfinished one of the same file.
func (s *Service) continues(i, asked campaign.Import) bool {
	return i.State == campaign.ImportUploading && i.By == asked.By && i.FileName == asked.FileName && i.Size == asked.Size &&
		i.Modified == asked.Modified && s.Now().Sub(i.CreatedAt) < uploadLife
}

func (s *Service) create(ctx context.Context, i campaign.Import) (campaign.Import, map[int]int64, error) {
	i.CampaignID, i.State, i.CreatedAt = random.UUID(), campaign.ImportUploading, s.Now()
	var err error
	if i.Upload, err = s.Uploads.StartUpload(ctx, i.Blob()); err != nil {
		return i, nil, err
	}
	i, err = s.Store.SaveImport(ctx, i)
	return i, nil, err
}

// Import returns an import, and continues it if its task was lost. The rest of a stopped one has
// the time to which its campaign was rescheduled. The error wraps campaign.ErrNotFound if the
// import does not exist.
func (s *Service) Import(ctx context.Context, id campaign.ID) (campaign.Import, error) {
	i, err := s.Store.Import(ctx, id)
	if err == nil && i.State == campaign.ImportStopped {
		return moved(ctx, s.Store, i)
	}
	if err != nil || !i.Working() || s.Now().Sub(i.UpdatedAt) < lostAfter {
		return i, err
	}
	saved, err := s.Store.SaveImport(ctx, i) // so that the next request does not queue it too
	if errors.Is(err, campaign.ErrLostRace) {
		return i, nil
	}
	if err != nil {
		return i, err
	}
	return saved, queue(ctx, s.Tasks, id, 0)
}

// PartURL returns the URL to which a part of an upload is sent with PUT.
func (s *Service) PartURL(ctx context.Context, i campaign.Import, part int) (string, error) {
	size := min(PartSize, i.Size-int64(part-1)*PartSize)
	if i.State != campaign.ImportUploading || part < 1 || size <= 0 {
		return "", campaign.ErrNotFound
	}
	return s.Uploads.PartURL(ctx, i.Blob(), i.Upload, part, size)
}

// Finish ends an upload whose parts were sent. It can be repeated.
func (s *Service) Finish(ctx context.Context, i campaign.Import) error {
	if i.State != campaign.ImportUploading {
		return nil
	}
	err := s.finishUpload(ctx, i)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) { // a repeated call finds no upload
		return err
	}
	if i.Tag, _, err = s.Stat(ctx, i.Blob()); err != nil {
		return err
	}
	i.State = campaign.ImportOpening
	return s.work(ctx, i)
}

// finishUpload ends the upload on S3 if it has all parts. An upload that has ended cannot be
// continued.
func (s *Service) finishUpload(ctx context.Context, i campaign.Import) error {
	parts, err := s.Uploads.UploadedParts(ctx, i.Blob(), i.Upload)
	if err != nil {
		return err
	}
	missing := i.Size
	for _, size := range parts {
		missing -= size
	}
	if missing != 0 {
		return &inputerr.Error{Code: "incomplete", Detail: "parts of the file are missing"}
	}
	return s.Uploads.FinishUpload(ctx, i.Blob(), i.Upload)
}

// work saves an import and queues its task. If another request was faster, it does nothing.
func (s *Service) work(ctx context.Context, i campaign.Import) error {
	_, err := s.Store.SaveImport(ctx, i)
	if errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
	if err != nil {
		return err
	}
	return queue(ctx, s.Tasks, i.ID, 0)
}

// Check begins to read a file with the columns. A file that is read already is read again.
func (s *Service) Check(ctx context.Context, i campaign.Import, columns recipients.Columns, t campaign.Template) error {
	if !Checkable(i) {
		return nil
	}
	i.State, i.TemplateVersion = campaign.ImportReading, t.Version
	i.Phone, i.UID, i.Values = columns.Phone, columns.UID, nil
	for _, v := range columns.Values {
		i.Values = append(i.Values, campaign.ImportColumn(v))
	}
	i.Checks++
	i.Read, i.Findings = campaign.ImportProgress{}, campaign.ImportFindings{}
	if err := s.remember(ctx, i); err != nil {
		return err
	}
	return s.work(ctx, i)
}

// Checkable reports whether the columns of an import can be set.
func Checkable(i campaign.Import) bool {
	return i.State == campaign.ImportColumns || i.State == campaign.ImportReady
}

// maxKnown is the maximum number of names that are remembered.
const maxKnown = 300

// remember stores the names of the columns for the tenant's next file.
func (s *Service) remember(ctx context.Context, i campaign.Import) error {
	known, err := s.Store.KnownColumns(ctx, i.Tenant)
	if err != nil {
		return err
	}
	changed := false
	set := func(value string, column int) {
		name := recipients.Fold(i.Header[column])
		if name != "" && known[value] != name && (len(known) < maxKnown || known[value] != "") {
			known[value], changed = name, true
		}
	}
	set("phone", i.Phone)
	set("uid", i.UID)
	for _, v := range i.Values {
		set(v.Name, v.Column)
	}
	if !changed {
		return nil
	}
	return s.Store.SaveKnownColumns(ctx, i.Tenant, known)
}

// Late reports whether it is too late for the schedule of a campaign that has not begun.
func (s *Service) Late(i campaign.Import) bool {
	due, err := localtime.Parse(i.Schedule)
	return i.Schedule != "" && i.Sent == 0 && (err != nil || due.Before(s.Now().Add(s.Lead)))
}

// Send begins to dispatch the parts, or continues after a stop.
func (s *Service) Send(ctx context.Context, i campaign.Import) error {
	i.State, i.Fault, i.FaultArgs, i.First = campaign.ImportSending, "", nil, nil
	return s.work(ctx, i)
}

// AwaitApproval marks an import whose campaign a second person has to approve.
func (s *Service) AwaitApproval(ctx context.Context, i campaign.Import) error {
	i.State, i.First = campaign.ImportApproval, nil
	_, err := s.Store.SaveImport(ctx, i)
	return err
}

// Cancel discards an import and deletes its files. Batches that are dispatched remain. It can
// be repeated.
func (s *Service) Cancel(ctx context.Context, i campaign.Import) error {
	if i.Closed() && i.State != campaign.ImportCancelled {
		return nil
	}
	uploading := i.State == campaign.ImportUploading
	i.State, i.First = campaign.ImportCancelled, nil
	i, err := s.Store.SaveImport(ctx, i)
	if err != nil {
		return err
	}
	if uploading {
		if err := s.Uploads.AbortFile(ctx, i.Blob(), i.Upload); err != nil {
			return err
		}
	}
	return closeParts(ctx, s.Store, s.Uploads, i)
}

// Message returns the line and the variables of the message at a position in the parts, from
// 0. The error wraps campaign.ErrNotFound if there is none.
func (s *Service) Message(ctx context.Context, i campaign.Import, at int) (line int, vars map[string]string, err error) {
	file, err := s.Uploads.Get(ctx, i.PartBlob(at/campaign.MaxMessages+1))
	if err != nil {
		return 0, nil, err
	}
	p, _, err := decodePart(file)
	if err != nil {
		return 0, nil, err
	}
	if at %= campaign.MaxMessages; at >= len(p) {
		return 0, nil, campaign.ErrNotFound
	}
	return p[at].Line, p[at].Vars, nil
}
