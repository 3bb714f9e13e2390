package scale

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/localstack/lab/metering"
)

// Limit is a limit of AWS or of a setting in the template.
type Limit struct {
	Value    float64 `json:"value"`     // in us-east-1
	SaoPaulo float64 `json:"sa-east-1"` // 0 is the same
	Kind     Kind    `json:"kind"`
	Ask      string  `json:"ask"`     // the quota or the setting to raise
	Service  string  `json:"service"` // that preflight asks for the quota, or "" if it does not
	Source   string  `json:"source"`
}

// Kind is the kind of a limit.
type Kind string

// A hard limit is fixed, AWS raises a quota, and a deployment raises a setting. Work that exceeds a delay waits in its queue,
// and nothing is lost: a load may exceed it.
const (
	Hard   Kind = "hard"
	Quota  Kind = "quota"
	Config Kind = "setting"
	Delay  Kind = "delay"
)

// Need is the use of a resource at the peak of a load.
type Need struct {
	Limit

	Resource string
	Need     float64
	Setting  string // key of the template's mapping Loads
}

// there returns the limit in sa-east-1.
func (l Limit) there() float64 { return cmp.Or(l.SaoPaulo, l.Value) }

// Binds reports whether the load reaches a limit that it must not exceed.
func (n Need) Binds() bool { return n.Share() >= 1 && n.Kind != Delay }

// Share returns the used share of the limit in the region with the lower one. At 1 the load reaches the limit.
func (n Need) Share() float64 { return n.Need / min(n.Value, n.there()) }

//go:embed limits.json
var limitList []byte

// Model computes the needs of loads.
type Model struct {
	Metered  Metered
	Settings map[string]Settings // by value of the parameter Load
	Limits   map[string]Limit
}

// New returns the model of the metered steps and the settings of a template.
func New(templatePath string) (m Model, err error) {
	if m.Metered, err = Measured(); err != nil {
		return m, err
	}
	if m.Settings, err = ReadSettings(templatePath); err != nil {
		return m, err
	}
	if err := json.Unmarshal(limitList, &m.Limits); err != nil {
		return m, fmt.Errorf("read the limits: %w", err)
	}
	return m, nil
}

// Needs returns the needs of a load, with the largest share first.
func (m Model) Needs(l Load) []Need {
	used := m.Metered.Sum(l.Steps())
	needs := slices.Concat(m.rows(l, used), m.functions(l, used), m.entries(l, used))
	slices.SortStableFunc(needs, func(a, b Need) int { return cmp.Compare(b.Share(), a.Share()) })
	return needs
}

func (m Model) need(limit, resource string, need float64) Need {
	return Need{Limit: m.Limits[limit], Resource: resource, Need: need}
}

func setting(value float64, name, resource string, need float64) Need {
	limit := Limit{Value: value, Kind: Config, Ask: "template.yaml: " + name, Source: "template.yaml"}
	return Need{Limit: limit, Resource: resource, Need: need, Setting: name}
}

// hotKey is a hash key of a table or an index with many units per second.
type hotKey struct {
	name  string
	match func(p metering.Place) bool
	share func(l Load) float64 // share of the hottest key in all units
}

func rowsOf(table string, kinds ...string) func(metering.Place) bool {
	return func(p metering.Place) bool {
		return p.Table == table && p.Index == "" && slices.Contains(kinds, p.Kind)
	}
}

func entriesOf(table, attribute string) func(metering.Place) bool {
	return func(p metering.Place) bool { return p.Table == table && p.Index == attribute }
}

func hottest(l Load) float64 { return l.Hottest }

// hotKeys, batchRows and tenantRows are the rows that many messages share. Change them together with the row keys.
var (
	hotKeys = []hotKey{
		{fmt.Sprintf("index due of campaigns, hottest of its %d keys, writes", dynamo.DueShards), entriesOf("campaigns", "nextCheck"), dueShare},
		{"index campaigns, key of the hottest tenant, writes", entriesOf("campaigns", "listAs"), hottest},
		{"campaign rows (META, BATCH, SET) of the hottest tenant, writes", rowsOf("campaigns", "META", "BATCH", "SET", "PROGRESS"), hottest},
		{"rate of an agent (RATE), writes", rowsOf("campaigns", "RATE"), hottest},
		{"call counter of a tenant (CALLS), writes", rowsOf("auth", "CALLS"), hottest},
	}
	batchRows  = rowsOf("outcomes", "HEAD", "LOG")
	tenantRows = rowsOf("campaigns", "TENANT", "ENDPOINT", "CIRCUIT")
	dayRows    = rowsOf("campaigns", "DAYS")
)

