package app_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"campaign-dispatch/internal/httpapi/openapi"
)

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
			published := *operation.Responses.Value("429").Value.Description
			rate, burst := routeLimit(t, method+" "+path)
			limit := regexp.MustCompile(`\b` + rate + ` (requests )?a second, in bursts of up to ` + burst + `\b`)
			if !limit.MatchString(published) {
				t.Errorf("%s %s has the limits %s and %s, published is %q", method, path, rate, burst, published)
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

const templatesPath = "/api/v1/external/templates"

// routeLimit returns the rate and the burst of a route.
func routeLimit(t *testing.T, route string) (rate, burst string) {
	t.Helper()
	api := member(section(t, "Resources")["Api"], "Properties")
	settings := member(api, "RouteSettings")
	limit := member(settings, route)
	if _, path, _ := strings.Cut(route, " "); limit == nil {
		// One route serves all paths and methods below this path.
		if below, ok := strings.CutPrefix(path, templatesPath); ok && below != "" {
			path = templatesPath + "/{proxy+}"
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
