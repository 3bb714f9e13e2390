package app_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// untagged are the types of the template that have no tags, or cost nothing.
var untagged = []string{
	"AWS::ApiGatewayV2::ApiMapping", "AWS::Backup::BackupSelection", "AWS::CloudFront::OriginAccessControl", "AWS::CloudWatch::Dashboard",
	"AWS::Cognito::UserPoolClient", "AWS::Cognito::UserPoolDomain", "AWS::Cognito::UserPoolGroup", "AWS::S3::BucketPolicy", "AWS::IAM::ManagedPolicy",
	"AWS::Events::Rule", // gets those of the stack
	"AWS::Logs::MetricFilter",
}

// Costs are divided by the tags service and environment. CloudFormation gives the tags of the stack to its resources, also to
// those that SAM adds. The tag of a resource must not differ.
func TestTemplate_Tags(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"staging", "production"} {
		_, own, _ := strings.Cut(read(t, "samconfig.toml"), "\n["+environment+".deploy.parameters]")
		own, _, _ = strings.Cut(own, "\n[")
		if tags := `tags = ["service=campaign-dispatch", "environment=` + environment + `"]`; !strings.Contains(own, "\n"+tags+"\n") {
			t.Errorf("samconfig.toml has not %s for %s", tags, environment)
		}
	}
	tagged := 0
	for name, r := range section(t, "Resources") {
		kind, properties := value(member(r, "Type")), member(r, "Properties")
		if slices.Contains(untagged, kind) || kind == "AWS::Serverless::Function" { // which has those of Globals
			continue
		}
		var service string
		for _, of := range []string{"Tags", "UserPoolTags", "BackupVaultTags", "BackupPlanTags"} {
			service = cmp.Or(service, serviceIn(member(properties, of)))
		}
		if service != "campaign-dispatch" {
			t.Errorf("%s of the type %s has the service %q", name, kind, service)
		}
		tagged++
	}
	if tagged < 50 {
		t.Errorf("%d resources, want more", tagged)
	}
}

// serviceIn returns the tag service of a mapping, or of a list of keys and values.
func serviceIn(tags *yaml.Node) string {
	if tags == nil {
		return ""
	}
	for _, tag := range tags.Content {
		if value(member(tag, "Key")) == "service" {
			return value(member(tag, "Value"))
		}
	}
	return value(member(tags, "service"))
}
