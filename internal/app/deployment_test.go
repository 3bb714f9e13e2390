package app_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"campaign-dispatch/internal/aws/dynamo"
)

// A caller that bypasses an alias would get a new version at once, and keep it after a
// rollback. SAM puts a function's events and URL on the alias, except those of the API:
// see routes_test.go.
func TestTemplate_CallersUseAliases(t *testing.T) {
	t.Parallel()
	for name, r := range section(t, "Resources") {
		switch member(r, "Type").Value {
		case "AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Route", "AWS::Lambda::Permission",
			"AWS::Lambda::EventSourceMapping", "AWS::Lambda::Url", "AWS::Events::Rule", "AWS::Scheduler::Schedule":
			if name != "BackupFailuresRule" { // which calls no function
				t.Errorf("%s: let it be an event or the URL of its function, which SAM puts on the alias", name)
			}
		}
	}
}

func TestTemplate_DeploymentsRollBack(t *testing.T) {
	t.Parallel()
	for name, r := range section(t, "Resources") {
		if member(r, "Type").Value != "AWS::Serverless::Function" {
			continue
		}
		p := member(r, "Properties")
		if got := value(member(p, "AutoPublishCodeSha256")); got != "!Ref Release" {
			t.Errorf("%s gets a new version by %q, want !Ref Release: SAM sees no change of parameters", name, got)
		}
		preference := member(p, "DeploymentPreference")
		if member(p, "AutoPublishAlias") != nil || member(preference, "Enabled") != nil || member(preference, "Type") != nil {
			t.Errorf("%s is deployed in a way of its own", name)
		}
		undo := refs(member(preference, "Alarms"))
		for _, alarm := range []string{strings.TrimSuffix(name, "Function") + "FailuresAlarm", "ApiErrorsAlarm", "EventsErrorsAlarm"} {
			if !slices.Contains(undo, alarm) {
				t.Errorf("%s does not undo a deployment of %s", alarm, name)
			}
			checkFast(t, alarm)
		}
	}
	function := section(t, "Globals")["Function"]
	if value(member(function, "AutoPublishAlias")) == "" || value(member(member(function, "DeploymentPreference"), "Enabled")) != "!Ref GradualDeployment" {
		t.Error("functions have no alias that is moved gradually")
	}
}

// checkFast checks that an alarm fires within the steps of a deployment and not without calls.
// TestTemplate_AlarmsOnShares in localstack/lab/prove has its threshold.
func checkFast(t *testing.T, name string) {
	t.Helper()
	alarm := member(section(t, "Resources")[name], "Properties")
	if value(member(alarm, "TreatMissingData")) != "notBreaching" || value(member(alarm, "EvaluationPeriods")) != "1" {
		t.Errorf("%s does not roll back a deployment after one period", name)
	}
	periods := all(alarm, "Period")
	if len(periods) == 0 {
		t.Errorf("%s has no period", name)
	}
	for _, period := range periods {
		if value(period) != "60" {
			t.Errorf("%s has a period of %s s, want 60", name, value(period))
		}
	}
}

// A function or an alarm that names a table directly would not switch to a restored
// table. Roles cover both names.
func TestTemplate_RestoredTables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"Auth", "Campaigns", "Outcomes", "Webhooks"} {
		used := regexp.MustCompile(fmt.Sprintf(`(!Ref |!GetAtt |\$\{)%sTable\b`, table))
		stands := fmt.Sprintf("!If [%sRestored, ", table)
		uses := 0
		for n, line := range strings.Split(string(text), "\n") {
			if !used.MatchString(line) {
				continue
			}
			if uses++; !strings.Contains(line, stands) && !strings.Contains(line, fmt.Sprintf("${%sTable.Arn}-at-????????T??????Z", table)) {
				t.Errorf("line %d uses %sTable instead of its replacement: %s", n+1, table, strings.TrimSpace(line))
			}
		}
		if uses == 0 {
			t.Errorf("nothing uses %sTable", table)
		}
	}
}

// section returns the members of a section of the template.
func section(t *testing.T, name string) map[string]*yaml.Node {
	t.Helper()
	var document map[string]yaml.Node
	if err := yaml.Unmarshal(expanded(t), &document); err != nil {
		t.Fatal(err)
	}
	members := map[string]*yaml.Node{}
	content := document[name].Content
	for i := 0; i+1 < len(content); i += 2 {
		members[content[i].Value] = content[i+1]
	}
	return members
}

// member returns the value of a mapping's key, or nil.
func member(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// all returns the values of a key in a mapping and in the mappings inside it.
func all(node *yaml.Node, key string) (values []*yaml.Node) {
	if found := member(node, key); found != nil {
		values = append(values, found)
	}
	for _, child := range node.Content {
		values = append(values, all(child, key)...)
	}
	return values
}

// value is a scalar with its tag, as it is written.
func value(node *yaml.Node) string {
	if node == nil {
		return ""
	}
	if strings.HasPrefix(node.Tag, "!!") {
		return node.Value
	}
	return node.Tag + " " + node.Value
}

// refs are the names that a value refers to.
func refs(node *yaml.Node) (names []string) {
	if node == nil {
		return nil
	}
	if node.Tag == "!Ref" {
		return []string{node.Value}
	}
	for _, child := range node.Content {
		names = append(names, refs(child)...)
	}
	return names
}

// A failing record must not block the stream, and must not be dropped silently.
func TestStreamOfOutcomes_FailsInParts(t *testing.T) {
	t.Parallel()
	mapping := member(member(member(member(section(t, "Resources")["FeedFunction"], "Properties"), "Events"), "Recorded"), "Properties")
	pattern := value(member(member(member(mapping, "FilterCriteria"), "Filters").Content[0], "Pattern"))
	if pattern != dynamo.StreamFilter {
		t.Errorf("records are filtered by %s, want %s", pattern, dynamo.StreamFilter)
	}
	age, err := strconv.Atoi(value(member(mapping, "MaximumRecordAgeInSeconds")))
	if err != nil || age <= 3600 || age > 6*3600 {
		t.Errorf("a record is tried for %d s: want longer than the alarm of an hour waits, and a part of the stream's 24 hours", age)
	}
	for name, want := range map[string]string{
		"StartingPosition": "TRIM_HORIZON", "BisectBatchOnFunctionError": "true", "MaximumRetryAttempts": "10000",
	} {
		if got := value(member(mapping, name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if to := value(member(member(member(mapping, "DestinationConfig"), "OnFailure"), "Destination")); to != "!GetAtt FeedDeadLetters.Arn" {
		t.Errorf("records that fail go to %q", to)
	}
}

// Each part of what is due is swept by a rule of its own.
func TestSweep_RulesOfAllParts(t *testing.T) {
	t.Parallel()
	parts := map[string]bool{}
	for _, rule := range member(member(section(t, "Resources")["SweepFunction"], "Properties"), "Events").Content {
		if input := member(member(rule, "Properties"), "Input"); input != nil {
			parts[input.Value] = true
		}
	}
	for part := range dynamo.DueSections {
		if input := fmt.Sprintf(`{"part":%d,"of":%d}`, part, dynamo.DueSections); !parts[input] {
			t.Errorf("no rule sweeps %s: %v", input, parts)
		}
	}
	const unused = `{"unusedSegments":true}`
	if len(parts) != dynamo.DueSections+1 || !parts[unused] {
		t.Errorf("%d rules, want %d and %s: %v", len(parts), dynamo.DueSections, unused, parts)
	}
}
