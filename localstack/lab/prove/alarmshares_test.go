package prove

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/template"
)

const shareOfFailed = "IF(failed >= 3, failed / calls, 0)"

// judgesShare reports whether an alarm is on the share of calls that failed.
func (a alarm) judgesShare() bool { return a.expression == shareOfFailed }

// rollbackAlarms returns the alarms that roll back the deployment of each function.
func rollbackAlarms(t *testing.T) map[string][]alarm {
	t.Helper()
	var document struct {
		Resources map[string]struct {
			Type       string `yaml:"Type"`
			Properties struct {
				DeploymentPreference struct {
					Alarms yaml.Node `yaml:"Alarms"`
				} `yaml:"DeploymentPreference"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	check(t, template.Decode("../../../template.yaml", &document))
	all, found := ofTemplate(t), map[string][]alarm{}
	for name, r := range document.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		for _, ref := range r.Properties.DeploymentPreference.Alarms.Content[1].Content { // !If [OnAws, these, none]
			at := slices.IndexFunc(all, func(a alarm) bool { return a.Name == ref.Value })
			if at < 0 {
				t.Fatalf("%s: no alarm %s", name, ref.Value)
			}
			found[name] = append(found[name], all[at])
		}
	}
	return found
}

// All alarms that roll back a deployment have one rule: three failed calls in a minute, and one of 2,000. Only
// that of sweep, which has four calls a minute and none of strangers, fires at one failed call.
func TestTemplate_AlarmsOnShares(t *testing.T) {
	t.Parallel()
	for function, alarms := range rollbackAlarms(t) {
		own := strings.TrimSuffix(function, "Function") + "FailuresAlarm"
		if len(alarms) == 0 || alarms[0].Name != own {
			t.Errorf("%s is not rolled back by %s", function, own)
		}
		for _, a := range alarms {
			if a.Name == "SweepFailuresAlarm" {
				if _, fires := a.fires(sweepFailed(t, a, 1)); !fires {
					t.Errorf("%s does not fire at one failed call", a.Name)
				}
				continue
			}
			if !a.judgesShare() || math.Abs(a.Threshold-0.0005) > 0 {
				t.Errorf("%s of %s: %s at %v, want %s at 0.0005", a.Name, function, a.expression, a.Threshold, shareOfFailed)
				continue
			}
			for _, tt := range []struct {
				failed, calls float64
				want          bool
			}{{0, 5, false}, {1, 1, false}, {2, 5, false}, {3, 5, true}, {3, 6_000, true}, {3, 6_001, false}, {72, 144_000, true}, {71, 144_000, false}} {
				_, fires := a.fires(measured{a.terms["failed"].series: {tt.failed}, a.terms["calls"].series: {tt.calls}})
				if fires != tt.want {
					t.Errorf("%s at %v failed of %v calls: fires is %v", a.Name, tt.failed, tt.calls, fires)
				}
			}
		}
	}
}

// The provider's alarm fires at one message in fifty that is not accepted, if there are a hundred of them in five minutes: not
// at the transient failures of a large campaign, and also while it accepts none.
func TestTemplate_ShareOfTheProvider(t *testing.T) {
	t.Parallel()
	a := alarmOfTemplate(t, "ProviderAlarm")
	for _, tt := range []struct {
		failed, sent float64
		want         bool
	}{{99, 0, false}, {100, 0, true}, {100, 4_900, true}, {100, 4_901, false}, {1_000, 300_000, false}, {6_200, 300_000, true}} {
		seen := measured{a.terms["failed"].series: {tt.failed}}
		if tt.sent > 0 {
			seen.add(a.terms["sent"].series, tt.sent)
		}
		if _, fires := a.fires(seen); fires != tt.want {
			t.Errorf("%v not accepted, %v sent: fires is %v", tt.failed, tt.sent, fires)
		}
	}
	if _, fires := a.fires(measured{a.terms["sent"].series: {1}}); fires {
		t.Error("it fires without a failure")
	}
}

// A route's alarm fires if more than one in a hundred of its calls is limited, and ten or more.
func TestTemplate_ShareOfLimitedCalls(t *testing.T) {
	t.Parallel()
	for _, route := range []string{
		"Token", "Dispatch", "Campaign", "Messages", "BatchEvents", "Export", "Lists", "List", "Templates", "Template", "Dashboard", "Link",
	} {
		a := alarmOfTemplate(t, route+"LimitedAlarm")
		for _, tt := range []struct {
			limited, calls float64
			want           bool
		}{{9, 9, false}, {10, 10, true}, {10, 999, true}, {10, 1_000, false}, {150, 15_000, false}, {151, 15_000, true}} {
			_, fires := a.fires(measured{a.terms["limited"].series: {tt.limited}, a.terms["calls"].series: {tt.calls}})
			if fires != tt.want {
				t.Errorf("%s at %v limited of %v calls: fires is %v", a.Name, tt.limited, tt.calls, fires)
			}
		}
	}
}

// alarmOfTemplate returns an alarm of template.yaml.
func alarmOfTemplate(t *testing.T, name string) alarm {
	t.Helper()
	all := ofTemplate(t)
	at := slices.IndexFunc(all, func(a alarm) bool { return a.Name == name })
	if at < 0 {
		t.Fatalf("no alarm %s", name)
	}
	return all[at]
}

// Under 1,200 messages a second, a version that fails one call in a million is deployed, and one
// that fails one in a hundred is rolled back while it has a tenth of the calls.
func TestTemplate_RollbackUnderLoad(t *testing.T) {
	t.Parallel()
	const hours, canary = 6 * 60, 5 // minutes
	alarms := rollbackAlarms(t)
	for name, tt := range map[string]struct {
		minutes         int
		before, version float64 // share of failed calls of the version before and of the new one
		want            []string
	}{
		"one in a million of all calls": {hours, 1e-6, 1e-6, nil},
		"one in a hundred of the new version's": {canary, 1e-6, 1e-2, []string{
			"EventsErrorsAlarm", "EventsFailuresAlarm", "NotifyFailuresAlarm", "OutcomesFailuresAlarm",
		}},
		"all calls of the new version": {canary, 1e-6, 1, []string{
			"DispatchFailuresAlarm", "EventsErrorsAlarm", "EventsFailuresAlarm", "FeedFailuresAlarm",
			"NotifyFailuresAlarm", "OutcomesFailuresAlarm", "ReleaseFailuresAlarm", "SendFailuresAlarm", "SweepFailuresAlarm",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(28, 1))
			var fired []string
			for range tt.minutes {
				seen := aMinute(t, alarms, random, tt.before, tt.version)
				for _, of := range alarms {
					for _, a := range of {
						if _, fires := a.fires(seen); fires {
							fired = append(fired, a.Name)
						}
					}
				}
			}
			slices.Sort(fired)
			if diff := cmp.Diff(tt.want, slices.Compact(fired)); diff != "" {
				t.Errorf("alarms that fired (-want +got):\n%s", diff)
			}
		})
	}
}

// docs/operations.md names the functions with too few calls for a canary that fails three of them.
func TestOperationsPage_FewCalls(t *testing.T) {
	t.Parallel()
	const messages, million, least = 1200 * 60, 1e6, 30
	calls := map[string]float64{}
	for _, line := range usualLines(t) {
		calls[line.Function] = line.Units.Invocations * messages / million
	}
	var few []string
	for function := range rollbackAlarms(t) {
		name := strings.ToLower(strings.TrimSuffix(function, "Function"))
		if name != "sweep" && calls[name] < least {
			few = append(few, name)
		}
	}
	slices.Sort(few)
	page, err := os.ReadFile("../../../docs/operations.md")
	check(t, err)
	if want := "these functions are: " + strings.Join(few, ", ") + "."; !strings.Contains(string(page), want) {
		t.Errorf("docs/operations.md has no %q", want)
	}
}

// aMinute returns the calls of a minute with 1,200 messages a second, as many of each function as were
// metered in a day's mix. One call in ten is of the new version.
func aMinute(t *testing.T, alarms map[string][]alarm, random *rand.Rand, before, version float64) measured {
	t.Helper()
	const messages, million = 1200 * 60, 1e6
	seen := measured{}
	for _, line := range usualLines(t) {
		calls := math.Round(line.Units.Invocations * messages / million)
		failed := failures(random, int(calls*0.9), before) + failures(random, int(math.Ceil(calls*0.1)), version)
		function := strings.ToUpper(line.Function[:1]) + line.Function[1:] + "Function"
		for _, a := range alarms[function] {
			if a.Name != "ApiErrorsAlarm" && (a.Name != "EventsErrorsAlarm" || function == "EventsFunction") {
				seen[a.terms["failed"].series], seen[a.terms["calls"].series] = []float64{failed}, []float64{calls}
			}
		}
	}
	const sweeps, canary = 4, 0.1
	maps.Copy(seen, sweepFailed(t, alarms["SweepFunction"][0], failures(random, sweeps, (1-canary)*before+canary*version)))
	return seen
}

// sweepFailed returns what is measured of failed calls of sweep.
func sweepFailed(t *testing.T, a alarm, calls float64) measured {
	t.Helper()
	want := series{Namespace: "AWS/Lambda", Metric: "Errors", Of: "SweepFunction"}
	if all := a.all(); len(all) != 1 || all[0] != want {
		t.Fatalf("%s is on %v, want %v", a.Name, all, want)
	}
	return measured{want: {calls}}
}

// failures returns how many of some calls fail, each with a probability.
func failures(random *rand.Rand, calls int, probability float64) (failed float64) {
	for range calls {
		if random.Float64() < probability {
			failed++
		}
	}
	return failed
}

// usualLines returns what each function used in a day's mix, per million messages.
func usualLines(t *testing.T) []bill.Line {
	t.Helper()
	var m bill.Metered
	text, err := os.ReadFile("../bill/metered/usual.json")
	check(t, err)
	check(t, json.Unmarshal(text, &m))
	at := slices.IndexFunc(m.Shapes, func(s bill.Shape) bool { return s.Name == "a day's mix" })
	if at < 0 {
		t.Fatal("no day's mix was metered")
	}
	return m.Shapes[at].Lines
}
