package web

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// The intervals in which pages update themselves.
const (
	Soon   = 2 * time.Second // of a page that waits for something short
	Often  = 5 * time.Second
	Slow   = 15 * time.Second
	Seldom = time.Minute
)

// The times after which a page slows down. A tab that is left open then makes at most 800 requests in 8 hours, whatever it
// waits for: 15 in the first half minute, 174 in the rest of the first quarter of an hour, 180 in the rest of the first hour,
// and 60 in each other hour.
const (
	oftenAfter  = 30 * time.Second
	slowAfter   = 15 * time.Minute
	SeldomAfter = time.Hour
)

// opened is the parameter of updates with the time at which their page was opened, in seconds since 1970.
const opened = "opened"

// OpenedAt returns when the page was opened that a request updates: now if it is no update.
func (p *Page) OpenedAt() time.Time {
	now := p.ui.Now()
	seconds, err := strconv.ParseInt(p.Query(opened), 10, 64)
	if at := time.Unix(seconds, 0); err == nil && at.Before(now) {
		return at
	}
	return now
}

// Interval returns the interval in which a page updates itself: at least that in which it changes, and longer if the page is
// open for long. It is 0 for a page that never changes.
func (p *Page) Interval(changes time.Duration) time.Duration {
	switch age := p.ui.Now().Sub(p.OpenedAt()); {
	case changes == 0:
		return 0
	case age >= SeldomAfter:
		return max(changes, Seldom)
	case age >= slowAfter:
		return max(changes, Slow)
	case age >= oftenAfter:
		return max(changes, Often)
	}
	return changes
}

// Every returns Interval as htmx reads it.
func (p *Page) Every(changes time.Duration) string { return Seconds(p.Interval(changes)) }

// Seconds returns an interval as htmx reads it, "" for none.
func Seconds(interval time.Duration) string {
	if interval == 0 {
		return ""
	}
	return strconv.Itoa(int(interval/time.Second)) + "s"
}

// Soon returns the interval of a page that waits for something short, as htmx reads it.
func (p *Page) Soon() string { return p.Every(Soon) }

// UpdateFrom returns the URL of the page's next update, from a path of the dashboard with its parameters. It has the time at
// which the page was opened.
func (p *Page) UpdateFrom(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	q.Set(opened, strconv.FormatInt(p.OpenedAt().Unix(), 10))
	u.RawQuery = q.Encode()
	return u.String()
}

// RefreshEvery lets a browser without scripts load the page again, in Interval. changes is not 0.
func (p *Page) RefreshEvery(changes time.Duration) {
	p.Refresh = fmt.Sprintf("%d; url=%s", p.Interval(changes)/time.Second, p.UpdateFrom(p.R.URL.RequestURI()))
}
