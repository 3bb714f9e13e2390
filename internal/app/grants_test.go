package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// grant is a statement of a role.
type grant struct {
	Sid       string    `yaml:"Sid"`
	Actions   yaml.Node `yaml:"Action"`
	Resource  yaml.Node `yaml:"Resource"`
	Condition struct {
		Keys struct {
			Leading []string `yaml:"dynamodb:LeadingKeys"`
		} `yaml:"ForAllValues:StringLike"`
		Before struct {
			CurrentTime yaml.Node `yaml:"aws:CurrentTime"`
		} `yaml:"DateLessThan"`
	} `yaml:"Condition"`
}

// statements are those of a policy, with those that a condition of the template adds.
type statements []grant

func (s *statements) UnmarshalYAML(list *yaml.Node) error {
	for _, node := range list.Content {
		if node.Tag == "!If" {
			node = node.Content[1]
		}
		var g grant
		if err := node.Decode(&g); err != nil {
			return err
		}
		*s = append(*s, g)
	}
	return nil
}

// grants returns what a role of the template may do.
func grants(t *testing.T, role string) []grant {
	t.Helper()
	var policies []struct {
		Document struct {
			Statement statements `yaml:"Statement"`
		} `yaml:"PolicyDocument"`
	}
	found := resources(t)[role]
	if err := found.Properties.Policies.Decode(&policies); err != nil || len(policies) == 0 {
		t.Fatalf("read the role %s: %v", role, err)
	}
	return policies[0].Document.Statement
}

// A compromised dashboard function must not be able to sign access tokens for the API.
func TestTemplate_KeysSignForOneFunction(t *testing.T) {
	t.Parallel()
	signers := map[string][]string{}
	for name, r := range resources(t) {
		if r.Type != "AWS::IAM::Role" || name == "ScheduleRole" || name == "BackupRole" {
			continue
		}
		for _, g := range grants(t, name) {
			if !slices.Contains(texts(g.Actions), "kms:Sign") {
				continue
			}
			for _, key := range attributes(&g.Resource) {
				signers[key] = append(signers[key], name)
			}
		}
	}
	for key, role := range map[string]string{
		"SigningKey": "TokenRole", "SigningKeyB": "TokenRole", "SessionKey": "DashboardRole", "SessionKeyB": "DashboardRole",
	} {
		if !slices.Equal(slices.Compact(signers[key]), []string{role}) {
			t.Errorf("%s is used to sign by %q, want %s alone", key, signers[key], role)
		}
	}
}

// attributes are the resources whose attributes a value names.
func attributes(node *yaml.Node) (names []string) {
	if node.Tag == "!GetAtt" {
		name, _, _ := strings.Cut(node.Value, ".")
		return []string{name}
	}
	for _, child := range node.Content {
		names = append(names, attributes(child)...)
	}
	return names
}

// While the keys change, the version before signs with the previous key for as long as
// it has calls, which is before the switch.
func TestTemplate_PreviousKeySigns(t *testing.T) {
	t.Parallel()
	for role, key := range map[string]string{"TokenRole": "SigningKey", "DashboardRole": "SessionKey"} {
		var got []string
		for _, g := range grants(t, role) {
			if slices.Contains(texts(g.Actions), "kms:Sign") {
				got = append(got, strings.TrimSpace(strings.Join(attributes(&g.Resource), " else ")+" "+value(&g.Condition.Before.CurrentTime)))
			}
		}
		want := []string{key + " else " + key + "B", key + "B else " + key + " !Ref SigningKeysSwitchAt"}
		if !slices.Equal(got, want) {
			t.Errorf("%s signs with %q, want %q", role, got, want)
		}
	}
}

// The dashboard reads the last token requests of clients, and must not change rate
// limits.
func TestTemplate_DashboardAndRateLimits(t *testing.T) {
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

// The dispatch function counts calls in the table of credentials, and must not change
// credentials.
func TestTemplate_DispatchAndCredentials(t *testing.T) {
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

// The campaigns function writes campaigns, their pauses, budgets, templates, the audit log and exports. It must
// not change webhook endpoints, prices or agents.
func TestTemplate_CampaignsWrites(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"dynamodb:UpdateItem":         {"C#*", "N#*", "BUDGET#*", "PAUSE#campaigns#*", "RESUMED"},
		"dynamodb:PutItem":            {"T#*", "TEMPLATES#*", "LISTS#*", "AUDIT#*", "EXPORT#*", "EXPORTS#*"},
		"dynamodb:ConditionCheckItem": {"TEN#*"},
	}
	reads := []string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}
	got := map[string][]string{}
	for _, g := range grants(t, "CampaignsRole") {
		for _, action := range texts(g.Actions) {
			if strings.HasPrefix(action, "dynamodb:") && !slices.Contains(reads, action) {
				got[action] = append(got[action], g.Condition.Keys.Leading...)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}
