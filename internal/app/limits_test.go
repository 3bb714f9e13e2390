package app_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"campaign-dispatch/internal/httpapi/openapi"
)

// routeWords are the words for routes in the text that their 429s share, by the last part of the path that has a word.
var routeWords = map[string]string{
	"campaigns": "reading a campaign", "messages": "messages", "events": "events", "exports": "exports",
	"cancel": "cancelling", "pause": "pausing", "resume": "resuming", "reschedule": "rescheduling",
	"templates": "templates", "lists": "lists", "error-files": "error files", "export-files": "files of exports",
	"jwks.json": "keys", "oauth-authorization-server": "metadata", "openapi.json": "the openapi document",
}

// The OpenAPI document publishes the limit of each route with its 429.
func TestTemplate_PublishedRouteLimits(t *testing.T) {
	t.Parallel()
	text, err := openapi.Document("https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			answer := operation.Responses.Value("429")
			published := *answer.Value.Description
			rate, burst := routeLimit(t, method+" "+path)
			limit := regexp.MustCompile(`[^.]*\b` + rate + ` (requests )?a second, in bursts of up to ` + burst + `\b`).FindString(published)
			if limit == "" {
				t.Errorf("%s %s has the limits %s and %s, published is %q", method, path, rate, burst, published)
			}
			if shared := strings.HasSuffix(answer.Ref, "/Throttled"); shared && !strings.Contains(strings.ToLower(limit), routeWord(path)) {
				t.Errorf("%s %s is not among the routes of the limit %q", method, path, limit)
			}
		}
	}
}

// routeWord returns the word for a route, or its path.
func routeWord(path string) string {
	for _, part := range slices.Backward(strings.Split(path, "/")) {
		if word, ok := routeWords[part]; ok {
			return word
		}
	}
	return path
}

// docs/api.md publishes the limits that depend on Load, and the OpenAPI document that of dispatch calls.
func TestTemplate_PublishedLimitsOfLoads(t *testing.T) {
	t.Parallel()
	document, err := openapi.Document("https://api.example.com")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(read(t, "docs/api.md"), ",", "") // also those of numbers
	loads := section(t, "Mappings")["Loads"]
	limit := func(load, route, between string) string {
		values := member(loads, load)
		return value(member(values, route+"Rate")) + between + value(member(values, route+"Burst"))
	}
	usual := value(member(section(t, "Parameters")["Load"], "Default"))
	if want := "| " + limit(usual, "Link", " calls of `GET /l/{token}` a second burst ") + "."; !strings.Contains(page, want) {
		t.Errorf("docs/api.md does not contain %q", want)
	}
	for i := 0; i < len(loads.Content); i += 2 {
		load := loads.Content[i].Value
		for _, route := range []string{"Dispatch", "Link"} {
			if limit(load, route, "/") == limit(usual, route, "/") {
				continue
			}
			if want := "With `Load=" + load + "` these are " + limit(load, route, " and ") + "."; !strings.Contains(page, want) {
				t.Errorf("docs/api.md does not contain %q", want)
			}
			want := "or " + limit(load, route, " and ") + " if the operator deployed with `Load=" + load + "`"
			if route == "Dispatch" && !strings.Contains(string(document), want) {
				t.Errorf("the OpenAPI document does not contain %q", want)
			}
		}
	}
}

// docs/api.md publishes the limit of dispatch calls that staging and production have.
func TestTemplate_PublishedDispatchLimit(t *testing.T) {
	t.Parallel()
	page, settings := read(t, "docs/api.md"), read(t, "samconfig.toml")
	limit := func(environment string) string {
		_, own, _ := strings.Cut(settings, "\n["+environment+".deploy.parameters]")
		load := regexp.MustCompile(`"Load=(\w+)"`).FindStringSubmatch(own)
		if load == nil {
			t.Fatalf("samconfig.toml has no Load of %s", environment)
		}
		values := member(section(t, "Mappings")["Loads"], load[1])
		return value(member(values, "DispatchRate")) + " dispatch calls a second, burst " + value(member(values, "DispatchBurst"))
	}
	for _, environment := range []string{"staging", "production"} {
		if want := "Staging and production have " + limit(environment) + "."; !strings.Contains(page, want) {
			t.Errorf("docs/api.md does not contain %q, the limit of %s", want, environment)
		}
	}
}

// trees are paths. One route serves all paths and methods below each.
var trees = []string{"/api/v1/external/templates", "/api/v1/external/lists"}

// routeLimit returns the rate and the burst of a route.
func routeLimit(t *testing.T, route string) (rate, burst string) {
	t.Helper()
	api := member(section(t, "Resources")["Api"], "Properties")
	settings := member(api, "RouteSettings")
	limit := member(settings, route)
	if _, path, _ := strings.Cut(route, " "); limit == nil {
		for _, tree := range trees {
			if below, ok := strings.CutPrefix(path, tree); ok && below != "" {
				path = tree + "/{proxy+}"
			}
		}
		limit = member(settings, "ANY "+path)
	}
	if limit == nil {
		limit = member(api, "DefaultRouteSettings")
	}
	number := func(name string) string {
		found := member(limit, name)
		if found.Tag == "!FindInMap" { // of the default load
			load := value(member(section(t, "Parameters")["Load"], "Default"))
			return value(member(member(section(t, "Mappings")["Loads"], load), found.Content[2].Value))
		}
		v := value(found)
		if parameter, ok := strings.CutPrefix(v, "!Ref "); ok {
			return value(member(section(t, "Parameters")[parameter], "Default"))
		}
		return v
	}
	return number("ThrottlingRateLimit"), number("ThrottlingBurstLimit")
}
