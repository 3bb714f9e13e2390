// Package openapi serves the OpenAPI 3.1 document, and the answers to unknown requests.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"campaign-dispatch/internal/httpapi"
)

//go:embed openapi.json
var document []byte

// placeholder is the server URL in the embedded document.
const placeholder = "https://api.example.com"

// Document returns the document for the service at base, a URL without trailing slash.
func Document(base string) ([]byte, error) {
	quoted, err := json.Marshal(base)
	if err != nil {
		return nil, fmt.Errorf("quote the base URL: %w", err)
	}
	return bytes.ReplaceAll(document, []byte(placeholder), quoted[1:len(quoted)-1]), nil
}

// Service serves the document.
type Service struct {
	BaseURL string // configured base URL, or ""
}

// ServeDocument returns the document with the service's base URL.
func (s *Service) ServeDocument(w http.ResponseWriter, r *http.Request) error {
	body, err := Document(httpapi.BaseURL(r, s.BaseURL))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, err = w.Write(body) //nolint:gosec // JSON, not HTML
	return err
}

// ServeUnknown refuses a request that no other handler accepts: 405 with Allow if the
// document has the path, else 404.
func (s *Service) ServeUnknown(_ http.ResponseWriter, r *http.Request) error {
	route, ok := Find(r.URL.Path)
	if !ok || slices.Contains(route.Methods, r.Method) {
		return httpapi.NotFound("not_found", "Unknown path. See /api/v1/openapi.json.")
	}
	allow := strings.Join(route.Methods, ", ")
	return &httpapi.Problem{
		Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Detail: "This path accepts only " + allow + ".",
		Header: http.Header{"Allow": {allow}},
	}
}

// Route is a path of the document.
type Route struct {
	Template string   // as in the document, with {name} for a parameter
	Methods  []string // sorted; HEAD is included with GET
	Params   map[string]string
}

// Find returns the route of a request path. If several match, it returns the one with
// the fewest parameters.
func Find(path string) (found Route, ok bool) {
	for template, methods := range paths() {
		params, matches := match(template, path)
		if matches && (!ok || len(params) < len(found.Params)) {
			found, ok = Route{template, methods, params}, true
		}
	}
	return found, ok
}

func match(template, path string) (params map[string]string, ok bool) {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	params = map[string]string{}
	for i, segment := range want {
		if name, ok := strings.CutPrefix(segment, "{"); ok && got[i] != "" {
			params[strings.TrimSuffix(name, "}")] = got[i]
		} else if segment != got[i] {
			return nil, false
		}
	}
	return params, true
}

var paths = sync.OnceValue(func() map[string][]string {
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		panic(err) // the document is embedded in the binary
	}
	all := make(map[string][]string, len(d.Paths))
	for template, operations := range d.Paths {
		for method := range operations {
			all[template] = append(all[template], strings.ToUpper(method))
			if method == "get" {
				all[template] = append(all[template], http.MethodHead)
			}
		}
		slices.Sort(all[template])
	}
	return all
})
