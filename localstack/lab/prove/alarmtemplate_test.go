package prove

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/localstack/template"
)

// Lambda measures the age of a stream's records when it calls the function. While it does
// not call the function, only the table's writes show that records wait. Lambda reads the
// records of taps and clicks without a call.
func TestTemplate_UnreadStream(t *testing.T) {
	t.Parallel()
	all := ofTemplate(t)
	written := series{Namespace: "AWS/DynamoDB", Metric: "ConsumedWriteCapacityUnits", Of: "OutcomesTable"}
	calls := series{Namespace: "AWS/Lambda", Metric: "Invocations", Of: "FeedFunction"}
	read := series{Namespace: "AWS/DynamoDB", Metric: "ReturnedRecordsCount", Of: "OutcomesTable/GetRecords/"}
	for name, tt := range map[string]struct {
		seen measured
		want []string
	}{
		"nothing":                 {measured{}, nil},
		"a write, no call":        {measured{written: {1}}, []string{"FeedStoppedAlarm"}},
		"a write, a call":         {measured{written: {1}, calls: {1}}, nil},
		"clicks, which are read":  {measured{written: {1}, read: {1}}, nil},
		"a call, no write":        {measured{calls: {1}}, nil},
		"many writes, a full one": {measured{written: {10_000}, calls: {1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fired []string
			for _, a := range all {
				if _, fires := a.fires(tt.seen); fires && !a.OfSilence {
					fired = append(fired, a.Name)
				}
			}
			if diff := cmp.Diff(tt.want, fired); diff != "" {
				t.Errorf("alarms (-want +got):\n%s", diff)
			}
		})
	}
}

// stackName is the name of the stack of ofTemplate.
const stackName = "campaign-dispatch"

// ofTemplate returns the alarms of template.yaml in production, with resources whose
// physical names are their logical ones.
func ofTemplate(t *testing.T) []alarm {
	t.Helper()
	names := resourceNames{"AWS::StackName": stackName}
	for name := range resourceTypes(t) {
		names[name] = name
	}
	text, err := template.Read("../../../template.yaml")
	check(t, err)
	all, err := readAlarms(text, "production", names)
	check(t, err)
	if len(all) == 0 {
		t.Fatal("template.yaml has no alarms")
	}
	return all
}

// resourceTypes are the types of the template's resources, by their names.
func resourceTypes(t *testing.T) map[string]string {
	t.Helper()
	text, err := template.Read("../../../template.yaml")
	check(t, err)
	var document struct {
		Resources map[string]struct {
			Type string `yaml:"Type"`
		} `yaml:"Resources"`
	}
	check(t, yaml.Unmarshal(text, &document))
	types := map[string]string{}
	for name, r := range document.Resources {
		types[name] = r.Type
	}
	return types
}

// Each alarm fires where one of its metrics is high enough (the tests of shares have those on a share, and the test of safety nets
// those that judge parts), is quiet where nothing was measured, and has no metrics but those that AWS measures of such a resource
// or that the service counts. Those of silence are the other way round.
func TestTemplate_EveryAlarm(t *testing.T) {
	t.Parallel()
	types := resourceTypes(t)
	measuredBy := map[string]string{
		"AWS/SQS ApproximateNumberOfMessagesVisible": "AWS::SQS::Queue", "AWS/SQS ApproximateAgeOfOldestMessage": "AWS::SQS::Queue",
		"AWS/Lambda Errors": "AWS::Serverless::Function", "AWS/Lambda Throttles": "AWS::Serverless::Function",
		"AWS/Lambda Invocations": "AWS::Serverless::Function", "AWS/Lambda Duration": "AWS::Serverless::Function",
		"AWS/Lambda IteratorAge": "AWS::Serverless::Function", "AWS/ApiGateway 5xx": "AWS::Serverless::HttpApi", "AWS/ApiGateway Count": "AWS::Serverless::HttpApi",
		"AWS/DynamoDB ConsumedWriteCapacityUnits": "AWS::DynamoDB::Table", "AWS/DynamoDB ConsumedReadCapacityUnits": "AWS::DynamoDB::Table",
		"AWS/DynamoDB ReturnedRecordsCount": "AWS::DynamoDB::Table",
		"AWS/DynamoDB WriteThrottleEvents":  "AWS::DynamoDB::Table", "AWS/DynamoDB ReadThrottleEvents": "AWS::DynamoDB::Table",
		"AWS/SQS ApproximateNumberOfMessagesNotVisible": "AWS::SQS::Queue", "AWS/Lambda ClaimedAccountConcurrency": wholeAccount,
		"AWS/Scheduler InvocationDroppedCount": "AWS::Scheduler::ScheduleGroup", // the name of its group
		// Of filters of the API's access log.
		"CampaignDispatchApi CallsByRoute": "AWS::Serverless::HttpApi", "CampaignDispatchApi CallsLimitedByRoute": "AWS::Serverless::HttpApi",
	}
	for _, m := range []metrics.Metric{
		metrics.CallsFailed, metrics.SendsFailed, metrics.MessagesSent, metrics.SweepFound, metrics.SweepFailed, metrics.ListsUnreadable,
		metrics.EventsApplied, metrics.RecountFailed,
	} {
		measuredBy[metrics.Namespace+" "+string(m)] = "AWS::Serverless::Function"
	}
	for m, of := range map[metrics.Metric]string{
		metrics.EventsRefused: string(metrics.OfAgent), metrics.CircuitsOpened: string(metrics.OfEndpoint),
		metrics.EndpointsOff: string(metrics.OfEndpoint), metrics.SweepTurn: stackName,
	} {
		measuredBy[metrics.Namespace+" "+string(m)], types[of] = of, of
	}
	types[wholeAccount] = wholeAccount
	for _, a := range ofTemplate(t) {
		if _, firing := a.fires(measured{}); firing != a.OfSilence {
			t.Errorf("%s: fires is %v where nothing was measured", a.Name, firing)
		}
		alone := 0
		for _, s := range a.all() {
			resource, _, _ := strings.Cut(s.Of, "/")
			if want := measuredBy[s.Namespace+" "+s.Metric]; want == "" || types[resource] != want {
				t.Errorf("%s: nothing measures %s %s of %s, which is %s", a.Name, s.Namespace, s.Metric, s.Of, types[resource])
			}
			if _, firing := a.fires(measured{s: {1e12}}); firing != a.OfSilence {
				alone++
			}
		}
		elsewhere := strings.HasPrefix(a.expression, "IF(") || strings.HasPrefix(a.expression, "MIN(")
		if !elsewhere && (alone == 0 || alone < len(a.all()) && a.Name != "FeedStoppedAlarm") {
			t.Errorf("%s fires by %d of its %d metrics", a.Name, alone, len(a.all()))
		}
	}
}
