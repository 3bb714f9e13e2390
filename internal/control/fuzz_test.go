package control

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"campaign-dispatch/internal/httpapi"
)

// Every body is parsed or refused with a client error.
func FuzzReadReschedule(f *testing.F) {
	for _, s := range []string{
		`{"schedule":"2037-12-24T18:30:00","batch":"b"}`, `{"schedule":null}`, `{"schedule":1}`, `[]`, `null`, `{"schedule":"a","schedule":"b"}`,
		`{"schedule":"\ud800"}`, `{"Schedule":"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, _, err := readReschedule(nil, body)
		if err == nil {
			if !json.Valid(body) {
				t.Errorf("%q was accepted", body)
			}
			return
		}
		problem, ok := errors.AsType[*httpapi.Problem](err)
		if !ok || problem.Status != http.StatusBadRequest {
			t.Errorf("%q: %v", body, err)
		}
	})
}
