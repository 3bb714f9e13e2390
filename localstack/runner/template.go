package runner

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

const templateFile = "template.yaml"

// artifacts is the bucket of the functions' packages.
const artifacts = "artifacts"

// packagedTemplate returns the project's template, packaged.
func packagedTemplate(packages []Package, parameters map[string]string) (string, error) {
	source, err := os.ReadFile(templateFile)
	if err != nil {
		return "", fmt.Errorf("read the template: %w", err)
	}
	return packaged(source, packages, parameters)
}

// packaged returns the template for the emulator. Each function's CodeUri is the
// address of its package, as after `sam package`. The routes of the HTTP API are
// resources. The parameters are defaults, because the emulator's transform ignores
// the values of the deployment.
func packaged(source []byte, packages []Package, parameters map[string]string) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		return "", fmt.Errorf("read %s: %w", templateFile, err)
	}
	if len(document.Content) == 0 {
		return "", fmt.Errorf("%s is empty", templateFile)
	}
	resources := member(document.Content[0], "Resources")
	if resources == nil {
		return "", fmt.Errorf("%s has no Resources", templateFile)
	}
	declared := resources.Content // without the routes that the loop adds
	for i := 0; i+1 < len(declared); i += 2 {
		if err := packageFunction(resources, declared[i].Value, declared[i+1], packages); err != nil {
			return "", fmt.Errorf("%s: %s: %w", templateFile, declared[i].Value, err)
		}
	}
	for name, value := range parameters {
		if fallback := member(member(member(document.Content[0], "Parameters"), name), "Default"); fallback != nil {
			fallback.SetString(value)
		}
	}
	text, err := yaml.Marshal(&document)
	if err != nil {
		return "", fmt.Errorf("write the packaged template: %w", err)
	}
	return string(text), nil
}

// packageFunction changes a resource if it is a function, and adds its routes to the resources.
func packageFunction(resources *yaml.Node, name string, resource *yaml.Node, packages []Package) error {
	if kind := member(resource, "Type"); kind == nil || kind.Value != "AWS::Serverless::Function" {
		return nil
	}
	properties := member(resource, "Properties")
	if err := pointToPackage(properties, packages); err != nil {
		return err
	}
	return addRoutes(resources, name, properties)
}

func pointToPackage(properties *yaml.Node, packages []Package) error {
	uri := member(properties, "CodeUri")
	if uri == nil {
		return errors.New("CodeUri is missing")
	}
	for _, p := range packages {
		if path.Clean(uri.Value) == path.Join("functions", p.Name) {
			uri.Value = "s3://" + artifacts + "/" + p.Key
			return nil
		}
	}
	return fmt.Errorf("no built function for CodeUri %s", uri.Value)
}

// member returns the value of a mapping's key, or nil.
func member(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// httpEvent is an event of a function in the template. Without a path it is the default route.
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
