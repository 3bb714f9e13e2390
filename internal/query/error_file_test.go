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

// name is of a file, and earlier of one of a release whose keys had the names.
var name, earlier = strings.Repeat("aZ_-9", 9)[:44], strings.Repeat("aZ_-9", 9)[:43]

var now = time.Date(2037, 3, 1, 12, 0, 0, 0, time.UTC)

// blobs holds two error files with a modification time, one of them of an earlier release. Reading the file of 44 times x
// fails.
type blobs struct{ written time.Time }

func (b blobs) GetSince(_ context.Context, key string, since time.Time) ([]byte, error) {
	if !b.written.After(since) {
		return nil, campaign.ErrNotFound
	}
	switch key {
	case "errors/a63dce57e41514b0a59ce4c60477c02400d9136baa106a0529dea1ac52cff662", "errors/" + earlier + ".csv":
		return []byte(csv), nil
	case campaign.ErrorFileKey(strings.Repeat("x", 44) + ".csv"):
		return nil, errors.New("get object: access denied")
	case campaign.ErrorFileKey(strings.Repeat("y", 44) + ".csv"):
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
	w := get(t, earlier+".csv")
	if w.Code != http.StatusOK || w.Body.String() != csv {
		t.Errorf("of an earlier release: got %d %q", w.Code, w.Body)
	}
	w = get(t, name+".csv")
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
		strings.Repeat("y", 44) + ".csv", name, name + ".CSV", name[2:] + ".csv", strings.TrimPrefix(campaign.ErrorFileKey(name+".csv"), "errors/") + ".csv", name + "a.csv", name + ".csv%0A",
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
	w := get(t, strings.Repeat("x", 44)+".csv")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "denied") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
