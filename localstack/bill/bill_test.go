package bill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/metering"
)

func TestWhatCostsByTheMonthIsCountedFromTheTemplate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "template.yaml")
	template := `
Resources:
  Key: {Type: "AWS::KMS::Key", Condition: KeyAExists}
  KeyB: {Type: "AWS::KMS::Key", Condition: KeyBExists}
  Dashboard: {Type: "AWS::CloudWatch::Dashboard", Properties: {DashboardBody: !Sub "{}"}}
  OfOneMetric: {Type: "AWS::CloudWatch::Alarm", Properties: {MetricName: Errors}}
  OfTwo:
    Type: AWS::CloudWatch::Alarm
    Properties:
      Metrics:
        - {Id: sum, Expression: a + b}
        - {Id: a, MetricStat: {Stat: Sum}}
        - {Id: b, MetricStat: {Stat: Sum}}
  Queued: {Type: "AWS::Serverless::Function", Properties: {Events: {Task: {Type: SQS}}}}
  Called: {Type: "AWS::Serverless::Function", Properties: {Events: {Minute: {Type: Schedule}}}}
`
	if err := os.WriteFile(path, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := CountResources(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Resources{Keys: 1, AlarmMetrics: 3, Dashboards: 1, Queues: 1}, got); diff != "" {
		t.Errorf("resources (-want +got): %s", diff)
	}
}

func TestTheBillAddsUp(t *testing.T) {
	t.Parallel()
	prices := metering.Prices{Units: metering.Units{Writes: 1, SQSRequests: 10, Invocations: 0.5}}
	b := Bill{
		Prices: prices,
		Ours:   []Line{{"dispatch", metering.Units{Writes: 2}}, {"send", metering.Units{SQSRequests: 1, Invocations: 4}}},
		Naive:  []Line{{"naive", metering.Units{Writes: 70}}},
		Idle:   []Idle{{"1 key", 1, 7.2}},
	}
	if b.Dollars() != 14 || b.Times() != 5 {
		t.Errorf("%v dollars, %v times dearer, want 14 and 5", b.Dollars(), b.Times())
	}
	var out strings.Builder
	if err := b.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"send", "2.0000", "10.0000", "14.0000", "70.0000", "5.0 times", "7.20 dollars a month", "0.0100 an hour"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
