package web

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

// Upload is the data of the field upload.html, with which a page sends a file in chunks. A page
// that includes it calls UploadTo.
type Upload struct {
	Script string // path of the script
	Path   string // to which the start of an upload is sent
	Chunk  int64  // size of all chunks but the last
	// From is the size from which a form's file is sent in chunks. Smaller ones go in the form.
	From int64
}

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
	from, err := From(p)
	if err != nil {
		return Part[T]{}, err
	}
	from = min(from, max(0, len(all)-1)/size*size)
	part := Part[T]{From: from, Prior: max(0, from-size), Items: all[from:min(from+size, len(all))]}
	if from+size < len(all) {
		part.Next = from + size
	}
	return part, nil
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

// escaped is the size in bytes of an escaped character in HTML.
const escaped = len("&#34;")

// Weight returns the size in bytes of a text in a page.
func Weight(text string) int { return len(text) + (escaped-1)*strings.Count(marks.Replace(text), "&") }

// marks replaces each escaped character by &.
var marks = strings.NewReplacer("<", "&", ">", "&", `"`, "&", "'", "&", "+", "&", "\x00", "&")

// Short returns the text, cut to most bytes in a page.
func Short(text string, most int) string {
	if Weight(text) <= most {
		return text
	}
	left := most - len("…")
	for i, r := range text {
		if left -= Weight(string(r)); left < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// Address returns a URL without its query, which may contain a key: the name, which is
// host and path, and the whole URL.
func Address(address string) (name, all string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	all = u.Scheme + "://" + u.Host + u.Path
	if u.RawQuery != "" {
		all += "?…"
	}
	return u.Host + strings.TrimSuffix(u.Path, "/"), all
}

// Few returns the first names that fit into most bytes in a page, with each bytes of
// markup per name, and the number of omitted names.
func Few(names []string, each, most int) (few []string, more int) {
	for i, name := range names {
		if most -= Weight(name) + each; most < 0 {
			return names[:i], len(names) - i
		}
	}
	return names, 0
}

// Trial is a form that opens a template's test with the values of a message.
type Trial struct {
	TemplateID string
	Values     map[string]string // by variable
}

// maxTrial is the maximum size in bytes of the values in a page.
const maxTrial = 6000

// NewTrial returns the form for a message, or one without values if they are too large.
func NewTrial(templateID string, values map[string]string) Trial {
	size := 0
	for name, value := range values {
		size += Weight(name) + Weight(value)
	}
	if size > maxTrial {
		return Trial{TemplateID: templateID}
	}
	return Trial{templateID, maps.Clone(values)}
}
