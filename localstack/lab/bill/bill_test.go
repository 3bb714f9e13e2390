package bill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/lab/metering"
)

func TestCountResources(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "template.yaml")
	template := `
Resources:
  Key: {Type: "AWS::KMS::Key", Condition: KeyAExists}
  KeyB: {Type: "AWS::KMS::Key", Condition: KeyBExists}
  Dashboard: {Type: "AWS::CloudWatch::Dashboard", Properties: {DashboardBody: !Sub '["CampaignDispatch","A","FunctionName","${Called}"], ["CampaignDispatch","A","FunctionName","${Called}"], ["CampaignDispatch","B","FunctionName","${Called}"]'}}
  OfOneMetric: {Type: "AWS::CloudWatch::Alarm", Properties: {MetricName: Errors}}
  OfTwo:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - {Id: sum, Expression: a + b}
        - {Id: a, MetricStat: {Stat: Sum}}
        - {Id: b, MetricStat: {Stat: Sum, Metric: {Namespace: CampaignDispatch, MetricName: T, Dimensions: [{Name: Stack, Value: s}, {Name: Net, Value: n}]}}}
  Queued: {Type: "AWS::Serverless::Function", Properties: {Events: {Task: {Type: SQS}}}}
  Called: {Type: "AWS::Serverless::Function", Properties: {Events: {Minute: {Type: Schedule, Properties: {Schedule: rate(1 minute)}}, Day: {Type: Schedule, Properties: {Schedule: rate(1 day)}}}}}
`
	if err := os.WriteFile(path, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := CountResources(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Resources{Keys: 1, AlarmMetrics: 3, Dashboards: 1, Metrics: 3, Queues: 1, Sweeps: 1}, got); diff != "" {
		t.Errorf("resources (-want +got): %s", diff)
	}
}

func TestBill_Print(t *testing.T) {
	t.Parallel()
	b := Bill{
		Prices: metering.Prices{Region: "here", TransferGB: 0.09, Units: metering.Units{Writes: 1, IndexWrites: 1, SQSRequests: 10, Invocations: 0.5}},
		Other:  metering.Prices{Region: "there", Units: metering.Units{SQSRequests: 11, Invocations: 1}, NotFound: []string{"dynamoDBWriteUnits"}},
		Metered: Metered{
			Shapes: []Shape{
				{"clustered", "by batch", []Line{{"dispatch", metering.Units{Writes: 2}}, {"send", metering.Units{SQSRequests: 1, Invocations: 4}}}, 2},
				{"interleaved", "one of each batch", []Line{{"outcomes", metering.Units{Writes: 6, IndexWrites: 3}}}, 0},
			},
			Naive: []Line{{"naive", metering.Units{Writes: 70}}},
		},
		Idle:      []Idle{{"1 key", 1, 7.2, nil}},
		OtherIdle: []Idle{{"1 key", 1, 14.4, nil}, {"sweep", 1, 0, []string{"dynamoDBWriteUnits"}}},
	}
	if got := b.Shapes[0].Dollars(b.Prices); got != 14 {
		t.Errorf("clustered: %v dollars, want 14", got)
	}
	var out strings.Builder
	if err := b.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"send", "2.0000", "10.0000", "14.0000", "6.0000", "3.0000", "9.0000", "70.0000",
		"15.0000+", // clustered without unpriced units, there
		"clustered: by batch; 2.00 GB leave AWS, for 0.1800 dollars more",
		"interleaved: one of each batch",       // the conditions
		"here: 7.20 dollars a month, 0.0100",   // per hour
		"there: 14.40 dollars a month, 0.0200", // per hour
		"12.0000",                              // the same in the first region
		"without dynamoDBWriteUnits", "excluded in there",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the bill does not contain %q:\n%s", want, out.String())
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	one := metering.Units{Invocations: 1}
	got := Merge([]Line{{"notify", one}, {"token", one}}, []Line{{"another", one}, {"outcomes", one}, {"notify", one}})
	want := []Line{{"token", one}, {"outcomes", one}, {"another", one}, {"notify", metering.Units{Invocations: 2}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got): %s", diff)
	}
}
