package runner

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// httpEvent is an event of a function in the template. Without a path it is the
// default route.
type httpEvent struct {
	Type       string `yaml:"Type"`
	Properties struct {
		API    yaml.Node `yaml:"ApiId"`
		Path   string    `yaml:"Path"`
		Method string    `yaml:"Method"`
	} `yaml:"Properties"`
}

func (e httpEvent) routeKey() string {
	if e.Properties.Path == "" {
		return "$default"
	}
	return strings.ToUpper(e.Properties.Method) + " " + e.Properties.Path
}

// addRoutes adds the routes and the integration of a function's HttpApi events as
// resources. AWS creates them from the body of the API, which the emulator ignores.
func addRoutes(resources *yaml.Node, function string, properties *yaml.Node) error {
	events := member(properties, "Events")
	if events == nil {
		return nil
	}
	integrated := false
	for i := 0; i+1 < len(events.Content); i += 2 {
		var event httpEvent
		if err := events.Content[i+1].Decode(&event); err != nil {
			return fmt.Errorf("read the event %s: %w", events.Content[i].Value, err)
		}
		if event.Type != "HttpApi" {
			continue
		}
		if !integrated {
			integrated = true
			if err := addResource(resources, function+"Integration", integration(event, function)); err != nil {
				return err
			}
		}
		if err := addResource(resources, function+events.Content[i].Value+"Route", route(event, function)); err != nil {
			return err
		}
	}
	return nil
}

func integration(event httpEvent, function string) any {
	return map[string]any{
		"Type": "AWS::ApiGatewayV2::Integration",
		"Properties": map[string]any{
			"ApiId":                &event.Properties.API,
			"IntegrationType":      "AWS_PROXY",
			"IntegrationUri":       map[string]string{"Ref": function + ".Alias"},
			"PayloadFormatVersion": "2.0",
		},
	}
}

func route(event httpEvent, function string) any {
	return map[string]any{
		"Type": "AWS::ApiGatewayV2::Route",
		"Properties": map[string]any{
			"ApiId":    &event.Properties.API,
			"RouteKey": event.routeKey(),
			"Target":   map[string]string{"Fn::Sub": "integrations/${" + function + "Integration}"},
		},
	}
}

func addResource(resources *yaml.Node, name string, resource any) error {
	if member(resources, name) != nil {
		return fmt.Errorf("%s: a generated route already has this name", name)
	}
	key, value := new(yaml.Node), new(yaml.Node)
	key.SetString(name)
	if err := value.Encode(resource); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	resources.Content = append(resources.Content, key, value)
	return nil
}
