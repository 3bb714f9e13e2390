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
		case strings.HasPrefix(r.Type, "AWS::Backup::") && r.Condition != "CopiesBackups":
			t.Errorf("%s exists without the parameter", name)
		}
	}
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
