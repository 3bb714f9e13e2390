package prove

import (
	"math"
	"strings"
	"testing"
)

const alarmTemplate = `
Mappings:
  Alarms:
    local: {Seconds: 3}
    production: {Seconds: 30}
Resources:
  Age:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Namespace: AWS/SQS
      MetricName: Age
      Dimensions: [{Name: QueueName, Value: !GetAtt Queue.QueueName}]
      Statistic: Maximum
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: !FindInMap [Alarms, !Ref Environment, Seconds]
  Cost:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 7
      Metrics:
        - {Id: total, Expression: "(2*FILL(a,0) + FILL(b,1)) / 2"}
        - {Id: a, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: A, Dimensions: [{Name: F, Value: !Ref One}]}}}
        - {Id: b, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: B, Dimensions: [{Name: F, Value: !Ref One}]}}}
  Units:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 5
      Metrics:
        - {Id: total, Expression: "FILL(table,0) + FILL(index,0)"}
        - {Id: table, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: U, Dimensions: [{Name: T, Value: !Ref One}]}}}
        - {Id: index, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: U, Dimensions: [{Name: T, Value: !Ref One}, {Name: I, Value: due}]}}}
  Errors:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 2
      Metrics:
        - {Id: total, Expression: SUM(METRICS())}
        - {Id: a, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: E, Dimensions: [{Name: F, Value: !Ref One}]}}}
        - {Id: b, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: E, Dimensions: [{Name: F, Value: !Ref Two}]}}}
  Silent:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: LessThanThreshold
      Threshold: 2
      TreatMissingData: breaching
      Metrics:
        - {Id: total, Expression: "FILL(s, 0)"}
        - {Id: s, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: S, Dimensions: [{Name: Stack, Value: !Ref AWS::StackName}, {Name: Net, Value: due}]}}}
  Parts:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: LessThanThreshold
      Threshold: 1
      TreatMissingData: breaching
      Metrics:
        - {Id: least, Expression: "MIN([FILL(p, 0), FILL(q, 0)])"}
        - {Id: p, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: P, Dimensions: [{Name: Part, Value: p}]}}}
        - {Id: q, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: P, Dimensions: [{Name: Part, Value: q}]}}}
  Deaf:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 1
      Metrics:
        - {Id: deaf, Expression: "IF(FILL(said, 0) >= 5 && FILL(heard, 0) < 1, 1, 0)"}
        - {Id: said, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: Said, Dimensions: [{Name: F, Value: !Ref One}]}}}
        - {Id: heard, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: Heard, Dimensions: [{Name: F, Value: !Ref One}]}}}
  Slow:
    Type: AWS::CloudWatch::Alarm
    Properties: {Namespace: N, MetricName: Slow, ExtendedStatistic: p99, ComparisonOperator: GreaterThanThreshold, Threshold: 5}
  Endpoints:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 1
      Metrics:
        - {Id: e, Expression: !Sub "SELECT SUM(Off) FROM SCHEMA(\"N\", EndpointId, Stack) WHERE Stack = '${AWS::StackName}' GROUP BY EndpointId ORDER BY SUM() DESC"}
  Share:
    Type: AWS::CloudWatch::Alarm
    Properties:
      ComparisonOperator: GreaterThanOrEqualToThreshold
      Threshold: 0.5
      Metrics:
        - {Id: share, Expression: "IF(a >= 3, a / b, 0)"}
        - {Id: a, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: F, Dimensions: [{Name: F, Value: !Ref One}]}}}
        - {Id: b, MetricStat: {Stat: Sum, Metric: {Namespace: N, MetricName: C, Dimensions: [{Name: F, Value: !Ref One}]}}}
`

var alarmResources = resourceNames{"Queue": "http://127.0.0.1/0/the-queue", "One": "first", "Two": "second", "AWS::StackName": "stack"}

// turning, ofP and ofQ are what keeps the alarms Silent and Parts quiet.
var (
	turning = series{Namespace: "N", Metric: "S", Of: "stack/due"}
	ofP     = series{Namespace: "N", Metric: "P", Of: "p"}
	ofQ     = series{Namespace: "N", Metric: "P", Of: "q"}
)

