package app_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// maxInlinePolicies is the quota of IAM for the characters of a role's inline policies, white
// space left out.
const maxInlinePolicies = 10_240

// IAM refuses a larger role only when the stack is deployed.
func TestTemplate_PolicySizes(t *testing.T) {
	t.Parallel()
	all := resources(t)
	checked := 0
	for name, r := range all {
		if r.Type != "AWS::IAM::Role" {
			continue
		}
		text, err := json.Marshal(deployed{all}.value(&r.Properties.Policies))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > maxInlinePolicies {
			t.Errorf("%s has policies of %d characters, want at most %d", name, len(text), maxInlinePolicies)
		}
		checked++
	}
	if checked == 0 {
		t.Error("template.yaml has no roles")
	}
}

// deployed replaces the references of the template with the longest values that they can have.
type deployed struct{ resources map[string]resource }

// variable matches the variables of a !Sub.
var variable = regexp.MustCompile(`\$\{[^}]+\}`)

// value returns a node as it is deployed, nil for !Ref AWS::NoValue.
func (d deployed) value(node *yaml.Node) any {
	switch {
	case node.Tag == "!If":
		return longest(d.value(node.Content[1]), d.value(node.Content[2]))
	case node.Tag == "!Sub":
		return variable.ReplaceAllStringFunc(node.Value, func(v string) string { return d.name(v[2 : len(v)-1]) })
	case node.Tag == "!Ref" && node.Value == "AWS::NoValue":
		return nil
	case node.Tag == "!Ref" || node.Tag == "!GetAtt":
		return d.name(node.Value)
	case node.Kind == yaml.SequenceNode:
		return d.list(node)
	case node.Kind == yaml.MappingNode:
		members := map[string]any{}
		for pair := range slices.Chunk(node.Content, 2) {
			members[pair[0].Value] = d.value(pair[1])
		}
		return members
	}
	return node.Value
}

func (d deployed) list(node *yaml.Node) (list []any) {
	for _, child := range node.Content {
		if v := d.value(child); v != nil {
			list = append(list, v)
		}
	}
	return list
}

func longest(a, b any) any {
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	if len(first) > len(second) {
		return a
	}
	return b
}

// name returns a reference's value. CloudFormation adds the stack's name and up to 13
// characters to the name of a resource.
func (d deployed) name(reference string) string {
	const (
		region, account = "ap-southeast-1", "123456789012"
		stack           = "campaign-dispatch-production"
	)
	id, attribute, _ := strings.Cut(reference, ".")
	r, ok := d.resources[id]
	switch {
	case id == "AWS::Region":
		return region
	case id == "AWS::AccountId":
		return account
	case id == "AWS::Partition":
		return "aws"
	case !ok:
		return strings.Repeat("p", 20) // a parameter, such as a time
	}
	name := stack + "-" + id + "-" + strings.Repeat("x", 13)
	if attribute != "Arn" {
		return name
	}
	kind := strings.Split(strings.ToLower(r.Type), "::")
	return "arn:aws:" + kind[1] + ":" + region + ":" + account + ":" + kind[2] + "/" + name
}
