package scale

import (
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
		fmt.Fprintln(table, "resource\tneed at peak\tlimit\tshare\tkind\traise")
		firstHard := slices.IndexFunc(needs, func(n Need) bool { return n.Kind == Hard && n.Share() >= 1 })
		for i, n := range needs {
			sources[n.Source] = true
			fmt.Fprintf(table, "%s\t%s\t%.0f\t%.1f%%\t%s\t%s%s\n", n.Resource, amount(n.Need), n.Value, 100*n.Share(), n.Kind, n.Ask, mark(i, n, i == firstHard))
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
		fmt.Fprintf(w, "%s\n\n", Summary(l, needs))
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

// Summary names the hard limits that a load reaches and the rate at which it does.
func Summary(l Load, needs []Need) string {
	var bound []string
	for _, n := range needs {
		if n.Kind == Hard && n.Share() >= 1 {
			bound = append(bound, fmt.Sprintf("%s from %.0f messages a second on", n.Resource, l.Messages()/n.Share()))
		}
	}
	if len(bound) == 0 {
		return "No hard limit binds. Only quotas and settings do."
	}
	return "NOT MET: hard limits of the design bind: " + strings.Join(bound, "; ") + "."
}

func (Model) printAssumptions(w io.Writer) {
	fmt.Fprintf(w, `Assumed:
- Steps are metered on the emulator by AWS's rules (localstack/lab/scale/metered.json), with %d endpoints of a tenant, full batches of %d and groups of %d events of a batch.
- A message has %d events. A quarter of them (half of the reads) are the only event of their batch in the window. With one message in a call all are.
- Tenant shares follow Zipf's law. The hottest tenant has one agent and makes all its calls in one campaign. Its two endpoints receive all kinds of webhooks.
- An AWS call takes %v, a message at the provider %v (%d at once), a webhook %v (%d at once). Processor times are those of this machine.
- The meter counts an index entry twice if a transaction writes its row, as `+"`make cost`"+` does. It excludes sweep and the closing of batches without events.
- Calls of outcomes and notify are full. Release and send receive one task of a single message in a call, which is their worst case.
- Every call is scheduled. Each tenant has %d credentials, which all renew their tokens in the same minute. The 20 million messages are accepted and sent in one hour. A load rises from nothing to its peak in one minute.
- An environment caches a tenant's rows for 3 seconds. One dispatch function per second starts cold and reads half a campaign.
- A partition supports 1,000 writes of a hash key per second. DynamoDB may later split a key's rows by sort key. The model does not rely on it.
- SQS standard queues have no published throughput limit. AWS calls it nearly unlimited.
`, Endpoints, campaign.MaxMessages, GroupSize, eventsPerMessage, metering.AWSRoundTrip, metering.ProviderRoundTrip, metering.SendConcurrency,
		metering.WebhookRoundTrip, metering.PostsAtOnce, credentials)
}
