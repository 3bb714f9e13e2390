package web

import (
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// Part is a page of a list.
type Part[T any] struct {
	Items []T
	From  int // number of items before it
	Next  int // start of the next part, 0 for none
	Prior int // start of the previous part, if From is not 0
}

// PartOf returns the part of a list that starts at the page's parameter "from". If the
// list has become shorter, it returns the end of the list.
func PartOf[T any](p *Page, all []T, size int) (Part[T], error) {
	return ReadPart(p, len(all), size, func(from, to int) ([]T, error) { return all[from:to], nil })
}

// ReadPart is PartOf for a list of n items that reads only the items of the part: those from
// from, before to.
func ReadPart[T any](p *Page, n, size int, read func(from, to int) ([]T, error)) (Part[T], error) {
	from, err := From(p)
	if err != nil {
		return Part[T]{}, err
	}
	from = min(from, max(0, n-1)/size*size)
	part := Part[T]{From: from, Prior: max(0, from-size)}
	if from+size < n {
		part.Next = from + size
	}
	part.Items, err = read(from, min(from+size, n))
	return part, err
}

// Convert returns a part with other items.
func Convert[T, U any](part Part[T], as func(T) U) Part[U] {
	converted := Part[U]{From: part.From, Next: part.Next, Prior: part.Prior}
	for _, item := range part.Items {
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
