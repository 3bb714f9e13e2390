package app_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// The runbook says what each alarm means, whether it can wait until morning, what to do, and
// what makes the alarm green.
func TestRunbook_ListsEveryAlarm(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(alarms(t), slices.Sorted(maps.Keys(runbook(t)))); diff != "" {
		t.Errorf("alarms and the runbook's lines differ (-template +runbook):\n%s", diff)
	}
}

// Dead letters stay until a command moves or deletes them.
func TestRunbook_CommandsForDeadLetters(t *testing.T) {
	t.Parallel()
	for name, green := range runbook(t) {
		queue, ofDeadLetters := strings.CutSuffix(name, "DeadLettersAlarm")
		command := "`make redrive ENV=… QUEUE=" + strings.ToLower(queue) + "`"
		switch {
		case queue == "Outcomes": // outcomes reads the queue events
			command = "`make redrive ENV=… QUEUE=events`"
		case queue == "Feed":
			command = "`aws sqs purge-queue --queue-url` of `FeedDeadLettersUrl`"
		case !ofDeadLetters:
			command = "By itself, "
		}
		if !strings.Contains(green, command) {
			t.Errorf("%s: green by %q, want %q", name, green, command)
		}
	}
}

const alarmRow = "(?m)^\\| (`[A-Za-z]+Alarm`(?:, `[A-Za-z]+Alarm`)*) \\| [^|]+ \\| (?:Yes:|No:|No, unless )[^|]+ \\| [^|]+ \\| ([^|]+) \\|$"

// runbook returns what makes each alarm of the runbook green.
func runbook(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(root + "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Runbook\n")
	section, _, _ = strings.Cut(section, "\n## ")
	green := map[string]string{}
	for _, row := range regexp.MustCompile(alarmRow).FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			green[strings.Trim(name, "`")] = row[2]
		}
	}
	return green
}

func alarms(t *testing.T) []string {
	t.Helper()
	found := map[string]bool{}
	for name, r := range resources(t) {
		if r.Type == "AWS::CloudWatch::Alarm" {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Each queue and function has an alarm.
func TestTemplate_AlarmsOfQueuesAndFunctions(t *testing.T) {
	t.Parallel()
	watched := watchedMetrics(t)
	metrics := map[string][]string{
		"AWS::SQS::Queue":           {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"},
		"AWS::Serverless::Function": {"Errors", "Throttles"},
	}
	for name, r := range resources(t) {
		for _, metric := range metrics[r.Type] {
			if strings.HasSuffix(name, "DeadLetters") == (metric == "ApproximateAgeOfOldestMessage") && r.Type == "AWS::SQS::Queue" {
				continue // dead letters are not to be there, tasks not to be old
			}
			if !watched[metric+" of "+name] {
				t.Errorf("no alarm watches %s of %s", metric, name)
			}
		}
	}
}

// watchedMetrics returns the metrics of alarms, as metric of resource.
func watchedMetrics(t *testing.T) map[string]bool {
	t.Helper()
	watched := map[string]bool{}
	for _, r := range section(t, "Resources") {
		if value(member(r, "Type")) == "AWS::CloudWatch::Alarm" {
			addMetrics(watched, member(r, "Properties"))
		}
	}
	return watched
}

// addMetrics adds the metric of a mapping and of the mappings inside it.
func addMetrics(watched map[string]bool, node *yaml.Node) {
	if dimensions := member(node, "Dimensions"); dimensions != nil {
		of := value(member(dimensions.Content[0], "Value"))
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(of, "!Ref "), "!GetAtt "), ".")
		watched[value(member(node, "MetricName"))+" of "+name] = true
	}
	for _, child := range node.Content {
		addMetrics(watched, child)
	}
}

// Writes to an index cost extra, and the table's metric does not include them.
func TestCostAlarm_CountsEveryIndex(t *testing.T) {
	t.Parallel()
	var counted []string
	for _, query := range member(member(section(t, "Resources")["CostAlarm"], "Properties"), "Metrics").Content {
		metric := member(member(query, "MetricStat"), "Metric")
		dimensions, writes := member(metric, "Dimensions"), value(member(metric, "MetricName")) == "ConsumedWriteCapacityUnits"
		if dimensions != nil && writes && len(dimensions.Content) == 2 {
			counted = append(counted, value(member(dimensions.Content[1], "Value")))
		}
	}
	var indexes []string
	for _, index := range member(member(section(t, "Resources")["CampaignsTable"], "Properties"), "GlobalSecondaryIndexes").Content {
		indexes = append(indexes, value(member(index, "IndexName")))
	}
	if diff := cmp.Diff(indexes, counted); diff != "" {
		t.Errorf("indexes of the table and those that the alarm counts (-table +alarm):\n%s", diff)
	}
}

// CloudWatch allows at most ten metrics per alarm.
func TestAlarms_OfTenMetricsAtMost(t *testing.T) {
	t.Parallel()
	for name, r := range section(t, "Resources") {
		if metrics := member(member(r, "Properties"), "Metrics"); metrics != nil && len(metrics.Content) > 11 {
			t.Errorf("%s has %d metrics and an expression", name, len(metrics.Content)-1)
		}
	}
}

// Dashboards of all regions of an account share one namespace.
func TestDashboard_IsNamedByItsRegion(t *testing.T) {
	t.Parallel()
	name := value(member(member(section(t, "Resources")["ServiceDashboard"], "Properties"), "DashboardName"))
	if !strings.Contains(name, "${AWS::Region}") {
		t.Errorf("the dashboard is %s, want its region in the name", name)
	}
}
