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
}

// Plans are the values of Load, the smallest first.
var Plans = []Plan{{"small", 100e3, 25e3}, {"1m", 1e6, 250e3}, {"10m", 10e6, 2.5e6}, {"100m", 100e6, 25e6}}

func (p Plan) load() Load {
	return Load{
		Name: fmt.Sprintf("Load=%s: %g million messages a day, a quarter of them in the busiest hour, %d tenants", p.Name, p.Day/1e6, tenants),
		Plan: p.Name, Day: p.Day,
		Calls: p.Hour / hour / campaign.MaxMessages, PerCall: campaign.MaxMessages, Tenants: tenants, Hottest: zipf(tenants), Isolated: mixIsolated,
		Batches: p.Day * zipf(tenants) / campaign.MaxMessages,
	}
}

const (
	headroom   = 1.5 // a setting or a quota, as a multiple of its need
	unreserved = 100 // concurrency that AWS does not let an account reserve
)

// least are the smallest settings. They take a flood of 50,000 events, or a campaign on a quiet day.
var least = map[string]float64{
	"Events": 100, "Outcomes": 15, "Notify": 40, "Release": 10, "Send": 50,
	"DispatchRate": 50, "TokenRate": 50, "LinkRate": 500,
}

// Values returns the values of the template's mapping Loads for a plan. CostAlarm fires at twice the simulated cost of the
// busiest hour: the metered cost holds for full calls only.
func (m Model) Values(p Plan) map[string]float64 {
	values := map[string]float64{"Events": 0, "DollarsAnHour": math.Ceil(2 * p.Hour / bill.Million * bill.AtLoad(p.Day).Dollars)}
	for _, n := range m.Needs(p.load()) {
		if n.Setting == "" {
			continue
		}
		values[n.Setting] = max(least[n.Setting], planned(n.Need))
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
