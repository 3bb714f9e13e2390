package exports

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

const (
	// urlLife is how long the URL of a file at S3 works.
	urlLife = time.Minute
	// lostAfter is the age of an unfinished export's last progress from which its task
	// counts as lost. It exceeds the time after which the queue delivers a task again.
	lostAfter = 8 * time.Minute
	// smallTotal and smallBatches are the numbers of messages and batches up to which a list is made in the request.
	smallTotal   = 5_000
	smallBatches = 8
	// afterRequest is longer than any request.
	afterRequest = time.Minute
	// secretSize is the number of random bytes in a link.
	secretSize = 32
)

// Store reads campaigns and keeps exports.
type Store interface {
	// Campaign returns a campaign with its outcomes. The error wraps campaign.ErrNotFound if there is none.
	Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// CreateExport returns the existing export if there is one. full reports that the
	// tenant has export.MaxOpen unfinished exports.
	CreateExport(ctx context.Context, e export.Export, snapshot []export.Batch) (first export.Export, full bool, err error)
	// Export returns an export. The error wraps campaign.ErrNotFound if there is none.
	Export(ctx context.Context, id string) (export.Export, error)
	// Exports returns the exports of a campaign, in no order.
	Exports(ctx context.Context, id campaign.ID) ([]export.Export, error)
	// SaveExport returns an error that wraps campaign.ErrLostRace if the export changed since it was read.
	SaveExport(ctx context.Context, e export.Export) (export.Export, error)
}

// Files signs the URLs of files.
type Files interface {
	// SignedURL returns a URL that reads an object for a time.
	SignedURL(ctx context.Context, key string, life time.Duration) (string, error)
}

// Service takes requests for exports, and serves their progress and their files.
type Service struct {
	Tokens  accesstoken.Authorizer
	Store   Store
	Files   Files
	Tasks   port.Queue
	Now     func() time.Time
	BaseURL string // configured base URL, or ""
	// AtOnce makes small lists of recipients in the request. Nil leaves them all to the queue.
	AtOnce listMaker
}

// listMaker writes the file of an export. It is an interface because only the dashboard has a Maker for it.
type listMaker interface {
	run(ctx context.Context, e export.Export) error
}

const unknownValue = "unknown_value"

// statuses are the statuses of messages, and of people without one.
var statuses = append(campaign.MessageStatuses(), statusNotAccepted)

// Create starts an export of a campaign. A repeated call with the same ID returns the same
// export. A refused call returns a *httpapi.Problem.
func (s *Service) Create(ctx context.Context, id campaign.ID, exportID string, asked export.Request) (export.Export, error) {
	asked, err := complete(asked)
	if err != nil {
		return export.Export{}, err
	}
	return s.start(ctx, id, export.Export{
		ExportID: exportID, Kind: asked.Kind, Statuses: asked.Statuses, Format: asked.Format, Language: asked.Language,
	})
}

// CreateRecipients starts an export of an audience's recipients. A repeated call with the same
// ID returns the same export. A refused call returns a *httpapi.Problem.
func (s *Service) CreateRecipients(ctx context.Context, id campaign.ID, exportID string, who export.Audience) (export.Export, error) {
	if !slices.Contains(export.Audiences(), who) {
		return export.Export{}, invalid("/audience", "audience must be unread, missed or tapped.")
	}
	return s.start(ctx, id, export.Export{
		ExportID: exportID, Kind: export.Recipients, Audience: who, Format: export.Plain, Language: english,
	})
}

func (s *Service) start(ctx context.Context, id campaign.ID, e export.Export) (export.Export, error) {
	c, err := s.Store.Campaign(ctx, id)
	if err != nil {
		return e, httpapi.Missing("export", err, httpapi.NoCampaign())
	}
	now := s.Now()
	e.ID, e.Secret, e.State = c.ID, random.Token(secretSize), export.Pending
	e.CreatedAt, e.UpdatedAt, e.ExpiresAt = now, now, now.Add(export.Life)
	snapshot := snapshotOf(c, &e)
	if len(snapshot) > export.MaxBatches {
		return e, tooLarge()
	}
	first, full, err := s.Store.CreateExport(ctx, e, snapshot)
	switch {
	case err != nil:
		return e, fmt.Errorf("export: %w", err)
	case full:
		return e, tooMany()
	case !same(first, e):
		return e, httpapi.KeyReused("export", "export")
	case first.Closed():
		return first, nil
	case s.AtOnce != nil && first.Kind == export.Recipients && first.Total <= smallTotal && len(snapshot) <= smallBatches:
		return s.makeNow(ctx, first)
	}
	return first, queueTask(ctx, s.Tasks, first, 0)
}

// makeNow makes a small list in the request. One that fails is left to the queue. A delayed task continues a list
// whose request ends before its list.
func (s *Service) makeNow(ctx context.Context, e export.Export) (export.Export, error) {
	if err := queueTask(ctx, s.Tasks, e, afterRequest); err != nil {
		return e, err
	}
	if err := s.AtOnce.run(ctx, e); err != nil {
		slog.WarnContext(ctx, "making a list in the request failed", "tenant", e.Tenant, "export_id", e.ExportID, "error", err)
		return e, queueTask(ctx, s.Tasks, e, 0)
	}
	return s.Store.Export(ctx, e.ExportID)
}