// dueShare returns the share of the hottest key of the due index. All rows of a tenant are in one part of the keys.
func dueShare(l Load) float64 {
	const keys, ofPart = 1.0 / dynamo.DueShards, dynamo.DueShards / dynamo.DueSections
	return math.Max(keys, l.Hottest/ofPart)
}

// rows returns the needs of tables and keys.
func (m Model) rows(l Load, used Step) (needs []Need) {
	for _, k := range hotKeys {
		needs = append(needs, m.need("partitionWrites", k.name, used.at(k.match).Writes*k.share(l)))
	}
	for _, table := range []string{"campaigns", "outcomes", "webhooks", "auth"} {
		units := used.at(func(p metering.Place) bool { return p.Table == table && p.Index == "" })
		units.Reads += watching(l)[table]
		if table == "webhooks" {
			units.Writes += keptPosts(l)
		}
		needs = append(needs,
			m.need("tableWrites", "table "+table+", writes", units.Writes), m.need("tableReads", "table "+table+", reads", units.Reads),
			m.need("newTableWrites", "table "+table+" while it is new, writes", units.Writes))
	}
	for _, index := range [][2]string{{"due", "nextCheck"}, {"campaigns", "listAs"}} {
		units := used.at(entriesOf("campaigns", index[1]))
		needs = append(needs, m.need("newIndexWrites", "new index "+index[0]+" of campaigns, writes", units.Writes))
	}
	return append(needs,
		m.need("partitionWrites", "rows of a batch (HEAD, LOG), writes", m.batchWrites(l)),
		m.need("partitionWrites", "post counter of a tenant and hour (STATS), writes", Endpoints*l.webhooks()*l.Hottest/webhook.PerWrite),
		m.need("partitionWrites", "results of a tenant's day (DAYS), writes", m.dayWrites(l)),
		m.need("partitionWrites", "kept posts of an endpoint (POSTS), writes", keptPosts(l)/Endpoints*l.Hottest),
		m.need("partitionWrites", fmt.Sprintf("index due of webhooks, one of the %d partition keys of a failing endpoint, writes",
			dynamo.DeliveryShards), m.downWrites(l)),
		m.need("partitionReads", "rows of a tenant (TENANT, ENDPOINT, CIRCUIT), reads", m.tenantReads(l, used)),
		m.need("partitionReads", "SET rows of a campaign, reads of cold dispatch environments", m.coldReads(l)),
		m.need("partitionReads", "pause of all sending (PAUSE#all), reads of send environments", m.concurrency(l)["send"]/pauseCached),
		m.need("partitionReads", "rows of the hottest tenant's campaign, reads of its state", l.Batches*batchReads*pollers/pollEvery),
		m.need("tableReads", "recount of the hottest tenant, reads of a table", l.recounted()*batchReads))
}

const (
	// pauseCached is how long an environment of send caches the pause of all sending, in seconds.
	pauseCached = 3
	// batchReads are the units of reading the state of a batch, in the table of campaigns and in that of outcomes.
	batchReads = 1
)

// watching returns the reads of those who watch campaigns, by table: pages, programs and the recount. The metered steps
// do not contain them.
func watching(l Load) map[string]float64 {
	states := ((l.pages()+l.stateReads())*l.meanBatches() + l.recounted()) * batchReads
	return map[string]float64{"campaigns": states, "outcomes": states}
}

// dayWrites returns the writes of the hottest tenant's day. A call writes it once for all its
// messages, and outcomes collects the events of a window before a call.
func (m Model) dayWrites(l Load) float64 {
	outcomes := m.Settings[l.Plan].Functions["outcomes"]
	calls := outcomes.Concurrency / math.Max(1, outcomes.Window)
	return l.Calls*m.Metered[l.call()].at(dayRows).Writes*l.Hottest + math.Min(calls, l.Events()*l.Hottest)
}

// keptPosts returns the writes of kept posts: a sample, so that metered steps do not contain
// them. At the peak of a load the first posts of an hour do not count.
func keptPosts(l Load) float64 { return Endpoints * l.webhooks() / webhook.KeptEach }

// downWrites returns the index writes for an endpoint of the hottest tenant that rejects everything: one for each task.
func (m Model) downWrites(l Load) float64 {
	tasks := 0.0
	for name, n := range l.Steps() {
		tasks += n * m.Metered[name].Queues["notify"]
	}
	return tasks / Endpoints * l.Hottest / dynamo.DeliveryShards
}

