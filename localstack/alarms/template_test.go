package alarms_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/alarms"
	"campaign-dispatch/localstack/template"
)

// Lambda measures the age of a stream's records when it calls the function. Where it does
// not call it, only what is written shows that records wait.
func TestTemplate_StreamThatNobodyReads(t *testing.T) {
	t.Parallel()
	all := ofTemplate(t)
	written := alarms.Series{Namespace: "AWS/DynamoDB", Metric: "ConsumedWriteCapacityUnits", Of: "OutcomesTable"}
	calls := alarms.Series{Namespace: "AWS/Lambda", Metric: "Invocations", Of: "FeedFunction"}
	for name, tt := range map[string]struct {
		seen alarms.Measured
		want []string
	}{
		"nothing":                 {alarms.Measured{}, nil},
		"a write, no call":        {alarms.Measured{written: {1}}, []string{"FeedStoppedAlarm"}},
		"a write, a call":         {alarms.Measured{written: {1}, calls: {1}}, nil},
		"a call, no write":        {alarms.Measured{calls: {1}}, nil},
		"many writes, a full one": {alarms.Measured{written: {10_000}, calls: {1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fired []string
			for _, a := range all {
				if _, fires := a.Fires(tt.seen); fires {
					fired = append(fired, a.Name)
				}
			}
			if diff := cmp.Diff(tt.want, fired); diff != "" {
				t.Errorf("alarms (-want +got):\n%s", diff)
			}
		})
	}
}

// ofTemplate returns the alarms of template.yaml in production, with resources whose
// physical names are their logical ones.
func ofTemplate(t *testing.T) []alarms.Alarm {
	t.Helper()
	text, err := template.Read("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Resources map[string]yaml.Node `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	names := alarms.Names{}
	for name := range document.Resources {
		names[name] = name
	}
	all, err := alarms.Read(text, "production", names)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
