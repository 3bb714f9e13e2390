package campaigns

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
)

// period filters the list by the time by which campaigns are listed.
type period struct {
	// From and To are dates such as 2026-11-23 in São Paulo, both included, or "".
	From, To string

	from, until string // the cursors before and after the period, or ""
}

// readPeriod reads the period of a request. An invalid date is campaign.ErrNotFound.
func readPeriod(p *web.Page) (d period, err error) {
	d.From, d.To = p.Query("from"), p.Query("to")
	if d.from, err = cursorOf(d.From, 0); err != nil {
		return d, err
	}
	d.until, err = cursorOf(d.To, 1)
	return d, err
}

// cursorOf returns a cursor at the start of a date, some days later, "" for no date.
func cursorOf(date string, days int) (string, error) {
	if date == "" {
		return "", nil
	}
	at, err := localtime.Parse(date + "T00:00:00")
	if err != nil {
		return "", campaign.ErrNotFound
	}
	return fmt.Sprintf("%014d#", max(0, at.AddDate(0, 0, days).UnixMilli())), nil
}

// newest returns the cursor of the period's end, "" for no end.
func (d period) newest() string { return d.until }

// before reports whether a campaign is listed before the period, as are all that follow it.
func (d period) before(c campaign.Listed) bool { return d.from != "" && c.Cursor < d.from }

// listedAt returns the time in a cursor.
func listedAt(cursor string) time.Time {
	ms, _, _ := strings.Cut(cursor, "#")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