// snapshotOf returns the snapshot of a campaign, and sets the total of the export.
func snapshotOf(c campaign.Campaign, e *export.Export) (snapshot []export.Batch) {
	for _, b := range c.Batches {
		if e.Kind == export.Rejected && b.ErrorFile == "" {
			continue
		}
		e.Total += countOf(e.Kind, b.Batch)
		snapshot = append(snapshot, export.Batch{Ordinal: b.Ordinal, Sequence: b.Head.Sequence, Taps: b.Head.Taps, Clicks: b.Head.Clicks})
	}
	if !listsNotAccepted(*e) {
		return snapshot
	}
	ordinal := 0 // ordinals ascend
	if last := len(snapshot) - 1; last >= 0 {
		ordinal = snapshot[last].Ordinal
	}
	e.Total += c.Submission.NeverAccepted()
	for _, part := range c.Submission.PartsNotAccepted() {
		snapshot = append(snapshot, export.Batch{Ordinal: ordinal, Part: part})
	}
	return snapshot
}

// listsNotAccepted reports whether an export lists the people who are not accepted any more.
func listsNotAccepted(e export.Export) bool {
	switch e.Kind {
	case export.Recipients:
		return e.Audience == export.AudienceMissed
	case export.Rejected:
		return false
	case export.Outcomes:
	}
	return len(e.Statuses) == 0 || slices.Contains(e.Statuses, statusNotAccepted)
}

func same(a, b export.Export) bool {
	return a.ID == b.ID && a.Kind == b.Kind && a.Format == b.Format && a.Language == b.Language && a.Audience == b.Audience &&
		slices.Equal(a.Statuses, b.Statuses)
}

func complete(q export.Request) (export.Request, error) {
	q.Kind, q.Format, q.Language = cmp.Or(q.Kind, export.Outcomes), cmp.Or(q.Format, export.Plain), cmp.Or(q.Language, english)
	slices.Sort(q.Statuses)
	q.Statuses = slices.Compact(q.Statuses)
	switch {
	case q.Kind != export.Outcomes && q.Kind != export.Rejected:
		return q, invalid("/kind", "kind must be outcomes or rejected.")
	case q.Format != export.Excel && q.Format != export.Plain:
		return q, invalid("/format", "format must be excel or plain.")
	case q.Language != english && q.Language != portuguese:
		return q, invalid("/language", "language must be en or pt-BR.")
	case len(q.Statuses) > 0 && q.Kind == export.Rejected:
		return q, invalid("/statuses", "statuses needs the kind outcomes: rejected numbers have no status.")
	}
	for _, status := range q.Statuses {
		if !slices.Contains(statuses, status) {
			return q, invalid("/statuses", "statuses must contain only "+strings.Join(statuses, ", ")+".")
		}
	}
	return q, nil
}

// OfCampaign returns the exports of a campaign that have a link, newest first, and continues those
// whose task was lost.
func (s *Service) OfCampaign(ctx context.Context, id campaign.ID) ([]export.Export, error) {
	all, err := s.Store.Exports(ctx, id)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e export.Export) bool { return e.Kind == export.Recipients })
	slices.SortFunc(all, func(a, b export.Export) int { return b.CreatedAt.Compare(a.CreatedAt) })
	for _, e := range all {
		if err := s.revive(ctx, e); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// find returns an export of a campaign that clients may see.
func (s *Service) find(ctx context.Context, id campaign.ID, exportID string) (export.Export, error) {
	e, err := s.Find(ctx, id, exportID)
	if err == nil && e.Kind == export.Recipients {
		return e, noExport()
	}
	return e, err
}

// Find returns an export of a campaign, and continues it if its task was lost. If there is
// none, the error is a *httpapi.Problem.
func (s *Service) Find(ctx context.Context, id campaign.ID, exportID string) (export.Export, error) {
	exportID, ok := campaign.ParseUUID(exportID)
	if !ok {
		return export.Export{}, noExport()
	}
	e, err := s.Store.Export(ctx, exportID)
	switch {
	case errors.Is(err, campaign.ErrNotFound), err == nil && e.ID != id:
		return e, noExport()
	case err != nil:
		return e, err
	}
	return e, s.revive(ctx, e)
}

// revive queues the task of an unfinished export again if it seems to be lost.
func (s *Service) revive(ctx context.Context, e export.Export) error {
	if e.Closed() || s.Now().Sub(e.UpdatedAt) < lostAfter {
		return nil
	}
	e, err := s.Store.SaveExport(ctx, e) // so that the next request does not queue it too
	if errors.Is(err, campaign.ErrLostRace) {
		return nil
	}
	if err != nil {
		return err
	}
	return queueTask(ctx, s.Tasks, e, 0)
}

// Open returns the URL at S3 of the file that a link names. The error is a
// *httpapi.Problem if there is none.
func (s *Service) Open(ctx context.Context, name string) (string, error) {
	id, secret, _ := strings.Cut(name, ".")
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return "", noFile()
	}
	e, err := s.Store.Export(ctx, id)
	foreign := subtle.ConstantTimeCompare([]byte(secret), []byte(e.Secret)) == 0
	switch {
	case errors.Is(err, campaign.ErrNotFound), err == nil && (e.State != export.Completed || e.Kind == export.Recipients || foreign):
		return "", noFile()
	case err != nil:
		return "", err
	}
	return s.Files.SignedURL(ctx, e.Blob(), urlLife)
}
