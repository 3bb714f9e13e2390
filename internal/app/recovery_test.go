package app_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// definitions returns the resources of the template as they are written.
func definitions(t *testing.T) map[string]definition {
	t.Helper()
	var stack struct {
		Resources map[string]definition `yaml:"Resources"`
	}
	text, err := expand()
	if err == nil {
		err = yaml.Unmarshal(text, &stack)
	}
	if err != nil {
		t.Fatalf("read template.yaml: %v", err)
	}
	return stack.Resources
}

type definition struct {
	Type       string    `yaml:"Type"`
	Condition  string    `yaml:"Condition"`
	Deletion   string    `yaml:"DeletionPolicy"`
	Properties yaml.Node `yaml:"Properties"`
}

// A table or a bucket that is added to the template is copied too.
func TestTemplate_CopiesAllData(t *testing.T) {
	t.Parallel()
	all := definitions(t)
	selection := all["BackupSelection"]
	copied := strings.Join(attributes(&selection.Properties), " ")
	for name, r := range all {
		switch {
		case r.Type == "AWS::DynamoDB::Table" || r.Type == "AWS::S3::Bucket":
			if !strings.Contains(" "+copied+" ", " "+name+" ") {
				t.Errorf("%s is not copied to the second account", name)
			}
		case r.Type == "AWS::Backup::BackupVault": // a failed first deployment and a change of the parameter must not block its name
			if r.Condition != "OnAws" || r.Deletion != "RetainExceptOnCreate" {
				t.Errorf("%s: condition %s, deletion policy %s", name, r.Condition, r.Deletion)
			}
		case strings.HasPrefix(r.Type, "AWS::Backup::") && r.Condition != "CopiesBackups":
			t.Errorf("%s exists without the parameter", name)
		}
	}
}

// A copy starts within an hour, and one that fails is reported.
func TestTemplate_FailedCopies(t *testing.T) {
	t.Parallel()
	all := definitions(t)
	for name, wants := range map[string][]string{
		"BackupPlan": {"StartWindowMinutes 60"},
		"BackupFailuresRule": {
			"source aws.backup", "detail-type Backup Job State Change Copy Job State Change", "state FAILED ABORTED EXPIRED", "Arn TicketTopicArn",
		},
	} {
		properties := all[name].Properties
		got := strings.Join(words(&properties), " ")
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s, want %q in it", name, got, want)
			}
		}
	}
	if got := all["BackupFailuresRule"].Condition; got != "WatchesCopies" {
		t.Errorf("the rule has the condition %q", got)
	}
}

// words returns all names and values of a node.
func words(node *yaml.Node) (all []string) {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	for _, child := range node.Content {
		all = append(all, words(child)...)
	}
	return all
}

// In production a password alone opens no session.
func TestTemplate_SecondFactor(t *testing.T) {
	t.Parallel()
	var pool struct {
		MFA     yaml.Node `yaml:"MfaConfiguration"`
		Factors []string  `yaml:"EnabledMfas"`
	}
	found := definitions(t)["UserPool"]
	if err := found.Properties.Decode(&pool); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(texts(pool.MFA), " "); pool.MFA.Tag != "!If" || got != "InProduction ON OPTIONAL" {
		t.Errorf("the second factor is %q, want ON in production", got)
	}
	if len(pool.Factors) != 1 || pool.Factors[0] != "SOFTWARE_TOKEN_MFA" {
		t.Errorf("second factors: %q", pool.Factors)
	}
}