func TestAlarm_Fires(t *testing.T) {
	t.Parallel()
	age := series{Namespace: "AWS/SQS", Metric: "Age", Of: "the-queue"}
	first := series{Namespace: "N", Metric: "A", Of: "first"}
	second := series{Namespace: "N", Metric: "B", Of: "first"}
	ofOne, ofTwo := series{Namespace: "N", Metric: "E", Of: "first"}, series{Namespace: "N", Metric: "E", Of: "second"}
	failed, calls := series{Namespace: "N", Metric: "F", Of: "first"}, series{Namespace: "N", Metric: "C", Of: "first"}
	said, heard := series{Namespace: "N", Metric: "Said", Of: "first"}, series{Namespace: "N", Metric: "Heard", Of: "first"}
	for name, test := range map[string]struct {
		seen measured
		want string
	}{
		"one of two parts":         {measured{ofQ: {-1}}, "Parts"},
		"nothing heard":            {measured{said: {3, 2}}, "Deaf"},
		"heard":                    {measured{said: {9}, heard: {1}}, ""},
		"little said":              {measured{said: {4}}, ""},
		"half of the calls failed": {measured{failed: {1, 2}, calls: {6}}, "Share"},
		"few of the calls failed":  {measured{failed: {3}, calls: {7}}, ""},
		"few calls, all failed":    {measured{failed: {2}, calls: {2}}, ""},
		"no calls known":           {measured{failed: {3}}, ""},
		"calls, no failures known": {measured{calls: {7}}, ""},
		"nothing":                  {measured{}, ""},
		"one turn of two":          {measured{turning: {-1}}, "Silent"},
		"turns of another stack":   {measured{turning: {-2}, {Namespace: "N", Metric: "S", Of: "other/due"}: {9}}, "Silent"},
		"at the limit":             {measured{{Namespace: "N", Metric: "Slow", Of: "account"}: {5}}, ""},
		"above the limit":          {measured{{Namespace: "N", Metric: "Slow", Of: "account"}: {1, 5.1}}, "Slow"},
		"an endpoint is off":       {measured{{Namespace: "N", Metric: "Off", Of: "EndpointId"}: {1}}, "Endpoints"},
		"young":                    {measured{age: {1, 2.9}}, ""},
		"old":                      {measured{age: {3.5, 1}}, "Age"},
		"another queue":            {measured{{Namespace: "AWS/SQS", Metric: "Age", Of: "another"}: {9}}, ""},
		"one error of each":        {measured{ofOne: {0, 1}, ofTwo: {1}}, "Errors"},
		"an error":                 {measured{ofOne: {1}, ofTwo: {0}}, ""},
		"cheap":                    {measured{first: {6}, second: {1}}, ""},
		"dear":                     {measured{first: {3, 3}, second: {2}}, "Cost"},
		"dear, one not measured":   {measured{first: {7}}, "Cost"},
		"cheap, one not measured":  {measured{second: {13}}, ""},
		"units of a table and of its index": {
			measured{{Namespace: "N", Metric: "U", Of: "first"}: {2}, {Namespace: "N", Metric: "U", Of: "first/due"}: {3}}, "Units",
		},
		"units of a table": {measured{{Namespace: "N", Metric: "U", Of: "first"}: {4}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := readAlarms([]byte(alarmTemplate), "local", alarmResources)
			if err != nil {
				t.Fatal(err)
			}
			var fired []string
			test.seen.add(turning, 2)
			test.seen.add(ofP, 1)
			test.seen.add(ofQ, 1)
			for _, a := range all {
				if _, fires := a.fires(test.seen); fires {
					fired = append(fired, a.Name)
				}
			}
			if got := strings.Join(fired, " "); got != test.want {
				t.Errorf("fired %q, want %q", got, test.want)
			}
		})
	}
}

// Alarms of silence fire where nothing at all is measured.
func TestAlarm_Silence(t *testing.T) {
	t.Parallel()
	all, err := readAlarms([]byte(alarmTemplate), "local", alarmResources)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if _, fires := a.fires(measured{}); fires != (a.Name == "Silent" || a.Name == "Parts") {
			t.Errorf("%s: fires is %v where nothing is measured", a.Name, fires)
		}
	}
}

func TestReadAlarms_ThresholdOfTheEnvironment(t *testing.T) {
	t.Parallel()
	all, err := readAlarms([]byte(alarmTemplate), "production", alarmResources)
	if err != nil || len(all) != 10 || math.Abs(all[0].Threshold-30) > 0 {
		t.Errorf("read %+v (%v)", all, err)
	}
}

func TestReadAlarms_Unsupported(t *testing.T) {
	t.Parallel()
	for was, is := range map[string]string{
		"SUM(METRICS())": "ANOMALY_DETECTION_BAND(a)", "Statistic: Maximum": "Statistic: Average", "!Ref Two": "!Ref Three",
		"Threshold: 7": "Threshold: seven", "Statistic: Maximum\n      ComparisonOperator: GreaterThanOrEqualTo": "Statistic: Maximum\n      ComparisonOperator: LessThanLower",
		"GROUP BY EndpointId": "GROUP BY AgentId",
	} {
		if _, err := readAlarms([]byte(strings.Replace(alarmTemplate, was, is, 1)), "local", alarmResources); err == nil {
			t.Errorf("with %s there was no error", is)
		}
	}
}
