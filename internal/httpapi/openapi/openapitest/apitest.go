// Package openapitest checks real requests and answers against the OpenAPI document.
package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"campaign-dispatch/internal/httpapi/openapi"
)

// Transport is an http.RoundTripper that fails its test on an undocumented answer, and
// on an undocumented request that was accepted.
type Transport struct {
	TB   testing.TB
	Base http.RoundTripper
}

// New returns a transport that sends requests with base.
func New(tb testing.TB, base http.RoundTripper) *Transport { //nolint:thelper // a constructor, checks nothing itself
	return &Transport{tb, base}
}

// RoundTrip sends the request and checks it together with its answer.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.TB.Helper()
	sent, err := drain(&r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	res, err := t.Base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	got, err := drain(&res.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer's body: %w", err)
	}
	if err := Check(r, sent, res, got); err != nil {
		t.TB.Errorf("%s %s undocumented answer %d: %.2000s", r.Method, r.URL.Path, res.StatusCode, err)
	}
	return res, nil
}

// drain reads a body and replaces it with a copy.
func drain(body *io.ReadCloser) ([]byte, error) {
	if *body == nil || *body == http.NoBody {
		return nil, nil
	}
	b, err := io.ReadAll(*body)
	if err := errors.Join(err, (*body).Close()); err != nil {
		return nil, err
	}
	*body = io.NopCloser(bytes.NewReader(b))
	return b, nil
}

// Check compares a request with body sent, and its answer with body got, to the
// document. Refused requests and undocumented media types are not checked.
func Check(r *http.Request, sent []byte, res *http.Response, got []byte) error {
	if r.Method == http.MethodHead {
		return nil
	}
	doc, err := load()
	if err != nil {
		return err
	}
	route, known := openapi.Find(r.URL.Path)
	if !known || !slices.Contains(route.Methods, r.Method) {
		return checkUnknown(doc, route, known, res, got)
	}
	in := &openapi3filter.RequestValidationInput{
		Request:    withBody(r, sent),
		PathParams: route.Params,
		Route: &routers.Route{
			Spec: doc, Path: route.Template, PathItem: doc.Paths.Value(route.Template), Method: r.Method,
			Operation: doc.Paths.Value(route.Template).GetOperation(r.Method),
		},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := checkAnswer(r.Context(), doc, in, res, got); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		return nil
	}
	if err := checkRequest(doc, in, r, sent); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	return nil
}

// checkRequest checks a request that was accepted.
func checkRequest(doc *openapi3.T, in *openapi3filter.RequestValidationInput, r *http.Request, sent []byte) error {
	mediaType, known := documented(r, in.Route.Operation)
	in.Options.ExcludeRequestBody = !known || isJSON(mediaType)
	if err := openapi3filter.ValidateRequest(context.WithoutCancel(r.Context()), in); err != nil || !known || !isJSON(mediaType) {
		return err
	}
	body := in.Route.Operation.RequestBody.Value
	if len(sent) == 0 && !body.Required {
		return nil
	}
	return checkJSON(doc, body.Content[mediaType], bytes.TrimPrefix(sent, []byte("\ufeff"))) // docs/api.md: it may begin with a mark
}

func withBody(r *http.Request, body []byte) *http.Request {
	clone := r.Clone(context.WithoutCancel(r.Context()))
	clone.Body = io.NopCloser(bytes.NewReader(body))
	return clone
}

// documented returns the request's media type, and reports whether the operation accepts it.
func documented(r *http.Request, op *openapi3.Operation) (mediaType string, known bool) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType, err == nil && op.RequestBody != nil && op.RequestBody.Value.Content.Get(mediaType) != nil
}

func checkAnswer(ctx context.Context, doc *openapi3.T, in *openapi3filter.RequestValidationInput, res *http.Response, got []byte) error {
	mediaType, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	checked := err == nil && isJSON(mediaType) && len(got) > 0
	options := *in.Options
	options.ExcludeResponseBody = checked
	err = openapi3filter.ValidateResponse(context.WithoutCancel(ctx), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in,
		Status:                 res.StatusCode,
		Header:                 res.Header,
		Body:                   io.NopCloser(bytes.NewReader(got)),
		Options:                &options,
	})
	if err != nil || !checked {
		return err
	}
	return checkJSON(doc, mediaOf(in.Route.Operation, res.StatusCode, mediaType), got)
}

// problem is the schema of an answer to a request that no operation has.
var problem = &openapi3.MediaType{Schema: &openapi3.SchemaRef{Ref: "#/components/schemas/Problem"}}

// checkUnknown checks the answer to an undocumented path or method.
func checkUnknown(doc *openapi3.T, route openapi.Route, known bool, res *http.Response, got []byte) error {
	status, code, allow := http.StatusNotFound, "not_found", ""
	if known {
		status, code, allow = http.StatusMethodNotAllowed, "method_not_allowed", strings.Join(route.Methods, ", ")
	}
	var body map[string]any
	if err := json.Unmarshal(got, &body); err != nil {
		return fmt.Errorf("read the problem: %w", err)
	}
	if err := checkJSON(doc, problem, got); err != nil {
		return err
	}
	type answer struct {
		status                   int
		mediaType, code, allowed string
	}
	want := answer{status, "application/problem+json", code, allow}
	if is := (answer{res.StatusCode, res.Header.Get("Content-Type"), fmt.Sprint(body["code"]), res.Header.Get("Allow")}); is != want {
		return fmt.Errorf("got %+v, want %+v", is, want)
	}
	return nil
}

// load returns the document in strict mode: an object of a named schema has no
// additional properties unless the schema allows them.
var load = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := openapi.Document("http://localhost")
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for schema := range maps.Values(schemas) {
		closeSchema(schema)
	}
	if text, err = json.Marshal(tree); err != nil {
		return nil, fmt.Errorf("encode the document: %w", err)
	}
	return openapi3.NewLoader().LoadFromData(text)
})

func closeSchema(schema any) {
	s, ok := schema.(map[string]any)
	if !ok || s["properties"] == nil || s["additionalProperties"] != nil {
		return
	}
	s["additionalProperties"] = false
}
