package query_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/query"
)

const csv = "line,phone,uid,code,reason\r\n1,119,ação,wrong_length,too short\r\n"

var name = strings.Repeat("aZ_-9", 9)[:43]

var now = time.Date(2037, 3, 1, 12, 0, 0, 0, time.UTC)

// blobs holds one error file with a modification time. Reading the key "errors/" plus
// 43 times x fails.
type blobs struct{ written time.Time }

func (b blobs) GetSince(_ context.Context, key string, since time.Time) ([]byte, error) {
	if !b.written.After(since) {
		return nil, campaign.ErrNotFound
	}
	switch key {
	case "errors/" + name + ".csv":
		return []byte(csv), nil
	case "errors/" + strings.Repeat("x", 43) + ".csv":
		return nil, errors.New("get object: access denied")
	case "errors/" + strings.Repeat("y", 43) + ".csv":
		return nil, fmt.Errorf("get object: %w", campaign.ErrNotFound)
	}
	panic("a key that is no error file's was asked for")
}

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	return getAged(t, path, time.Hour)
}

// getAged requests a file of the age.
func getAged(t *testing.T, path string, age time.Duration) *httptest.ResponseRecorder {
	t.Helper()
	files := query.ErrorFiles{Blobs: blobs{now.Add(-age)}, Now: func() time.Time { return now }}
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/error-files/{name}", httpapi.HandlerFunc(files.ServeFile))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/error-files/"+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer expired")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

// S3 deletes expired objects up to a day late.
func TestServeFile_Expired(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]int{
		campaign.ErrorFileLife - time.Minute: http.StatusOK, campaign.ErrorFileLife: http.StatusNotFound,
	} {
		if w := getAged(t, name+".csv", age); w.Code != want {
			t.Errorf("after %v: %d, want %d", age, w.Code, want)
		}
	}
}

func TestServeFile_File(t *testing.T) {
	t.Parallel()
	w := get(t, name+".csv")
	if w.Code != http.StatusOK || w.Body.String() != csv {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
	want := http.Header{
		"Content-Type":        {"text/csv; charset=utf-8"},
		"Content-Disposition": {`attachment; filename="errors.csv"`},
		"Cache-Control":       {"private"},
	}
	if diff := cmp.Diff(want, w.Header()); diff != "" {
		t.Error(diff)
	}
}

func TestServeFile_NotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		strings.Repeat("y", 43) + ".csv", name, name + ".CSV", name[1:] + ".csv", name + "a.csv", name + ".csv%0A",
		"..%2F" + name + ".csv", "%2e%2e%2fpayloads%2fx", name[:42] + "%C3%A9.csv", name[:42] + "+.csv", name[:42] + "%00.csv", "x",
	} {
		w := get(t, path)
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"code":"not_found"`) {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}

func TestServeFile_StoreFails(t *testing.T) {
	t.Parallel()
	w := get(t, strings.Repeat("x", 43)+".csv")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "denied") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
