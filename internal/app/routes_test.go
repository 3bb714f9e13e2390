package app_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// The API's body repeats each route. A route that is only in the body may not call its
// function, and `sam local` does not find it.
func TestTemplate_RoutesAreEvents(t *testing.T) {
	t.Parallel()
	events := map[string]string{}
	for name, r := range section(t, "Resources") {
		if member(r, "Type").Value == "AWS::Serverless::Function" {
			addEventRoutes(t, events, name, member(member(r, "Properties"), "Events"))
		}
	}
	if diff := cmp.Diff(events, bodyRoutes(t)); diff != "" {
		t.Errorf("the functions' events and the API's body differ (-events +body):\n%s", diff)
	}
	if len(events) == 0 {
		t.Error("there are no routes")
	}
}

func TestTemplate_RoutesCallAliases(t *testing.T) {
	t.Parallel()
	alias := value(member(section(t, "Globals")["Function"], "AutoPublishAlias"))
	variables := member(member(section(t, "Resources")["Api"], "Properties"), "StageVariables")
	for route, function := range bodyRoutes(t) {
		if got, want := value(member(variables, function)), "!Sub ${"+function+"}:"+alias; got != want {
			t.Errorf("%s calls %q, want %q", route, got, want)
		}
	}
}

// addEventRoutes adds the functions of routes by the routes' keys.
func addEventRoutes(t *testing.T, routes map[string]string, function string, events *yaml.Node) {
	t.Helper()
	if events == nil {
		return
	}
	for _, event := range events.Content {
		if value(member(event, "Type")) != "HttpApi" {
			continue
		}
		key, p := "$default", member(event, "Properties")
		if path := value(member(p, "Path")); path != "" {
			key = value(member(p, "Method")) + " " + path
		}
		if routes[key] != "" {
			t.Errorf("%s is a route of two functions", key)
		}
		routes[key] = function
	}
}

// bodyRoutes returns the functions that the API's body names, by the routes' keys.
func bodyRoutes(t *testing.T) map[string]string {
	t.Helper()
	called := regexp.MustCompile(`^\$\{stageVariables\.(\w+)\}/invocations$`)
	paths := member(member(member(section(t, "Resources")["Api"], "Properties"), "DefinitionBody"), "paths")
	routes := map[string]string{}
	for i := 0; i+1 < len(paths.Content); i += 2 {
		methods := paths.Content[i+1].Content
		for j := 0; j+1 < len(methods); j += 2 {
			uri := member(member(methods[j+1], "x-amazon-apigateway-integration"), "uri")
			function := called.FindStringSubmatch(lastPart(uri))
			if function == nil {
				t.Errorf("%s: the URI ends with %q, want a variable of the stage that names a function", paths.Content[i].Value, lastPart(uri))
				continue
			}
			routes[bodyRouteKey(paths.Content[i].Value, methods[j].Value)] = function[1]
		}
	}
	return routes
}

// lastPart returns the last of the texts that a !Join joins. A !Sub would replace a
// stage variable in it, or need an escape that a transform before SAM may remove.
func lastPart(join *yaml.Node) string {
	if join == nil || join.Tag != "!Join" || len(join.Content) != 2 || len(join.Content[1].Content) == 0 {
		return ""
	}
	parts := join.Content[1].Content
	return value(parts[len(parts)-1])
}

func bodyRouteKey(path, method string) string {
	switch {
	case path == "$default":
		return path
	case method == "x-amazon-apigateway-any-method":
		return "ANY " + path
	default:
		return strings.ToUpper(method) + " " + path
	}
}
