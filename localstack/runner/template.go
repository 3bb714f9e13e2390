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

// packageFunction changes a resource if it is a function, and adds its routes to the
// resources.
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
