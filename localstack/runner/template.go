package runner

import (
	"errors"
	"fmt"
	"os"
	"path"

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
	for i := 1; i < len(resources.Content); i += 2 {
		if err := pointToPackage(resources.Content[i], packages); err != nil {
			return "", fmt.Errorf("%s: %s: %w", templateFile, resources.Content[i-1].Value, err)
		}
	}
	if err := addRoutes(resources); err != nil {
		return "", fmt.Errorf("%s: %w", templateFile, err)
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

func pointToPackage(resource *yaml.Node, packages []Package) error {
	if !isFunction(resource) {
		return nil
	}
	uri := member(member(resource, "Properties"), "CodeUri")
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

func isFunction(resource *yaml.Node) bool {
	kind := member(resource, "Type")
	return kind != nil && kind.Value == "AWS::Serverless::Function"
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