// batchWrites returns the writes of a batch that is sent within one second. The worst
// case is that every concurrent outcomes call has a group of its events in each window.
func (m Model) batchWrites(l Load) float64 {
	sent, outcomes := m.Metered[l.call()], m.Settings[l.Plan].Functions["outcomes"]
	groups := outcomes.Concurrency / math.Max(1, outcomes.Window)
	return sent.at(batchRows).Writes + math.Min(groups, l.PerCall)*m.Metered[Group].at(batchRows).Writes
}

// tenantReads returns the reads of the hottest tenant's rows. Each environment caches them.
func (m Model) tenantReads(l Load, used Step) float64 {
	const cached = 3 // seconds
	busy := m.concurrency(l)
	each := m.Metered[Isolated].at(tenantRows).Reads
	return math.Min(used.at(tenantRows).Reads*l.Hottest, each*(busy["outcomes"]+busy["notify"]+busy["send"])/cached)
}

// coldReads returns the eventually consistent reads of new dispatch environments. Each
// reads the rows of a half accepted campaign, which transactions have written. While
// the load rises, at least one environment starts.
func (m Model) coldReads(l Load) float64 {
	const transaction, readKilobytes = 2, 8
	kilobytes := m.Metered[l.call()].at(rowsOf("campaigns", "SET")).Writes / transaction
	started := math.Max(1, m.concurrency(l)["dispatch"]*l.Hottest) / rise
	return l.Batches / 2 * kilobytes / readKilobytes * started
}

// functions returns the needs of Lambda and of the functions' queues. In flight are the
// messages in the batching window and in running calls.
func (m Model) functions(l Load, used Step) (needs []Need) {
	busy := m.concurrency(l)
	all, largest := 0.0, 0.0
	for _, f := range slices.Sorted(maps.Keys(busy)) {
		s := m.Settings[l.Plan].Functions[f]
		all, largest = all+busy[f], math.Max(largest, busy[f])
		if s.BatchSize > 0 {
			needs = append(needs, m.need("mappingConcurrency", f+": calls at once by its queue", busy[f]),
				setting(s.Concurrency, title(f), f+": MaximumConcurrency", busy[f]),
				m.need("inFlight", f+": messages in flight", used.Queues[f]*s.Window+busy[f]*s.BatchSize))
		}
	}
	return append(needs,
		m.need("lambdaConcurrency", "Lambda: environments of all functions", all),
		m.need("lambdaScaling", "Lambda: environments of one function started in 10 s", largest*scalingPeriod/rise),
		m.events(l, "events: environments", busy["events"]),
		m.events(l, "all agents at their most: environments of events", m.mostEvents(l)/m.Limits["callsPerEnvironment"].Value),
		m.delay(l, "outcomes", m.concurrency(m.most(l))["outcomes"]),
		m.delay(l, "notify", m.mostPosts(l)/metering.PostsAtOnce*metering.WebhookRoundTrip.Seconds()))
}

// mostSent returns the most messages a second that the agents' rates, or the processes of send, let go.
func (m Model) mostSent(l Load) float64 {
	sent := m.Settings[l.Plan].Functions["send"].Concurrency * metering.SendConcurrency / metering.ProviderRoundTrip.Seconds()
	return math.Min(sent, planOf(l.Plan).SendRate)
}

// mostEvents returns the most events a second: one for each message that is sent, and the mean of the busiest hour's reads.
// Google may post an event of each phone that is on within seconds.
func (m Model) mostEvents(l Load) float64 { return m.mostSent(l) + planOf(l.Plan).Hour/hour }

// most returns the load while all agents send at their most, some minutes after they began.
func (m Model) most(l Load) Load {
	l.Burst = m.mostSent(l)
	l.Calls = l.Burst / l.PerCall
	return l
}

// mostPosts returns the posts of that load a second: of each message that it was sent, and of its events.
func (m Model) mostPosts(l Load) float64 { return Endpoints * m.most(l).webhooks() }

// delay returns a need of calls at once of a function that gets the tasks of all agents at their most.
func (m Model) delay(l Load, function string, busy float64) Need {
	n := setting(m.Settings[l.Plan].Functions[function].Concurrency, title(function), "all agents at their most: "+function+", calls at once", busy)
	n.Setting, n.Kind = "", Delay // its queue takes the rest
	return n
}

// events returns a need of environments of the events function. The smallest load reserves none for it.
func (m Model) events(l Load, resource string, busy float64) Need {
	if l.Plan == Plans[0].Name {
		return m.need("lambdaConcurrency", resource, busy)
	}
	return setting(m.Settings[l.Plan].Functions["events"].Concurrency, "Events", resource, busy)
}

