package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/openapi"
)

func document(t *testing.T) []byte {
	t.Helper()
	text, err := openapi.Document("https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document(t))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestDocument_Valid(t *testing.T) {
	t.Parallel()
	if err := load(t).Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// operations calls visit for every operation.
func operations(t *testing.T, visit func(name string, op *openapi3.Operation)) {
	t.Helper()
	for path, item := range load(t).Paths.Map() {
		for method, op := range item.Operations() {
			visit(method+" "+path, op)
		}
	}
}

func TestDocument_Examples(t *testing.T) {
	t.Parallel()
	operations(t, func(name string, op *openapi3.Operation) {
		for _, p := range op.Parameters {
			checkValue(t, name+" parameter "+p.Value.Name, p.Value.Schema.Value, p.Value.Example)
		}
		if op.RequestBody != nil {
			checkContent(t, name+" request", op.RequestBody.Value.Content)
		}
		for status, response := range op.Responses.Map() {
			checkContent(t, name+" "+status, response.Value.Content)
			for header, h := range response.Value.Headers {
				if h.Value.Example != nil {
					checkValue(t, name+" "+status+" header "+header, h.Value.Schema.Value, h.Value.Example)
				}
			}
		}
	})
}

func TestDocument_Webhooks(t *testing.T) {
	t.Parallel()
	webhooks := load(t).Webhooks
	for kind, item := range webhooks {
		checkContent(t, kind, item.Post.RequestBody.Value.Content)
	}
	want := []string{
		"campaign.completed", "campaign.paused", "campaign.resumed", "endpoint.test", "message.delivered", "message.expired", "message.failed", "message.opted_out",
		"message.read", "message.replied", "message.sent", "message.tapped",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(webhooks))); diff != "" {
		t.Error(diff)
	}
}

func checkContent(t *testing.T, name string, content openapi3.Content) {
	t.Helper()
	for mediaType, m := range content {
		if len(m.Examples) == 0 {
			t.Errorf("%s %s has no example", name, mediaType)
		}
		for key, example := range m.Examples {
			checkValue(t, name+" "+mediaType+" "+key, m.Schema.Value, example.Value.Value)
		}
	}
}

func checkValue(t *testing.T, name string, schema *openapi3.Schema, value any) {
	t.Helper()
	if value == nil {
		t.Errorf("%s has no example", name)
	}
	if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestDocument_SchemaRefusesInvalid(t *testing.T) {
	t.Parallel()
	request := load(t).Components.Schemas["DispatchRequest"].Value
	var value any
	if err := json.Unmarshal([]byte(`{"campaignId":"{0190b6a4}","name":" ","templateId":"x","messages":[]}`), &value); err != nil {
		t.Fatal(err)
	}
	if err := request.VisitJSON(value, openapi3.EnableJSONSchema2020()); err == nil {
		t.Error("the schema accepts an invalid example")
	}
}

func TestDocument_CodesHaveExamples(t *testing.T) {
	t.Parallel()
	operations(t, func(name string, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			m := response.Value.Content["application/problem+json"]
			if m == nil {
				continue
			}
			codes := []string{}
			for _, c := range m.Schema.Value.AllOf[1].Value.Properties["code"].Value.Enum {
				codes = append(codes, c.(string))
			}
			slices.Sort(codes)
			if diff := cmp.Diff(codes, slices.Sorted(maps.Keys(m.Examples))); diff != "" {
				t.Errorf("%s %s: %s", name, status, diff)
			}
		}
	})
}

// Code generators merge an answer's narrowed schema into the named one. Without a type
// it becomes untyped, and a constant instead of an enum is dropped.
func TestDocument_NarrowedSchemasHaveTypes(t *testing.T) {
	t.Parallel()
	operations(t, func(name string, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			for _, m := range response.Value.Content {
				for _, narrowed := range narrowings(m.Schema.Value) {
					checkNarrowed(t, name+" "+status, status, narrowed)
				}
			}
		}
	})
}

