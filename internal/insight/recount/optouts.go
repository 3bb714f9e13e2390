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
