// Package template expands the loops of CloudFormation templates as the transform AWS::LanguageExtensions does.
package template

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

const forEach = "Fn::ForEach::"

// Read returns the expanded template of a file.
func Read(path string) ([]byte, error) {
	source, err := os.ReadFile(path) //nolint:gosec // a file of the project
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	return Expand(source)
}

// Decode decodes the expanded template of a file into a value.
func Decode(path string, into any) error {
	text, err := Read(path)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// Expand returns the template with each loop replaced by its members. References and
// mapping lookups that become literal in a loop are resolved.
func Expand(source []byte) ([]byte, error) {
	var document struct {
		Mappings map[string]map[string]map[string]yaml.Node `yaml:"Mappings"`
	}
	var root yaml.Node
	if err := errors.Join(yaml.Unmarshal(source, &document), yaml.Unmarshal(source, &root)); err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	expanded, err := expansion{mappings: document.Mappings}.expand(&root)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(expanded)
	if err != nil {
		return nil, fmt.Errorf("write the expanded template: %w", err)
	}
	return text, nil
}

// expansion is the context of a node: the template's mappings and the enclosing loops.
type expansion struct {
	mappings map[string]map[string]map[string]yaml.Node
	items    map[string]string // current item of each enclosing loop, by identifier
}

func (e expansion) expand(node *yaml.Node) (*yaml.Node, error) {
	expanded := *node
	expanded.Content = nil
	for i := 0; i < len(node.Content); i++ {
		child := node.Content[i]
		if node.Kind == yaml.MappingNode && strings.HasPrefix(child.Value, forEach) {
			i++ // the next node is the key's value
			members, err := e.loop(node.Content[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", child.Value, err)
			}
			expanded.Content = append(expanded.Content, members...)
			continue
		}
		copied, err := e.expand(child)
		if err != nil {
			return nil, err
		}
		expanded.Content = append(expanded.Content, copied)
	}
	return e.resolve(&expanded), nil
}

// loop returns the keys and values that a loop generates.
func (e expansion) loop(node *yaml.Node) (members []*yaml.Node, err error) {
	if node.Kind != yaml.SequenceNode || len(node.Content) != 3 || node.Content[2].Kind != yaml.MappingNode {
		return nil, errors.New("want an identifier, a collection and a mapping")
	}
	for _, item := range node.Content[1].Content {
		fragment, err := e.with(node.Content[0].Value, item.Value).expand(node.Content[2])
		if err != nil {
			return nil, err
		}
		members = append(members, fragment.Content...)
	}
	return members, nil
}

func (e expansion) with(identifier, item string) expansion {
	items := map[string]string{}
	maps.Copy(items, e.items)
	items[identifier] = item
	return expansion{e.mappings, items}
}

// resolve returns the node, or its value if it is a function with literal arguments
// inside a loop. The node's children are already resolved.
func (e expansion) resolve(node *yaml.Node) *yaml.Node {
	arguments := len(node.Content)
	switch {
	case len(e.items) == 0:
		return node
	case node.Tag == "!Ref" && arguments == 2: // Fn::Sub and its text
		return scalar("!Ref", node.Content[1].Value)
	case node.Tag == "!Ref" && e.items[node.Value] != "":
		return scalar("!!str", e.items[node.Value])
	case node.Tag == "!GetAtt" && arguments == 2:
		return scalar("!GetAtt", node.Content[0].Value+"."+node.Content[1].Value)
	case node.Tag == "!FindInMap" && arguments == 3:
		return e.find(node)
	case node.Tag == "!Sub" && arguments == 2:
		return fill(node)
	case node.Kind == yaml.ScalarNode:
		return e.substitute(node)
	}
	return node
}

// substitute replaces the identifiers of loops in a text. A !Sub without other variables becomes a string.
func (e expansion) substitute(node *yaml.Node) *yaml.Node {
	for identifier, item := range e.items {
		node.Value = strings.ReplaceAll(node.Value, "${"+identifier+"}", item)
	}
	if node.Tag == "!Sub" && !strings.Contains(node.Value, "${") {
		return scalar("!!str", node.Value)
	}
	return node
}

// find returns the value of a mapping, or the lookup itself if a key is not literal.
func (e expansion) find(lookup *yaml.Node) *yaml.Node {
	for _, key := range lookup.Content {
		if key.Tag != "!!str" {
			return lookup
		}
	}
	found, ok := e.mappings[lookup.Content[0].Value][lookup.Content[1].Value][lookup.Content[2].Value]
	if !ok {
		return lookup
	}
	return &found
}

// fill returns a !Sub with its literal variables replaced in the text.
func fill(sub *yaml.Node) *yaml.Node {
	text, variables := sub.Content[0].Value, sub.Content[1].Content
	for i := 0; i+1 < len(variables); i += 2 {
		if variables[i+1].Tag != "!!str" {
			return sub
		}
		text = strings.ReplaceAll(text, "${"+variables[i].Value+"}", variables[i+1].Value)
	}
	return scalar("!Sub", text)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}
