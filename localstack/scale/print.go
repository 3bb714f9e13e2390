package scale

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/metering"
)

// Print prints the table of each load and what it says.
func (m Model) Print(w io.Writer) error {
	sources := map[string]bool{}
	for _, l := range Loads() {
		needs := m.Needs(l)
		fmt.Fprintf(w, "%s: %.0f messages and %.0f events a second\n", l.Name, l.Messages(), l.Events())
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "resource\tneed at peak\tlimit\tshare\tkind\traise")
		firstHard := slices.IndexFunc(needs, func(n Need) bool { return n.Kind == Hard && n.Share() >= 1 })
		for i, n := range needs {
			sources[n.Source] = true
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.1f%%\t%s\t%s%s\n", n.Resource, amount(n.Need), n.Value, 100*n.Share(), n.Kind, n.Ask, mark(i, n, i == firstHard))
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
		fmt.Fprintf(w, "%s\n\n", Verdict(l, needs))
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

func mark(i int, n Need, firstHard bool) string {
	switch {
	case i == 0 && n.Share() >= 1:
		return " ← binds first"
	case firstHard:
		return " ← first hard limit"
	default:
		return ""
	}
}

// Verdict says which limits of the design a load exceeds, and from which rate on.
func Verdict(l Load, needs []Need) string {
	var bound []string
	for _, n := range needs {
		if n.Kind == Hard && n.Share() >= 1 {
			bound = append(bound, fmt.Sprintf("%s from %.0f messages a second on", n.Resource, l.Messages()/n.Share()))
		}
	}
	if len(bound) == 0 {
		return "No hard limit binds: what binds is a quota or a setting."
	}
	return "NOT MET: hard limits of the design bind: " + strings.Join(bound, "; ") + "."
}

func (Model) printAssumptions(w io.Writer) {
	fmt.Fprintf(w, `Assumed:
- Steps are metered on the emulator by AWS's rules (localstack/scale/metered.json), with %d endpoints of a tenant, full batches of %d and groups of %d events of a batch.
- A message has %d events. A quarter of them (half of the reads) are alone in their batch and window; of calls with one message all are.
- Tenant shares follow Zipf's law. The hottest tenant has one agent and makes all its calls in one campaign; its two endpoints take all kinds.
- A call of AWS takes %v, a message at the provider %v (%d at once), a webhook %v (%d at once); processor times are this machine's.
- The meter counts an index entry twice where its row is written in a transaction, as `+"`make cost`"+` does. Closing batches that were never answered, and sweep, are not counted.
- Calls of outcomes and notify are full; release and send take tasks of single messages one a call, which is the most they need.
- Every call is scheduled. Each tenant has %d credentials, which all renew their tokens in the same minute. The 20 million are accepted and sent in one hour. A load rises from nothing to its peak in one minute.
- An environment keeps a tenant's rows for 3 seconds. One dispatch function a second starts cold and reads half a campaign.
- A partition takes 1,000 writes of a hash key. DynamoDB may split a key's rows by their sort keys in time, which is not counted on.
- Standard queues of SQS have no throughput limit to name: AWS calls it nearly unlimited.
`, Endpoints, campaign.MaxMessages, GroupSize, eventsPerMessage, metering.AWSRoundTrip, metering.ProviderRoundTrip, metering.SendConcurrency,
		metering.WebhookRoundTrip, metering.PostsAtOnce, credentials)
}
