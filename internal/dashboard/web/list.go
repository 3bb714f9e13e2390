package web

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// ListPage is a page of a list.
type ListPage[T any] struct {
	Items []T
	From  int // number of items before it
	Next  int // start of the next page, 0 for none
	Prior int // start of the previous page, if From is not 0
}

// ListPageOf returns the page of a list that starts at the page's parameter "from". If the
// list has become shorter, it returns the end of the list.
func ListPageOf[T any](p *Page, all []T, size int) (ListPage[T], error) {
	return ReadListPage(p, len(all), size, func(from, to int) ([]T, error) { return all[from:to], nil })
}

// ReadListPage is ListPageOf for a list of n items that reads only the items of the page: those from
// from, before to.
func ReadListPage[T any](p *Page, n, size int, read func(from, to int) ([]T, error)) (ListPage[T], error) {
	from, err := From(p)
	if err != nil {
		return ListPage[T]{}, err
	}
	from = min(from, max(0, n-1)/size*size)
	page := ListPage[T]{From: from, Prior: max(0, from-size)}
	if from+size < n {
		page.Next = from + size
	}
	page.Items, err = read(from, min(from+size, n))
	return page, err
}

// Convert returns a page with other items.
func Convert[T, U any](page ListPage[T], as func(T) U) ListPage[U] {
	converted := ListPage[U]{From: page.From, Next: page.Next, Prior: page.Prior}
	for _, item := range page.Items {
		converted.Items = append(converted.Items, as(item))
	}
	return converted
}

// From returns the parameter "from". The error wraps campaign.ErrNotFound if it is
// invalid.
func From(p *Page) (int, error) {
	text := p.Query("from")
	if text == "" {
		return 0, nil
	}
	from, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, campaign.ErrNotFound
	}
	return int(from), nil
}

// Period is the time that a list shows, by the parameters "from" and "to".
type Period struct {
	// From and To are dates such as 2026-11-23 in São Paulo, both included, or "".
	From, To string
	// Start is the first instant, and End the first one after the period; zero without a limit.
	Start, End time.Time
}

// ReadPeriod returns the period of a request. The error wraps campaign.ErrNotFound for an invalid date.
func ReadPeriod(p *Page) (d Period, err error) {
	d.From, d.To = p.Query("from"), p.Query("to")
	if d.Start, err = startOf(d.From, 0); err == nil {
		d.End, err = startOf(d.To, 1)
	}
	return d, err
}

// startOf returns the start of a date, some days later, the zero time for no date.
func startOf(date string, days int) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	at, err := localtime.Parse(date + "T00:00:00")
	if err != nil {
		return time.Time{}, campaign.ErrNotFound
	}
	return at.AddDate(0, 0, days), nil
}
