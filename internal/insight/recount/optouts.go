package recount

import (
	"context"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

// loggedDays is the number of days whose opt-outs are counted from the log, today included. An opt-out expires
// campaign.OptOutLogLife after it, so that the log has all opt-outs of these days, a day longer than a recount needs.
const loggedDays = int(campaign.OptOutLogLife/(24*time.Hour)) - 1

func startOfLog(now time.Time) (date string) { return localtime.Day(now.AddDate(0, 0, 1-loggedDays)) }

// optOuts counts the numbers that opted out by day. It keeps eight bytes for each entry of the log. An entry of an erased
// number counts for itself.
func (r *Recounter) optOuts(ctx context.Context, tenant string, now time.Time) (map[string]int, error) {
	first, last := startOfLog(now), localtime.Day(now)
	counts, numbers := map[string]int{}, map[string][]e164.Number{}
	for o, err := range r.Store.LoggedOptOuts(ctx, tenant, now.AddDate(0, 0, -loggedDays)) { // an opt-out arrives after it was made
		if err != nil {
			return nil, err
		}
		switch date := localtime.Day(o.At); {
		case date < first, date > last:
		case o.Phone == "":
			counts[date]++
		default:
			numbers[date] = append(numbers[date], e164.Unchecked([]byte(o.Phone)))
		}
	}
	for date, all := range numbers {
		counts[date] += len(numberset.New(all))
	}
	return counts, nil
}

// counted is what a recount found.
type counted struct {
	first   string                        // the first day of results
	results map[string]campaign.DayCounts // by day, without opt-outs; nil if there are no campaigns to count
	optOuts map[string]int                // numbers by day
}

// withStored returns the stored days and the days that are counted and not stored.
func (c counted) withStored(stored []campaign.Day) map[string]campaign.Day {
	days := map[string]campaign.Day{}
	for date := range c.results {
		days[date] = campaign.Day{Date: date}
	}
	for date := range c.optOuts {
		days[date] = campaign.Day{Date: date}
	}
	for _, d := range stored {
		days[d.Date] = d
	}
	return days
}

// corrected returns a day with the counts that were found. Its opt-outs stay if some were counted without the log, by a
// version that did not write it.
func (c counted) corrected(d campaign.Day) campaign.Day {
	optedOut := d.OptedOut
	if c.results != nil && d.Date >= c.first {
		d.DayCounts = c.results[d.Date]
	}
	if optedOut == d.Logged {
		optedOut, d.Logged = c.optOuts[d.Date], c.optOuts[d.Date]
	}
	d.OptedOut = optedOut
	return d
}