// concurrency returns the busy environments of each function.
func (m Model) concurrency(l Load) map[string]float64 {
	busy := map[string]float64{}
	steps := l.Steps()
	for _, name := range slices.Sorted(maps.Keys(steps)) {
		for f, used := range m.Metered[name].Functions {
			busy[f] += steps[name] * m.seconds(l.Plan, f, name, used)
		}
	}
	for f, calls := range map[string]float64{
		"token": steps[Token], "dispatch": l.Calls, "events": l.Events(), "campaigns": l.clicks() + l.stateReads(), "dashboard": l.pages(),
	} {
		busy[f] = math.Max(busy[f], calls/m.Limits["callsPerEnvironment"].Value)
	}
	return busy
}

// seconds returns how long a function is busy with one step. The metering has one call
// for each isolated event of a full batch, and one outcomes call for all those of
// single messages, as on AWS. AWS gives notify more tasks in a call than the emulator.
func (m Model) seconds(plan, function, step string, used Function) float64 {
	set := m.Settings[plan].Functions[function]
	alone := step == Isolated || step == IsolatedSingle
	if shared, ok := m.Metered[IsolatedSingle].Functions[function]; ok && alone {
		used = shared
	}
	waited := used.Waits * metering.AWSRoundTrip.Seconds()
	switch {
	case function == "send":
		messages := map[string]float64{Batch: campaign.MaxMessages, Single: 1}[step]
		waited += rounds(messages, used.Calls, metering.SendConcurrency) * metering.ProviderRoundTrip.Seconds()
	case function == "notify" && alone:
		calls := m.Metered[step].Queues[function] / set.BatchSize // full calls
		waited = calls * (waited/used.Calls + metering.WebhookRoundTrip.Seconds())
	case function == "notify":
		waited += rounds(Endpoints*GroupSize, Endpoints, metering.PostsAtOnce) * metering.WebhookRoundTrip.Seconds()
	}
	waiting, computing := metering.GBSeconds(set.Memory, waited, used.CPU)
	return (waiting + computing) / set.Memory
}

// rounds returns the sequential requests of all calls. The calls share the requests
// evenly and each makes atOnce of them concurrently.
func rounds(things, calls, atOnce float64) float64 {
	calls = math.Max(1, calls)
	return calls * math.Ceil(things/calls/atOnce)
}

// entries returns the needs of the API, KMS, EventBridge Scheduler, SSM and S3.
func (m Model) entries(l Load, used Step) []Need {
	tokens, set := l.Steps()[Token], m.Settings[l.Plan]
	tenant := setting(set.Parameters["TenantDispatchRate"], "TenantDispatchRate", "dispatch: calls a second of one tenant", l.Calls*l.Hottest)
	tenant.Setting = "" // a limit of a tenant, whatever the load
	together := setting(set.Values["SendRate"], "SendRate", "provider: messages a second of all agents", l.Messages())
	together.Setting = "" // decided, see Plans
	return []Need{
		m.need("apiCalls", "API Gateway: calls a second", l.Calls+tokens+l.clicks()+l.stateReads()+l.pages()),
		setting(set.Values["DispatchRate"], "DispatchRate", "API Gateway: calls of dispatch a second", max(l.Calls, l.Messages()/fewPerCall)),
		setting(set.Values["TokenRate"], "TokenRate", "API Gateway: calls of token a second", tokens),
		setting(set.Values["LinkRate"], "LinkRate", "API Gateway: clicks on links a second", l.clicks()),
		setting(set.Values["ReadRate"], "ReadRate", "API Gateway: reads of campaigns a second", l.stateReads()),
		setting(set.Values["DashboardRate"], "DashboardRate", "API Gateway: pages of the dashboard a second", l.pages()),
		tenant, together,
		m.need("kmsSignatures", "KMS: signatures a second", used.Signed),
		m.need("createSchedule", "EventBridge Scheduler: CreateSchedule a second", l.Calls),
		m.need("scheduleInvocations", "EventBridge Scheduler: invocations a second", l.Calls),
		m.need("schedules", "EventBridge Scheduler: schedules that wait", l.Day/l.PerCall*daysAhead),
		m.need("keyReads", "SSM: keys of agents that send reads a second", m.keyReads(l, used)),
		m.need("prefixPuts", "S3: payloads put a second", l.Calls),
	}
}

// keyReads returns the reads of agents' keys while the load rises: each new environment of send reads the key
// of each agent that it sends for, at most one for each task.
func (m Model) keyReads(l Load, used Step) float64 {
	return math.Min(used.Queues["send"], m.concurrency(l)["send"]*float64(l.Tenants)/rise)
}
