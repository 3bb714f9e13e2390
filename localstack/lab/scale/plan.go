package scale

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/bill"
)

// Plan is a value of the template's parameter Load, with the most messages that it is for.
type Plan struct {
	Name string  `json:"load"`
	Day  float64 `json:"day"`
	Hour float64 `json:"hour"` // the busiest one
	// AgentRate is the rate of a new agent for which the operator gives none, in messages a second.
	AgentRate float64 `json:"-"`
	// SendRate is the most that the rates of all agents may come to, in messages a second.
	SendRate float64 `json:"-"`
}

// Plans are the values of Load, the smallest first. The rates are decisions and no quotas of the provider: the reference of
// Google's RCS for Business publishes no quota of messages a second, for an agent or for an account, and says to try
// again after a 429. SendRate bounds what Events must take: at 100m nearly what the processes of send can send, and at
// the others what the least reservation of events takes, or what a new account's concurrency takes if nothing is reserved.
// AgentRate sends a fifth of the day's messages in seven minutes to six hours, and leaves room for at least five other agents.
var Plans = []Plan{
	{Name: "small", Day: 100e3, Hour: 25e3, AgentRate: 50, SendRate: 500},
	{Name: "1m", Day: 1e6, Hour: 250e3, AgentRate: 300, SendRate: 3300},
	{Name: "10m", Day: 10e6, Hour: 2.5e6, AgentRate: 500, SendRate: 3300},
	{Name: "100m", Day: 100e6, Hour: 25e6, AgentRate: 1000, SendRate: 21e3},
}

// planOf returns the plan of a value of Load, or the zero plan.
func planOf(name string) (plan Plan) {
	for _, p := range Plans {
		if p.Name == name {
			plan = p
		}
	}
	return plan
}

func (p Plan) load() Load {
	return Load{
		Name: fmt.Sprintf("Load=%s: %g million messages a day, a quarter of them in the busiest hour, %d tenants", p.Name, p.Day/1e6, tenants),
		Plan: p.Name, Day: p.Day,
		Calls: p.Hour / hour / campaign.MaxMessages, PerCall: campaign.MaxMessages, Tenants: tenants, Hottest: zipf(tenants), Isolated: mixIsolated,
		Batches: p.Day * zipf(tenants) / campaign.MaxMessages,
	}
}

// burst returns the load of one campaign of a fifth of the day, which its agent sends at its rate while the rest of the
// busiest hour's messages is sent evenly.
func (p Plan) burst() Load {
	size := p.Day * burstShare
	all := p.AgentRate + (p.Hour-math.Min(size, p.AgentRate*hour))/hour
	return Load{
		Name: fmt.Sprintf("Load=%s, burst: a campaign of %.0f messages at the %.0f a second of AgentRate, beside the rest of the busiest hour",
			p.Name, size, p.AgentRate),
		Plan: p.Name, Day: p.Day, Calls: all / campaign.MaxMessages, PerCall: campaign.MaxMessages, Tenants: tenants,
		Hottest: p.AgentRate / all, Isolated: mixIsolated, Batches: size / campaign.MaxMessages, Burst: p.AgentRate,
	}
}

const (
	headroom   = 1.5 // a setting or a quota, as a multiple of its need
	unreserved = 100 // concurrency that AWS does not let an account reserve
)

// least are the smallest settings. They take a flood of 50,000 events, or a campaign on a quiet day.
var least = map[string]float64{
	"Events": 500, "Outcomes": 15, "Notify": 40, "Release": 10, "Send": 50,
	"DispatchRate": 50, "TokenRate": 50, "LinkRate": 500, "ReadRate": 200, "DashboardRate": 500,
}

// Values returns the values of the template's mapping Loads for a plan. CostAlarm fires at twice the simulated cost of the
// busiest hour: the metered cost holds for full calls only.
func (m Model) Values(p Plan) map[string]float64 {
	values := map[string]float64{
		"Events": 0, "AgentRate": p.AgentRate, "SendRate": p.SendRate,
		"DollarsAnHour": math.Ceil(2 * p.Hour / bill.Million * bill.AtLoad(p.Day).Dollars),
	}
	for _, n := range m.Needs(p.load()) {
		if n.Setting == "" {
			continue
		}
		values[n.Setting] = max(values[n.Setting], least[n.Setting], planned(n.Need))
		if route, ok := strings.CutSuffix(n.Setting, "Rate"); ok {
			values[route+"Burst"] = 2 * values[n.Setting]
		}
	}
	return values
}

// planned returns a need with headroom, rounded up to two digits.
func planned(need float64) float64 {
	const rounding = 1e-9 // of sums in any order
	unit := math.Pow(10, max(0, math.Floor(math.Log10(max(1, headroom*need)))-1))
	return math.Ceil(headroom*need/unit-rounding) * unit
}

// Ask is a quota that a plan needs, by its name in Service Quotas or of a table.
type Ask struct {
	Service string  `json:"service"`
	Name    string  `json:"name"`
	Default float64 `json:"default"` // of a new account
	Value   float64 `json:"value"`
}

// Quotas returns the quotas that a plan needs. All functions together need what their settings let them use.
func (m Model) Quotas(p Plan) []Ask {
	wanted := map[Ask]float64{}
	for _, n := range m.Needs(p.load()) {
		_, name, _ := strings.Cut(n.Ask, ": ")
		if n.Service == "table" {
			name = strings.Fields(n.Resource)[1]
		}
		if q := (Ask{Service: n.Service, Name: name, Default: min(n.Value, n.there())}); n.Service != "" {
			wanted[q] = max(wanted[q], planned(n.Need))
		}
	}
	all, values := float64(unreserved), m.Values(p)
	for f, busy := range m.concurrency(p.load()) {
		all += max(planned(busy), values[title(f)])
	}
	var quotas []Ask
	for q, value := range wanted {
		if q.Value = value; q.Service == "lambda" {
			q.Value = planned(all / headroom)
		}
		quotas = append(quotas, q)
	}
	slices.SortFunc(quotas, func(a, b Ask) int { return strings.Compare(a.Service+a.Name, b.Service+b.Name) })
	return quotas
}

func title(function string) string { return strings.ToUpper(function[:1]) + function[1:] }
