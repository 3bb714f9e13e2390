package app_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
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
	for name, row := range runbook(t) {
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
		if !strings.Contains(row.green, command) {
			t.Errorf("%s: green by %q, want %q", name, row.green, command)
		}
	}
}

// An alarm pages somebody at night if the runbook says so, and says when it is over. The others are tickets.
func TestTemplate_PagesAndTickets(t *testing.T) {
	t.Parallel()
	rows, mapped := runbook(t), section(t, "Mappings")["Pages"]
	topics := map[bool]string{true: "PageTopicArn", false: "TicketTopicArn"}
	for _, name := range alarms(t) {
		p, want := member(section(t, "Resources")[name], "Properties"), topics[rows[name].tonight]
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			if got := topicOf(t, member(p, actions), name); got != want {
				t.Errorf("%s of %s go to %q, want %q by \"Tonight?\" of the runbook", actions, name, got, want)
			}
		}
	}
	for i := 0; i < len(mapped.Content); i += 2 {
		if !slices.Contains(alarms(t), mapped.Content[i].Value) {
			t.Errorf("the mapping Pages has %s, which is no alarm", mapped.Content[i].Value)
		}
	}
}

// topicOf returns the topic that the actions of an alarm select:
// !If [HasTopics, [!Select [!FindInMap [Pages, alarm, Topic], topics]], !Ref AWS::NoValue].
func topicOf(t *testing.T, actions *yaml.Node, alarm string) string {
	t.Helper()
	if actions == nil || actions.Tag != "!If" || value(actions.Content[0]) != "HasTopics" || value(actions.Content[2]) != "!Ref AWS::NoValue" {
		return ""
	}
	choice := actions.Content[1].Content[0]
	index, topics := choice.Content[0], refs(choice.Content[1])
	if index.Tag == "!FindInMap" { // outside of loops
		if key := strings.Join(texts(*index), " "); key != "Pages "+alarm+" Topic" {
			return key
		}
		index = member(member(section(t, "Mappings")["Pages"], alarm), "Topic")
	}
	n, err := strconv.Atoi(value(index))
	if err != nil || choice.Tag != "!Select" || n >= len(topics) {
		return value(index)
	}
	return topics[n]
}

// Without a topic, nobody is told. CloudFormation refuses such a stack for production, and one topic without the other.
func TestTemplate_ProductionHasTopics(t *testing.T) {
	t.Parallel()
	rules := section(t, "Rules")
	rule := rules["ProductionTellsSomebody"]
	if got := strings.Join(words(member(rule, "RuleCondition")), " "); got != "Environment production" {
		t.Errorf("the rule is for %q, want production", got)
	}
	asserted := strings.Join(words(member(rule, "Assertions")), " ")
	for _, want := range []string{"Assert PageTopicArn  AssertDescription", "Assert BackupVaultArn  NoCopies no AssertDescription"} {
		if !strings.Contains(asserted, want) {
			t.Errorf("the rule asserts %q, want %q", asserted, want)
		}
	}
	if both := strings.Join(words(member(rules["AlarmsHaveBothTopics"], "Assertions")), " "); !strings.Contains(both, "TicketTopicArn") {
		t.Errorf("the topics are not asserted together: %q", both)
	}
}

// The alarms of limited calls are on routes that have a limit, and on the log lines of those. Each route with a limit of the load
// has one: such limits are for all tenants.
func TestTemplate_LimitedRoutes(t *testing.T) {
	t.Parallel()
	limits := member(member(section(t, "Resources")["Api"], "Properties"), "RouteSettings")
	routes := section(t, "Mappings")["Routes"]
	watched := map[string]bool{}
	for i := 0; i < len(routes.Content); i += 2 {
		name, key := routes.Content[i].Value, value(member(routes.Content[i+1], "Key"))
		watched[key] = true
		if member(limits, key) == nil {
			t.Errorf("%s: the route %q has no limit of its own", name, key)
		}
		pattern := value(member(member(section(t, "Resources")[name+"CallsFilter"], "Properties"), "FilterPattern"))
		if pattern != `{ $.routeKey = "`+key+`" }` {
			t.Errorf("%s: its calls are counted by %s", name, pattern)
		}
	}
	for i := 0; i < len(limits.Content); i += 2 {
		if key := limits.Content[i].Value; slices.Contains(words(limits.Content[i+1]), "Loads") && !watched[key] {
			t.Errorf("no alarm is on limited calls of %s", key)
		}
	}
	format := value(member(member(member(section(t, "Resources")["Api"], "Properties"), "AccessLogSettings"), "Format"))
	for _, field := range []string{"apiId", "routeKey", "status", "integrationStatus"} { // of the filters
		if !strings.Contains(format, `"`+field+`":"$context.`) {
			t.Errorf("the access log has no %s: %s", field, format)
		}
	}
}

// Each table has an alarm on the calls that DynamoDB throttles, of the table and of each index.
func TestTemplate_ThrottledTables(t *testing.T) {
	t.Parallel()
	for name, r := range section(t, "Resources") {
		if value(member(r, "Type")) != "AWS::DynamoDB::Table" {
			continue
		}
		want := []string{"ReadThrottleEvents", "WriteThrottleEvents"}
		if indexes := member(member(r, "Properties"), "GlobalSecondaryIndexes"); indexes != nil {
			for _, index := range indexes.Content {
				of := value(member(index, "IndexName"))
				want = append(want, "ReadThrottleEvents "+of, "WriteThrottleEvents "+of)
			}
		}
		var got []string
		for _, query := range member(member(section(t, "Resources")[strings.TrimSuffix(name, "Table")+"TableAlarm"], "Properties"), "Metrics").Content[1:] {
			metric := member(member(query, "MetricStat"), "Metric")
			dimensions := member(metric, "Dimensions").Content
			if !slices.Contains(refs(dimensions[0]), name) {
				t.Errorf("the alarm of %s is on another table", name)
			}
			of := value(member(metric, "MetricName"))
			if len(dimensions) > 1 {
				of += " " + value(member(dimensions[1], "Value"))
			}
			got = append(got, of)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what can be throttled of %s, and what its alarm is on (-table +alarm):\n%s", name, diff)
		}
	}
}

const alarmRow = "(?m)^\\| (`[A-Za-z]+Alarm`(?:, `[A-Za-z]+Alarm`)*) \\| [^|]+ \\| (Yes:|No:|No, unless )[^|]+ \\| [^|]+ \\| ([^|]+) \\|$"

// runbookRow is what the runbook says of an alarm.
type runbookRow struct {
	tonight bool   // whether somebody must act at night
	green   string // what makes it green
}

// runbook returns the rows of the runbook by alarm.
func runbook(t *testing.T) map[string]runbookRow {
	t.Helper()
	text, err := os.ReadFile(root + "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Runbook\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]runbookRow{}
	for _, row := range regexp.MustCompile(alarmRow).FindAllStringSubmatch(section, -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			rows[strings.Trim(name, "`")] = runbookRow{row[2] == "Yes:", row[3]}
		}
	}
	return rows
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