// For a body with two media types, code generators produce one function per type, or
// code that does not compile. So the token endpoint's form is documented in its
// description.
func TestDocument_OneMediaTypePerBody(t *testing.T) {
	t.Parallel()
	operations(t, func(name string, op *openapi3.Operation) {
		if op.RequestBody != nil && len(op.RequestBody.Value.Content) != 1 {
			t.Errorf("%s takes %v", name, slices.Sorted(maps.Keys(op.RequestBody.Value.Content)))
		}
	})
}

// narrowings returns the unnamed schemas beside a named one.
func narrowings(s *openapi3.Schema) (found openapi3.SchemaRefs) {
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if part.Ref == "" && len(part.Value.Properties) > 0 {
			found = append(found, part)
		}
		if part.Ref == "" {
			found = append(found, narrowings(part.Value)...)
		}
	}
	return found
}

func checkNarrowed(t *testing.T, name, status string, narrowed *openapi3.SchemaRef) {
	t.Helper()
	for property, p := range narrowed.Value.Properties {
		if p.Value.Type == nil || len(p.Value.Enum) == 0 {
			t.Errorf("%s: %s has no type or no enum", name, property)
		}
		if property == "status" && fmt.Sprint(p.Value.Enum) != "["+status+"]" {
			t.Errorf("%s: the status is one of %v", name, p.Value.Enum)
		}
	}
}

func handler() http.Handler {
	s := openapi.Service{}
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/openapi.json", httpapi.HandlerFunc(s.ServeDocument))
	mux.Handle("/", httpapi.HandlerFunc(s.ServeUnknown))
	return mux
}

func request(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:3000"+path, http.NoBody))
	return w
}

func TestServeDocument_BaseURL(t *testing.T) {
	t.Parallel()
	w := request(t, http.MethodGet, "/api/v1/openapi.json")
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Servers[0].URL; got != "http://127.0.0.1:3000" {
		t.Errorf("server %s", got)
	}
	if strings.Contains(w.Body.String(), "api.example.com") {
		t.Error("the document contains another base URL")
	}
}

func TestServeUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path string
		status       int
		code, allow  string
	}{
		{"GET", "/", 404, "not_found", ""},
		{"GET", "/api/v1/nothing", 404, "not_found", ""},
		{"POST", "/api/v1/external/campaigns/dispatch/", 404, "not_found", ""},
		{"GET", "/api/v1/external/campaigns/Dispatch", 404, "not_found", ""},
		{"GET", "/api/v1/error-files/a/b", 404, "not_found", ""},
		{"GET", "/api/v1/error-files/", 404, "not_found", ""},
		{"GET", "/api/v1/error-files/x", 404, "not_found", ""},
		{"GET", "/api/v1/external/campaigns/dispatch", 405, "method_not_allowed", "POST"},
		{"POST", "/api/v1/external/campaigns/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10", 405, "method_not_allowed", "GET, HEAD"},
		{"GET", "/api/v1/external/campaigns/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10/cancel", 405, "method_not_allowed", "POST"},
		{"OPTIONS", "/api/v1/oauth/token", 405, "method_not_allowed", "POST"},
		{"DELETE", "/api/v1/error-files/x.csv", 405, "method_not_allowed", "GET, HEAD"},
		{"PUT", "/api/v1/openapi.json", 405, "method_not_allowed", "GET, HEAD"},
		{"POST", "/.well-known/jwks.json", 405, "method_not_allowed", "GET, HEAD"},
		{"BREW", "/.well-known/oauth-authorization-server", 405, "method_not_allowed", "GET, HEAD"},
	} {
		w := request(t, c.method, c.path)
		var got struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
		if w.Code != c.status || got.Code != c.code || w.Header().Get("Allow") != c.allow {
			t.Errorf("%s %s: %d %s, Allow %q", c.method, c.path, w.Code, got.Code, w.Header().Get("Allow"))
		}
	}
}
