package query

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/query/search"
)

// Every query is parsed or refused with a client error.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{"1.2", "0", "-1.5", "1.2.3", "9223372036854775808", "1.00", " 1.1", "0x1.0x2", "٣.١"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		query := url.Values{"cursor": {value}, "after": {value}, "limit": {value}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query.Encode(), http.NoBody)
		read, err := httpapi.Parameters{"cursor": "", "after": "", "limit": ""}.Read(r)
		if err != nil {
			t.Fatal(err)
		}
		after, err := read.Number("cursor", "")
		refusedOr(t, err, after >= 0)
		after, err = read.Number("after", "")
		refusedOr(t, err, after >= 0)
		limit, err := read.Limit()
		refusedOr(t, err, limit >= 1 && limit <= 500)
		for _, asked := range []search.Query{{Cursor: value}, {Status: value}} {
			q, err := (&Service{}).readSearch(t.Context(), campaign.Campaign{}, asked)
			refusedOr(t, err, q.from.ordinal >= 0 && q.from.index >= 0)
			if asked.Cursor == "" || err != nil {
				continue
			}
			if found, err := (&Service{}).scan(t.Context(), q); err != nil || len(found.Messages) > 0 {
				t.Errorf("found %v, %v in an empty campaign", found, err)
			}
		}
	})
}

// refusedOr fails the test unless err is a client error, or nil with inOrder true.
func refusedOr(t *testing.T, err error, inOrder bool) {
	t.Helper()
	problem, ok := errors.AsType[*httpapi.Problem](err)
	if err == nil && !inOrder || err != nil && (!ok || problem.Status != http.StatusBadRequest) {
		t.Errorf("in order %v, error %v", inOrder, err)
	}
}
