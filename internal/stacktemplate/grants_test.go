package stacktemplate_test

import (
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// grant is a statement of a role.
type grant struct {
	Actions   yaml.Node `yaml:"Action"`
	Resource  yaml.Node `yaml:"Resource"`
	Condition struct {
		Keys struct {
			Leading []string `yaml:"dynamodb:LeadingKeys"`
		} `yaml:"ForAllValues:StringLike"`
	} `yaml:"Condition"`
}

// grants returns what a role of the template may do.
func grants(t *testing.T, role string) []grant {
	t.Helper()
	var policies []struct {
		Document struct {
			Statement []grant `yaml:"Statement"`
		} `yaml:"PolicyDocument"`
	}
	found := resources(t)[role]
	if err := found.Properties.Policies.Decode(&policies); err != nil || len(policies) == 0 {
		t.Fatalf("read the role %s: %v", role, err)
	}
	return policies[0].Document.Statement
}

// Whoever breaks into the pages for people must not make access tokens for the API.
func TestEachKeySignsForOneFunction(t *testing.T) {
	t.Parallel()
	signers := map[string][]string{}
	for name, r := range resources(t) {
		if r.Type != "AWS::IAM::Role" || name == "ScheduleRole" {
			continue
		}
		for _, g := range grants(t, name) {
			if slices.Contains(texts(g.Actions), "kms:Sign") {
				key, _, _ := strings.Cut(g.Resource.Value, ".")
				signers[key] = append(signers[key], name)
			}
		}
	}
	for key, role := range map[string]string{"SigningKey": "TokenRole", "SessionKey": "DashboardRole"} {
		if !slices.Equal(signers[key], []string{role}) {
			t.Errorf("%s is used to sign by %q, want %s alone", key, signers[key], role)
		}
	}
}

// The pages read how often a client asks for tokens, and must not change it.
func TestTheDashboardLeavesRateLimitsAlone(t *testing.T) {
	t.Parallel()
	read := false
	for _, g := range grants(t, "DashboardRole") {
		if !slices.Contains(g.Condition.Keys.Leading, "RATE#*") {
			continue
		}
		read = true
		if actions := texts(g.Actions); !slices.Equal(actions, []string{"dynamodb:BatchGetItem"}) {
			t.Errorf("it may %q of rate limits", actions)
		}
	}
	if !read {
		t.Error("it may not read when credentials were used last")
	}
}

// The dispatch function counts calls in the table of credentials, and must change
// no credential.
func TestTheDispatchFunctionChangesNoCredential(t *testing.T) {
	t.Parallel()
	counts := false
	for _, g := range grants(t, "DispatchRole") {
		if !strings.Contains(strings.Join(texts(g.Resource), " "), "AuthTable") || slices.Equal(texts(g.Actions), []string{"dynamodb:BatchGetItem"}) {
			continue
		}
		counts = true
		if !slices.Equal(texts(g.Actions), []string{"dynamodb:UpdateItem"}) || !slices.Equal(g.Condition.Keys.Leading, []string{"CALLS#*"}) {
			t.Errorf("it may %q of %q", texts(g.Actions), g.Condition.Keys.Leading)
		}
	}
	if !counts {
		t.Error("it may not count calls")
	}
}
