package scale

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/metering"
)

// Print prints a table of needs and a summary for each load.
func (m Model) Print(w io.Writer) error {
	sources := map[string]bool{}
	for _, l := range Loads() {
		needs := m.Needs(l)
		fmt.Fprintf(w, "%s: %.0f messages and %.0f events a second\n", l.Name, l.Messages(), l.Events())
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "resource\tneed at peak\tus-east-1\tsa-east-1\tshare\tkind\traise")
		first := slices.IndexFunc(needs, Need.Binds)
		for i, n := range needs {
			if sources[n.Source] = true; i == first {
				n.Ask += " ← binds first"
			}
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.0f\t%.1f%%\t%s\t%s\n", n.Resource, amount(n.Need), n.Value, n.there(), 100*n.Share(), n.Kind, n.Ask)
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
		fmt.Fprintf(w, "%s Preflight asks for: %s.\n\n", Summary(l, needs), m.asks(l))
	}
	m.printAssumptions(w)
	delete(sources, "template.yaml")
	fmt.Fprintln(w, "\nSources of AWS's limits:")
	for _, s := range slices.Sorted(maps.Keys(sources)) {
		fmt.Fprintln(w, "-", s)
	}
	return nil
}

func amount(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.2f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// Summary names the limits that a load reaches, and the rate at which it reaches a hard one.
func Summary(l Load, needs []Need) string {
	bound := map[Kind][]string{}
	for _, n := range needs {
		switch {
		case !n.Binds():
		case n.Kind == Hard:
			bound[Hard] = append(bound[Hard], fmt.Sprintf("%s from %.0f messages a second on", n.Resource, l.Messages()/n.Share()))
		default:
			bound[n.Kind] = append(bound[n.Kind], fmt.Sprintf("%s (%s)", n.Resource, n.Ask))
		}
	}
	text := "No hard limit binds."
	if len(bound[Hard]) > 0 {
		text = "NOT MET: hard limits of the design bind: " + strings.Join(bound[Hard], "; ") + "."
	}
	return text + " Settings that bind: " + listed(bound[Config]) + ". Quotas that bind: " + listed(bound[Quota]) + "."
}

// asks lists the quotas of a planned load that are higher than AWS's defaults.
func (m Model) asks(l Load) string {
	var asks []string
	for _, p := range Plans {
		for _, q := range m.Quotas(p) {
			if p.Name == l.Plan && p.Day == l.Day && q.Value > q.Default {
				asks = append(asks, fmt.Sprintf("%s, %s: %.0f", q.Service, q.Name, q.Value))
			}
		}
	}
	return listed(asks)
}

func listed(bound []string) string { return cmp.Or(strings.Join(bound, "; "), "none") }

// assumed is the format of the assumptions.
//
//go:embed assumed.txt
var assumed string

func (Model) printAssumptions(w io.Writer) {
	fmt.Fprintf(w, assumed, Endpoints, campaign.MaxMessages, GroupSize, eventsPerMessage,
		metering.AWSRoundTrip, metering.ProviderRoundTrip, metering.SendConcurrency, metering.WebhookRoundTrip, metering.PostsAtOnce, credentials)
}
