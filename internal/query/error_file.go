package query

import (
	"context"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/httpapi"
)

// FileStore reads stored objects.
type FileStore interface {
	// GetSince returns an object written after a time. The error wraps campaign.ErrNotFound if there is none.
	GetSince(ctx context.Context, key string, since time.Time) ([]byte, error)
}

// ErrorFiles serves error files until they expire. No token is needed: the URL cannot
// be guessed.
type ErrorFiles struct {
	Blobs FileStore
	Now   func() time.Time
}

// fileName is 264 random bits in base64url and the extension, or 256 of an earlier release. Other names are refused.
var fileName = pattern.AtFirstUse(`^[A-Za-z0-9_-]{43,44}\.csv$`)

// ServeFile returns the file that the path value "name" names. It ignores the
// Authorization header, which some clients send to every URL.
func (f *ErrorFiles) ServeFile(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if !fileName().MatchString(name) {
		return notFound()
	}
	file, err := f.Blobs.GetSince(r.Context(), campaign.ErrorFileKey(name), f.Now().Add(-campaign.ErrorFileLife))
	if err != nil {
		return httpapi.Missing("get the error file", err, notFound())
	}
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="errors.csv"`)
	h.Set("Cache-Control", "private")
	_, err = w.Write(file) //nolint:gosec // an attachment, not HTML
	return err
}

func notFound() *httpapi.Problem {
	return httpapi.NotFound("not_found", "There is no such error file. Error files are kept for 30 days.")
}
