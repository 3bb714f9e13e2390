package outcome

import (
	"context"
	"log/slog"
	"sync"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// Days stores the counts of tenants by day.
type Days interface {
	// AddDay adds counts to a day. A repeated call adds them twice.
	AddDay(ctx context.Context, tenant, date string, counts campaign.DayCounts) error
}

type dayKey struct{ tenant, date string }

// dayCounts sums the counts of one call, so that it adds to the row of a day once. The zero dayCounts is ready to use.
type dayCounts struct {
	mu     sync.Mutex
	counts map[dayKey]campaign.DayCounts
}

func (d *dayCounts) add(tenant, date string, counts campaign.DayCounts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.counts == nil {
		d.counts = map[dayKey]campaign.DayCounts{}
	}
	key := dayKey{tenant, date}
	d.counts[key] = d.counts[key].Plus(counts)
}

// addWrite adds what a write changed. The results of a message count on the day of its batch, so
// that the rates of a day compare the same messages.
func (d *dayCounts) addWrite(e ledgerWrite) {
	if e.batch.Test {
		return
	}
	d.add(e.batch.Tenant, e.batch.Day(), e.after.DayCounts().Minus(e.before.DayCounts()))
}

// storeDays adds the counts to the rows of their days. Errors are only logged: the recount corrects the rows.
func (r *Recorder) storeDays(ctx context.Context, d *dayCounts) {
	if r.Days == nil {
		return
	}
	for key, counts := range d.counts {
		if counts == (campaign.DayCounts{}) {
			continue
		}
		if err := r.Days.AddDay(ctx, key.tenant, key.date, counts); err != nil {
			slog.WarnContext(ctx, "counting results failed; the recount corrects the day", "tenant", key.tenant, "error", err)
		}
	}
}

// addOptOuts counts the numbers of opt-outs on the days of their opt-outs.
func (d *dayCounts) addOptOuts(tenant string, optOuts []optChange) {
	for _, c := range optOuts {
		d.add(tenant, localtime.Day(c.At), campaign.DayCounts{OptedOut: 1})
	}
}

// newOptOuts returns the opt-outs of numbers that were not opted out, one for each number.
func newOptOuts(changes []optChange) (optOuts []optChange) {
	found := map[string]bool{}
	for _, c := range changes {
		if c.isNew && !found[c.Phone] {
			found[c.Phone] = true
			optOuts = append(optOuts, c)
		}
	}
	return optOuts
}
