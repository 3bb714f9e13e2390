package jsonbody_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonbody"
)

// A body that is JSON is read whatever its Content-Encoding says, and with a byte order mark.
func TestRead_Encoded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body, encoding string
		status         int
	}{
		"JSON":            {`{"name":"a"}`, "utf-8", 0},
		"a mark":          {"\ufeff" + `{"name":"a"}`, "", 0},
		"compressed":      {"\x1f\x8b\x08\x00", "gzip", http.StatusUnsupportedMediaType},
		"several":         {"\x1f\x8b\x08\x00", "identity, GZIP", http.StatusUnsupportedMediaType},
		"identity":        {"\x1f\x8b\x08\x00", "Identity", http.StatusBadRequest},
		"no header":       {"\x1f\x8b\x08\x00", "", http.StatusBadRequest},
		"a name twice":    {`{"name":"a","name":"b"}`, "gzip", http.StatusBadRequest},
		"an unknown name": {`{"x":"a"}`, "gzip", http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", strings.NewReader(test.body))
			if test.encoding != "" {
				r.Header.Set("Content-Encoding", test.encoding)
			}
			var value struct {
				Name string `json:"name"`
			}
			status := 0
			if refused, ok := errors.AsType[*httpapi.Problem](jsonbody.Read(r, 1000, &value)); ok {
				status = refused.Status
			}
			if status != test.status || (status == 0) != (value.Name == "a") {
				t.Errorf("status %d, want %d, and the name %q", status, test.status, value.Name)
			}
		})
	}
}
