package scale

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"campaign-dispatch/localstack/lab/metering"
)

func model(t *testing.T) Model {
	t.Helper()
	m, err := New("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func find(t *testing.T, needs []Need, resource string) Need {
	t.Helper()
	at := slices.IndexFunc(needs, func(n Need) bool { return strings.HasPrefix(n.Resource, resource) })
	if at < 0 {
		t.Fatalf("no need of %s", resource)
	}
	return needs[at]
}

// The wanted needs are counted by hand. The hottest tenant has half of the load, and its
// rows have a quarter of the keys of the index.
func TestNeeds_HotKeys(t *testing.T) {
	t.Parallel()
	m := model(t)
	m.Metered = Metered{Isolated: {Places: []Spent{
		{Place: metering.Place{Table: "campaigns", Index: "nextCheck", Kind: "BATCH"}, Writes: 64},
		{Place: metering.Place{Table: "campaigns", Kind: "META"}, Writes: 2},
	}}}
	l := Load{Calls: 1, PerCall: 2000, Tenants: 10, Hottest: 0.5, Isolated: 0.25} // 1,000 isolated events a second
	needs := m.Needs(l)
	for resource, want := range map[string]float64{"index due": 1000, "post counter": 60, "table campaigns, writes": 2000} {
		if got := find(t, needs, resource); got.Need != want {
			t.Errorf("%s: %v units a second, want %v", got.Resource, got.Need, want)
		}
	}
	if got := Summary(l, needs); !strings.Contains(got, "index due") || !strings.Contains(got, "from 2000 messages a second on") {
		t.Errorf("summary %q, want the index due as a limit from 2000 messages a second on", got)
	}
}

func TestNeeds_DoubleLoad(t *testing.T) {
	t.Parallel()
	m := model(t)
	l := Loads()[0]
	single := m.Needs(l)
	l.Calls *= 2
	double := m.Needs(l)
	for _, resource := range []string{"index due", "post counter", "rate of an agent", "API Gateway: calls of dispatch", "EventBridge Scheduler: Create"} {
		once, twice := find(t, single, resource).Need, find(t, double, resource).Need
		if once <= 0 || twice < 1.99*once || twice > 2.01*once {
			t.Errorf("%s: need %v, with twice the load %v", resource, once, twice)
		}
	}
}

func TestNeeds_TemplateSettings(t *testing.T) {
	t.Parallel()
	m := model(t)
	for name, want := range map[string]Setting{
		"send":     {Memory: 0.5, BatchSize: 5, Concurrency: 50},
		"outcomes": {Memory: 0.5, BatchSize: 250, Window: 1, Concurrency: 15},
		"events":   {Memory: 0.25, Concurrency: 100},
	} {
		if got := m.Settings.Functions[name]; got != want {
			t.Errorf("settings of %s: got %+v, want %+v", name, got, want)
		}
	}
	for _, l := range Loads() {
		for _, n := range m.Needs(l) {
			if n.Value <= 0 || n.Source == "" || (n.Kind != Hard) != (n.Ask != "") {
				t.Errorf("%s: the limit %+v is incomplete", n.Resource, n.Limit)
			}
		}
	}
}

func TestPrint_SortedWithFirstMarked(t *testing.T) {
	t.Parallel()
	m := model(t)
	for _, l := range Loads() {
		if needs := m.Needs(l); !slices.IsSortedFunc(needs, func(a, b Need) int { return int(1e6*b.Share()) - int(1e6*a.Share()) }) {
			t.Errorf("%s: the needs are not sorted", l.Name)
		}
	}
	var out strings.Builder
	if err := m.Print(&out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "binds first"); got != len(Loads()) {
		t.Errorf("%d of %d loads have a limit marked as first", got, len(Loads()))
	}
}

// docs/proofs.md has the figures of the model.
func TestProofsPage_Figures(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	m, loads := model(t), Loads()
	_, section, _ := strings.Cut(string(text), "| resource | 100 million messages a day |")
	table, after, _ := strings.Cut(section, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \| (.+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) == 0 {
		t.Fatal("docs/proofs.md has no table of limits")
	}
	for _, row := range rows {
		for i, l := range loads {
			n := find(t, m.Needs(l), row[1])
			if want := fmt.Sprintf("%.0f", 100*n.Share()); row[2+i] != want || (row[5] == "no") != (n.Kind == Hard) {
				t.Errorf("%s, %s: docs/proofs.md has %s and %q, the model %s and %s", row[1], l.Name, row[2+i], row[5], want, n.Kind)
			}
		}
	}
	for resource, l := range map[string]Load{"outcomes: messages in flight": loads[0], "index due of campaigns": loads[2]} {
		from := fmt.Sprintf("from %.0f ", l.Messages()/find(t, m.Needs(l), resource).Share())
		if verdict, _, _ := strings.Cut(after, "\n\n"); !strings.Contains(verdict, from) {
			t.Errorf("%s: the summary in docs/proofs.md does not contain %q: %s", l.Name, from, verdict)
		}
	}
}

// The documentation promises the webhooks of a flood of events within a minute.
func TestFlood_WebhooksInAMinute(t *testing.T) {
	t.Parallel()
	m, err := New("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const flood = 50_000.0
	for isolated, most := range map[float64]float64{0: 13, mixIsolated: 22, 1: 52} {
		slowest := 0.0
		for _, f := range []string{"events", "outcomes", "notify"} {
			busy := flood*isolated*m.seconds(f, Isolated, m.Metered[Isolated].Functions[f]) +
				flood*(1-isolated)/GroupSize*m.seconds(f, Group, m.Metered[Group].Functions[f])
			slowest = max(slowest, busy/m.Settings.Functions[f].Concurrency)
		}
		if slowest > most {
			t.Errorf("%.0f s for a flood of which a share of %v is isolated, want %v at most", slowest, isolated, most)
		}
	}
}
