package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/template"
)

var read = sync.OnceValues(func() (Model, error) { return New("../../../template.yaml") })

func model(t *testing.T) Model {
	t.Helper()
	m, err := read()
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
	l := Load{Plan: "1m", Calls: 1, PerCall: 2000, Tenants: 10, Hottest: 0.5, Isolated: 0.25} // 1,000 isolated events a second
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
	l := Loads()[2]
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

// The wanted needs are counted by hand.
func TestNeeds_ReadsAndPuts(t *testing.T) {
	t.Parallel()
	m := model(t)
	m.Metered = Metered{Batch: {
		Functions: map[string]Function{"send": {Calls: 4, Waits: 1, CPU: 0}}, Queues: map[string]float64{"send": 20},
		Places: []Spent{{Place: metering.Place{Table: "campaigns", Index: "nextCheck", Kind: "BATCH"}, Writes: 8}},
	}}
	l := Load{Plan: "1m", Day: 2e6, Calls: 10, PerCall: 2000, Tenants: 3, Hottest: 0.5}
	busy := m.concurrency(l)["send"]
	for resource, want := range map[string]float64{
		"SSM: keys": busy * 3 / 60, "S3: payloads put": 10, "EventBridge Scheduler: schedules": 7000,
		"new index due of campaigns": 80, "API Gateway: clicks": 4000,
	} {
		if got := find(t, m.Needs(l), resource); math.Abs(got.Need-want) > 1e-9 || got.Value <= 0 {
			t.Errorf("%s: %v of %v, want %v", got.Resource, got.Need, got.Value, want)
		}
	}
	l.Tenants = 1e6
	if got := find(t, m.Needs(l), "SSM: keys"); got.Need != 200 {
		t.Errorf("%v keys a second, want one for each of 200 tasks", got.Need)
	}
}

// With the settings of its plan, a load of 1, 10 or 100 million a day reaches no setting and no
// hard limit in either region, and preflight asks for each quota that it reaches.
func TestPlans_OnlyNamedQuotasBind(t *testing.T) {
	t.Parallel()
	m := model(t)
	for _, p := range Plans {
		asked := m.Quotas(p)
		for _, n := range m.Needs(p.load()) {
			if n.Binds() && !named(asked, n) {
				t.Errorf("Load=%s: %s binds: %.0f of %.0f (%s)", p.Name, n.Resource, n.Need, n.Value, n.Kind)
			}
		}
	}
}

// named reports whether preflight asks for the quota of a need.
func named(asked []Ask, n Need) bool {
	return n.Kind == Quota && slices.ContainsFunc(asked, func(a Ask) bool { return a.Service == n.Service && a.Value >= n.Need })
}

// A campaign of a fifth of the day at its agent's rate leaves a third of every limit, except of quotas that preflight asks for.
func TestBurst_NothingBinds(t *testing.T) {
	t.Parallel()
	m := model(t)
	const most = 0.67
	for _, p := range Plans[1:] {
		asked := m.Quotas(p)
		for _, n := range m.Needs(p.burst()) {
			if n.Share() > most && n.Kind != Delay && !named(asked, n) {
				t.Errorf("Load=%s: %s uses %.0f of %.0f (%s)", p.Name, n.Resource, n.Need, n.Value, n.Kind)
			}
		}
	}
}

// What Events must take is counted by hand. An agent may send 300 messages a second, and all agents 3,300.
func TestEvents_WhatCanBeSent(t *testing.T) {
	t.Parallel()
	m := model(t)
	const environments, most = "events: environments", "all agents at their most: environments of events"
	burst := find(t, m.Needs(Plans[1].burst()), environments).Need
	if want := (300*0.75 + 2*50e3/3600) / 10; math.Abs(burst-want) > 1e-9 { // 50,000 of the hour's messages are of other campaigns
		t.Errorf("a burst needs %v environments, want %v", burst, want)
	}
	all := find(t, m.Needs(Plans[1].load()), most)
	if want := (3300 + 250e3/3600.0) / 10; math.Abs(all.Need-want) > 1e-9 || all.Value != 510 {
		t.Errorf("all agents need %v of %v environments, want %v of 510", all.Need, all.Value, want)
	}
	if fastest := find(t, m.Needs(Plans[3].load()), most); fastest.Value < fastest.Need*headroom {
		t.Errorf("Load=100m reserves %v environments, %v are needed", fastest.Value, fastest.Need)
	}
	settings := m.Settings["1m"]
	settings.Functions = maps.Clone(settings.Functions)
	settings.Functions["send"] = Setting{Concurrency: 1} // sends 64 messages in 0.15 s
	m.Settings = map[string]Settings{"1m": settings}
	if got, want := m.mostEvents(Plans[1].load()), 64/0.15+250e3/3600; math.Abs(got-want) > 1e-9 {
		t.Errorf("one process of send causes %v events a second, want %v", got, want)
	}
}

// What waits while all agents send at their most is counted by hand: 3,300 messages a second have 0.75 events each, and two
// endpoints get a webhook of each message and event. A call makes 32 posts in 0.15 s.
func TestNeeds_AllAgentsAtTheirMost(t *testing.T) {
	t.Parallel()
	m := model(t)
	l := Plans[1].load()
	const notify, outcomes = "all agents at their most: notify", "all agents at their most: outcomes"
	posts := find(t, m.Needs(l), notify)
	if want := 2 * (3300 + 0.75*3300) * 0.15 / 32; math.Abs(posts.Need-want) > 1e-9 || posts.Value != 40 || posts.Share() < 1 || posts.Binds() {
		t.Errorf("notify needs %v of %v, want %v of 40, and it binds: %v", posts.Need, posts.Value, want, posts.Binds())
	}
	mean, most := find(t, m.Needs(l), "outcomes: MaximumConcurrency"), find(t, m.Needs(l), outcomes)
	if want := mean.Need * (0.75 * 3300) / (2 * 250e3 / 3600); math.Abs(most.Need-want) > 1e-9*want || most.Value != 15 {
		t.Errorf("outcomes needs %v of %v, want %v of 15", most.Need, most.Value, want)
	}
	if settings := m.Values(Plans[1]); settings["Notify"] != 40 || settings["Outcomes"] != 15 {
		t.Errorf("the settings %v follow what may wait", settings)
	}
}

// What those cause who watch campaigns is counted by hand: 300 tenants have two pages each and a program, which ask every 5
// seconds. A mean campaign has ten batches.
func TestNeeds_Watching(t *testing.T) {
	t.Parallel()
	m := model(t)
	m.Metered = Metered{Batch: {Functions: map[string]Function{"send": {Calls: 1, Waits: 0, CPU: 0}}}}
	l := Load{Plan: "1m", Day: 6e6, Calls: 1, PerCall: 2000, Tenants: 300, Hottest: 0.1, Batches: 600}
	batches := 5 * 300.0 / 10 // of five days of the hottest tenant, in 10 s
	for resource, want := range map[string]float64{
		"API Gateway: pages of the dashboard":   120,
		"API Gateway: reads of campaigns":       60,
		"table campaigns, reads":                (120+60)*10 + batches,
		"table outcomes, reads":                 (120+60)*10 + batches,
		"recount of the hottest tenant":         batches,
		"rows of the hottest tenant's campaign": 600 / 5.0,
		"pause of all sending":                  m.concurrency(l)["send"] / 3,
		"provider: messages a second":           2000,
	} {
		if got := find(t, m.Needs(l), resource); math.Abs(got.Need-want) > 1e-9 || want == 0 || got.Source == "" {
			t.Errorf("%s: %v of %v (%s), want %v", got.Resource, got.Need, got.Value, got.Source, want)
		}
	}
}

// AWS raises the messages in flight of a standard queue, but not in Service Quotas.
func TestLimits_MessagesInFlight(t *testing.T) {
	t.Parallel()
	n := find(t, model(t).Needs(Loads()[2]), "outcomes: messages in flight")
	if n.Kind != Quota || !strings.Contains(n.Ask, "support request") || n.Service != "" || n.Value != 120_000 {
		t.Errorf("the limit is %+v", n.Limit)
	}
}

// An agent without a rate counts as what the processes of send send for one agent at 0.15 to 0.2 s a message.
func TestPlans_AgentWithoutARate(t *testing.T) {
	t.Parallel()
	m := model(t)
	sent := m.Settings["1m"].Functions["send"].Concurrency * metering.SendConcurrency
	if fastest, slowest := sent/0.15, sent/0.2; campaign.UnlimitedRate > fastest || campaign.UnlimitedRate < slowest {
		t.Errorf("an agent without a rate counts as %d messages a second, want %.0f to %.0f", campaign.UnlimitedRate, slowest, fastest)
	}
	for _, p := range Plans {
		if p.AgentRate < p.Day*burstShare/(6*hour) || p.AgentRate > p.SendRate/6 {
			t.Errorf("Load=%s: AgentRate %v sends a fifth of the day in %.1f hours, of SendRate %v", p.Name, p.AgentRate, p.Day*burstShare/p.AgentRate/hour, p.SendRate)
		}
	}
}

var update = flag.Bool("update", false, "write the values of Load to template.yaml and to localstack/tools/loads.json")

// order is that of the template's mapping Loads.
var order = []string{
	"Events", "Outcomes", "Notify", "Release", "Send", "DispatchRate", "DispatchBurst", "TokenRate", "TokenBurst",
	"LinkRate", "LinkBurst", "ReadRate", "ReadBurst", "DashboardRate", "DashboardBurst", "AgentRate", "SendRate", "DollarsAnHour",
}

// `go test ./localstack/lab/scale -run TestPlans_Published -update` writes both files.
func TestPlans_Published(t *testing.T) {
	t.Parallel()
	m := model(t)
	const templateFile, loadsFile = "../../../template.yaml", "../../tools/loads.json"
	type load struct {
		Plan
		Values map[string]float64 `json:"values"`
		Quotas []Ask              `json:"quotas"`
	}
	source, err := os.ReadFile(templateFile)
	if err != nil {
		t.Fatal(err)
	}
	text, loads := string(source), []load{}
	for _, p := range Plans {
		values := m.Values(p)
		var members []string
		for _, name := range order {
			members = append(members, fmt.Sprintf("%s: %.0f", name, values[name]))
		}
		if len(values) != len(order) {
			t.Errorf("Load=%s: the values %v, want %v", p.Name, values, order)
		}
		line := fmt.Sprintf("    %s: {%s}\n", p.Name, strings.Join(members, ", "))
		text = regexp.MustCompile(`(?m)^    `+p.Name+`: \{.*\}\n`).ReplaceAllString(text, line)
		if !*update && !strings.Contains(string(source), line) {
			t.Errorf("template.yaml: the mapping Loads has not %s", line)
		}
		loads = append(loads, load{p, values, m.Quotas(p)})
	}
	list, err := json.MarshalIndent(loads, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, '\n')
	if *update {
		if err := errors.Join(os.WriteFile(templateFile, []byte(text), 0o600), os.WriteFile(loadsFile, list, 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(loadsFile); err != nil || !bytes.Equal(kept, list) {
		t.Errorf("localstack/tools/loads.json differs from the model (%v): run the test with -update", err)
	}
}

// ConcurrencyAlarm fires at 80% of the concurrency that is left beside the reservation for events, which AWS counts as used.
// The account's is AWS's default, or more if the load needs it.
func TestPlans_ConcurrencyAlarm(t *testing.T) {
	t.Parallel()
	var stack struct {
		Mappings struct {
			Claims map[string]struct {
				Concurrency float64 `yaml:"Concurrency"`
			} `yaml:"Claims"`
		} `yaml:"Mappings"`
	}
	if err := template.Decode("../../../template.yaml", &stack); err != nil {
		t.Fatal(err)
	}
	for _, p := range Plans {
		for _, q := range model(t).Quotas(p) {
			reserved := model(t).Values(p)["Events"]
			if want := reserved + 0.8*(max(q.Default, q.Value)-reserved); q.Service == "lambda" && math.Abs(stack.Mappings.Claims[p.Name].Concurrency-want) > 0.5 {
				t.Errorf("Load=%s: the mapping Claims has %v, want %v", p.Name, stack.Mappings.Claims[p.Name].Concurrency, want)
			}
		}
	}
}

// docs/operations.md has a row for each load.
func TestOperationsPage_Loads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(text), ",", "")
	for _, p := range Plans {
		v := model(t).Values(p)
		row := fmt.Sprintf(`(?m)^\| `+"`%s`"+`.*? \| %.0f \| %.0f \| (none|%.0f) \| %.0f \| %.0f \| %.0f dollars? an hour \|$`,
			p.Name, p.Day, p.Hour, v["Events"], v["AgentRate"], v["SendRate"], v["DollarsAnHour"])
		if !regexp.MustCompile(row).MatchString(page) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
	}
}

// A deployed setting is what the mapping has.
func TestPlans_TemplateUsesTheMapping(t *testing.T) {
	t.Parallel()
	m := model(t)
	for _, p := range Plans {
		for _, f := range []string{"events", "outcomes", "notify", "release", "send"} {
			if got, want := m.Settings[p.Name].Functions[f].Concurrency, m.Values(p)[title(f)]; got != want {
				t.Errorf("Load=%s: concurrency %v of %s, want %v", p.Name, got, f, want)
			}
		}
	}
}

// The cost alarm does not fire in the busiest planned hour, and fires at twice its cost.
func TestPlans_CostAlarm(t *testing.T) {
	t.Parallel()
	m := model(t)
	text, err := os.ReadFile("../../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\| with two endpoints \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/proofs.md has no cost of a million messages by load")
	}
	for i, p := range Plans {
		published, err := strconv.ParseFloat(string(found[1+i]), 64)
		if err != nil {
			t.Fatal(err)
		}
		planned := p.Hour / 1e6 * published
		if alarm := m.Values(p)["DollarsAnHour"]; alarm < 2*planned || alarm > 2.2*planned+1 {
			t.Errorf("Load=%s: the alarm fires at %v dollars an hour, %v are simulated for the busiest one", p.Name, alarm, planned)
		}
	}
}

func TestNeeds_TemplateSettings(t *testing.T) {
	t.Parallel()
	m := model(t)
	for name, want := range map[string]Setting{
		"send":     {Memory: 0.5, BatchSize: 5, Concurrency: 50},
		"outcomes": {Memory: 0.5, BatchSize: 250, Window: 1, Concurrency: 15},
		"events":   {Memory: 0.25, Concurrency: 510},
	} {
		if got := m.Settings["1m"].Functions[name]; got != want {
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
	bound := 0
	for _, l := range Loads() {
		needs := m.Needs(l)
		if slices.ContainsFunc(needs, Need.Binds) {
			bound++
		}
		if !slices.IsSortedFunc(needs, func(a, b Need) int { return int(1e6*b.Share()) - int(1e6*a.Share()) }) {
			t.Errorf("%s: the needs are not sorted", l.Name)
		}
	}
	var out strings.Builder
	if err := m.Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []string{"lambda, Concurrent executions: 5100", "ssm, Parameter Store's higher throughput: 110", "table, outcomes: 5500"} {
		if !strings.Contains(out.String(), ask) {
			t.Errorf("the printed loads do not ask for %s", ask)
		}
	}
	if got := strings.Count(out.String(), "binds first"); got != bound || bound == 0 {
		t.Errorf("%d of %d loads have a limit marked as first", got, bound)
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
	_, section, _ := strings.Cut(string(text), "| resource | `Load=1m` |")
	table, after, _ := strings.Cut(section, "\n\n")
	rows := regexp.MustCompile(fmt.Sprintf(`(?m)^\| (.+?) \|((?: \d+ \|){%d}) (.+) \|$`, len(loads))).FindAllStringSubmatch(table, -1)
	if len(rows) < 25 {
		t.Fatalf("docs/proofs.md has %d rows of limits with a figure for each load", len(rows))
	}
	for _, row := range rows {
		published := strings.Fields(strings.ReplaceAll(row[2], "|", ""))
		for i, l := range loads {
			n := find(t, m.Needs(l), row[1])
			if want := fmt.Sprintf("%.0f", 100*n.Share()); published[i] != want || (row[3] == "no") != (n.Kind == Hard) {
				t.Errorf("%s, %s: docs/proofs.md has %s and %q, the model %s and %s", row[1], l.Name, published[i], row[3], want, n.Kind)
			}
		}
	}
	for resource, l := range map[string]Load{"outcomes: messages in flight": loads[2], "index due of campaigns": loads[4]} {
		from := fmt.Sprintf("from %.0f ", l.Messages()/find(t, m.Needs(l), resource).Share())
		if verdict, _, _ := strings.Cut(after, "\n\n"); !strings.Contains(verdict, from) {
			t.Errorf("%s: the summary in docs/proofs.md does not contain %q: %s", l.Name, from, verdict)
		}
	}
}

// The documentation promises the webhooks of a flood of events within a minute.
func TestFlood_WebhooksInAMinute(t *testing.T) {
	t.Parallel()
	m := model(t)
	const flood = 50_000.0
	for isolated, most := range map[float64]float64{0: 13, mixIsolated: 22, 1: 52} {
		slowest := 0.0
		for _, f := range []string{"events", "outcomes", "notify"} {
			busy := flood*isolated*m.seconds("1m", f, Isolated, m.Metered[Isolated].Functions[f]) +
				flood*(1-isolated)/GroupSize*m.seconds("1m", f, Group, m.Metered[Group].Functions[f])
			slowest = max(slowest, busy/m.Settings["1m"].Functions[f].Concurrency)
		}
		if slowest > most {
			t.Errorf("%.0f s for a flood of which a share of %v is isolated, want %v at most", slowest, isolated, most)
		}
	}
}
