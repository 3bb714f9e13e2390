package alarms_test

import (
	"math"
	"strings"
	"testing"

	"campaign-dispatch/localstack/alarms"
)

const sample = `
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
`

var names = alarms.Names{"Queue": "http://127.0.0.1/0/the-queue", "One": "first", "Two": "second"}

func TestWhatSetsAlarmsOff(t *testing.T) {
	t.Parallel()
	age := alarms.Series{Namespace: "AWS/SQS", Metric: "Age", Of: "the-queue"}
	a := alarms.Series{Namespace: "N", Metric: "A", Of: "first"}
	b := alarms.Series{Namespace: "N", Metric: "B", Of: "first"}
	ofOne, ofTwo := alarms.Series{Namespace: "N", Metric: "E", Of: "first"}, alarms.Series{Namespace: "N", Metric: "E", Of: "second"}
	for name, test := range map[string]struct {
		seen alarms.Measured
		want string
	}{
		"nothing":                 {nil, ""},
		"young":                   {alarms.Measured{age: {1, 2.9}}, ""},
		"old":                     {alarms.Measured{age: {3.5, 1}}, "Age"},
		"another queue":           {alarms.Measured{{Namespace: "AWS/SQS", Metric: "Age", Of: "another"}: {9}}, ""},
		"one error of each":       {alarms.Measured{ofOne: {0, 1}, ofTwo: {1}}, "Errors"},
		"an error":                {alarms.Measured{ofOne: {1}, ofTwo: {0}}, ""},
		"cheap":                   {alarms.Measured{a: {6}, b: {1}}, ""},
		"dear":                    {alarms.Measured{a: {3, 3}, b: {2}}, "Cost"},
		"dear, one not measured":  {alarms.Measured{a: {7}}, "Cost"},
		"cheap, one not measured": {alarms.Measured{b: {13}}, ""},
		"units of a table and of its index": {
			alarms.Measured{{Namespace: "N", Metric: "U", Of: "first"}: {2}, {Namespace: "N", Metric: "U", Of: "first/due"}: {3}}, "Units",
		},
		"units of a table": {alarms.Measured{{Namespace: "N", Metric: "U", Of: "first"}: {4}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, err := alarms.Read([]byte(sample), "local", names)
			if err != nil {
				t.Fatal(err)
			}
			var fired []string
			for _, alarm := range all {
				if _, fires := alarm.Fires(test.seen); fires {
					fired = append(fired, alarm.Name)
				}
			}
			if got := strings.Join(fired, " "); got != test.want {
				t.Errorf("fired %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheEnvironmentsOwnThreshold(t *testing.T) {
	t.Parallel()
	all, err := alarms.Read([]byte(sample), "production", names)
	if err != nil || len(all) != 4 || math.Abs(all[0].Threshold-30) > 0 {
		t.Errorf("read %+v (%v)", all, err)
	}
}

func TestAlarmsThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	for was, is := range map[string]string{
		"SUM(METRICS())": "ANOMALY_DETECTION_BAND(a)", "Statistic: Maximum": "Statistic: Average", "!Ref Two": "!Ref Three",
		"Threshold: 7": "Threshold: seven", "Statistic: Maximum\n      ComparisonOperator: GreaterThanOrEqualTo": "Statistic: Maximum\n      ComparisonOperator: LessThan",
	} {
		if _, err := alarms.Read([]byte(strings.Replace(sample, was, is, 1)), "local", names); err == nil {
			t.Errorf("with %s there was no error", is)
		}
	}
}
