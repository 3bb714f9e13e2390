package openapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"campaign-dispatch/internal/httpapi/openapi/openapitest"
)

const (
	token    = "/api/v1/oauth/token"
	dispatch = "/api/v1/external/campaigns/dispatch"
	file     = "/api/v1/error-files/q3Zy0bJ8c7nE4l-1mT2xUu9sVwGkRfHdPaYtLi_oBCzA.csv"
	keys     = "/.well-known/jwks.json"

	call = `{"campaignId":"0190B6A4-7a1c-4d51-b5a0-3c1f0a4b9f10","name":"n","templateId":"7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c",` +
		`"schedule":null,"messages":[{"phone":"","uid":"1","vars":{"a":1,"b":[]},"more":true}]}`
	accepted = `{"campaignId":"0190B6A4-7a1c-4d51-b5a0-3c1f0a4b9f10","status":"sending","accepted":0,"rejected":1,` +
		`"feedback":{"invalidPhones":[{"phone":"","reason":"r","code":"empty"}]}}`
	grant = `{"grant_type":"client_credentials","client_id":"rcs_1","client_secret":"s"}`
	got   = `{"access_token":"a.b.c","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"campaigns:dispatch"}`
)

func problem(status int, code string) string {
	return fmt.Sprintf(`{"type":"about:blank","title":"t","status":%d,"code":%q,"detail":"d"}`, status, code)
}

// exchange is a request with its answer.
type exchange struct {
	method, path, mediaType, body string
	status                        int
	header                        http.Header
	answer                        string
}

func (e exchange) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: e.status, Header: e.header, Body: io.NopCloser(strings.NewReader(e.answer))}, nil
}

// recorder is a testing.TB that counts failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func run(t *testing.T, e exchange) []string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), e.method, "http://127.0.0.1"+e.path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	if e.mediaType != "" {
		r.Header.Set("Content-Type", e.mediaType)
	}
	tb := &recorder{TB: t}
	res, err := openapitest.New(tb, e).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != e.answer {
		t.Errorf("the answer's body was changed: %v", err)
	}
	return tb.failures
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

var (
	jsonType    = header("Content-Type", "application/json")
	problemType = header("Content-Type", "application/problem+json")
	uncached    = header("Content-Type", "application/json", "Cache-Control", "no-store")
)

func TestTransport_Documented(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]exchange{
		"accepted":         {"POST", dispatch, "application/json", call, 202, jsonType, accepted},
		"another type":     {"POST", dispatch, "", call, 202, jsonType, accepted},
		"refused":          {"POST", dispatch, "application/json", `{`, 400, problemType, problem(400, "malformed_json")},
		"no token":         {"POST", dispatch, "", "", 401, header("Content-Type", "application/problem+json", "WWW-Authenticate", "Bearer"), problem(401, "invalid_token")},
		"throttled":        {"POST", dispatch, "application/json", call, 429, jsonType, `{"message":"Too Many Requests"}`},
		"token":            {"POST", token, "application/json", grant, 200, uncached, got},
		"token in JSON":    {"POST", token, "application/json", `{"grant_type":"refresh_token","refresh_token":"r"}`, 200, uncached, got},
		"token refused":    {"POST", token, "application/json", `[]`, 400, uncached, `{"error":"invalid_request","error_description":"d"}`},
		"file":             {"GET", file, "", "", 200, header("Content-Type", "text/csv; charset=utf-8", "Content-Disposition", "attachment"), "line,phone\r\n1,\"a\nb\"\r\n"},
		"no file":          {"GET", "/api/v1/error-files/x", "", "", 404, problemType, problem(404, "not_found")},
		"unknown path":     {"GET", "/nothing", "", "", 404, problemType, problem(404, "not_found")},
		"wrong method":     {"GET", dispatch, "", "", 405, header("Content-Type", "application/problem+json", "Allow", "POST"), problem(405, "method_not_allowed")},
		"head has no body": {"HEAD", keys, "", "", 405, jsonType, ""},
		"a deleted list":   {"DELETE", "/api/v1/external/lists/a", "", "", 204, jsonType, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, failure := range run(t, e) {
				t.Error(failure)
			}
		})
	}
}

func TestTransport_Undocumented(t *testing.T) {
	t.Parallel()
	with := func(old, replacement string) string { return strings.Replace(accepted, old, replacement, 1) }
	for name, e := range map[string]exchange{
		"another status":           {"POST", dispatch, "application/json", call, 418, problemType, problem(418, "not_found")},
		"another code":             {"POST", dispatch, "application/json", call, 400, problemType, problem(400, "oops")},
		"another status's code":    {"POST", dispatch, "application/json", call, 400, problemType, problem(400, "campaign_name_taken")},
		"another media type":       {"POST", dispatch, "application/json", call, 400, jsonType, problem(400, "blank")},
		"no challenge":             {"POST", dispatch, "", "", 401, problemType, problem(401, "invalid_token")},
		"a new field":              {"POST", dispatch, "application/json", call, 202, jsonType, with(`"accepted"`, `"more":1,"accepted"`)},
		"a new field further down": {"POST", dispatch, "application/json", call, 202, jsonType, with(`"phone"`, `"more":1,"phone"`)},
		"a missing field":          {"POST", dispatch, "application/json", call, 202, jsonType, with(`"accepted":0,`, ``)},
		"another type of a field":  {"POST", dispatch, "application/json", call, 202, jsonType, with(`"accepted":0`, `"accepted":"0"`)},
		"null for a list":          {"POST", dispatch, "application/json", call, 202, jsonType, `{"campaignId":"0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10","status":"sending","accepted":1,"rejected":0,"feedback":{"invalidPhones":null}}`},
		"a request accepted":       {"POST", dispatch, "application/json", strings.Replace(call, `"uid":"1"`, `"uid":1`, 1), 202, jsonType, accepted},
		"no JSON":                  {"POST", dispatch, "application/json", call, 202, jsonType, `{`},
		"a cached token":           {"POST", token, "application/json", grant, 200, jsonType, got},
		"another grant accepted":   {"POST", token, "application/json", `{"grant_type":"password"}`, 200, uncached, got},
		"a file of another name":   {"GET", "/api/v1/error-files/x", "", "", 200, header("Content-Type", "text/csv", "Content-Disposition", "attachment"), ""},
		"unknown path found":       {"GET", "/nothing", "", "", 200, jsonType, `{}`},
		"unknown path forbidden":   {"GET", "/nothing", "", "", 403, problemType, problem(403, "insufficient_scope")},
		"wrong method without":     {"GET", dispatch, "", "", 405, problemType, problem(405, "method_not_allowed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if failures := run(t, e); len(failures) != 1 {
				t.Errorf("failures %q, want one", failures)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	message := `{"phone":"+5511987654321","uid":"1","vars":{"a":"1","b":"2","c":"3","d":"4"}}`
	body := strings.Replace(call, `"messages":[`, `"messages":[`+strings.Repeat(message+",", 1999), 1)
	e := exchange{"POST", dispatch, "application/json", body, 202, jsonType, accepted}
	r, err := http.NewRequestWithContext(b.Context(), e.method, "http://127.0.0.1"+e.path, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", e.mediaType)
	res := &http.Response{StatusCode: e.status, Header: e.header}
	for b.Loop() {
		if err := openapitest.Check(r, []byte(body), res, []byte(accepted)); err != nil {
			b.Fatal(err)
		}
	}
}
