package campaigns

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake/sheet"
)

// order is the order of the list, and the page of an ordered list.
type order struct {
	// Sort is the requested order: a column, with "-" before it for the highest first. "" is
	// by time, the newest first.
	Sort string
	Page int // counts from 0, if Sort is set
	All  int // rows of all pages, if Sort is set
}

func (order) Orders() []string {
	return []string{"", "time", "name", "-name", "-delivered", "delivered", "-read", "read"}
}

func (o order) Sorted() bool { return o.Sort != "" }

// readOrder reads the order of a request. An unknown one is campaign.ErrNotFound.
func readOrder(p *web.Page) (o order, err error) {
	o.Sort = p.Query("sort")
	o.Page, err = strconv.Atoi(cmp.Or(p.Query("part"), "0"))
	if err != nil || o.Page < 0 || !slices.Contains(o.Orders(), o.Sort) {
		return o, campaign.ErrNotFound
	}
	return o, nil
}

// sort sorts the rows. Those without results come last in an order by results.
func (o order) sort(rows []row) {
	column, down := o.column()
	slices.SortStableFunc(rows, func(a, b row) int {
		c, known := compare(column, a, b)
		if known && down {
			c = -c
		}
		return cmp.Or(c, b.When().Compare(a.When()))
	})
}

// column returns the column of the order, and whether the highest comes first.
func (o order) column() (column string, down bool) {
	if o.Sort == "" {
		return "time", true
	}
	column, down = strings.CutPrefix(o.Sort, "-")
	return column, down
}

// compare compares two rows by a column. known is false if one of them has no results.
func compare(column string, a, b row) (c int, known bool) {
	switch column {
	case "time":
		return a.When().Compare(b.When()), true
	case "name":
		return cmp.Compare(sheet.Fold(a.Name), sheet.Fold(b.Name)), true
	}
	if a.Counted() != b.Counted() {
		return map[bool]int{true: -1, false: 1}[a.Counted()], false
	}
	return cmp.Compare(share(column, a), share(column, b)), true
}

func share(column string, r row) float64 {
	rate := r.Rate(insight.Step(column))
	return float64(rate.N) / float64(max(1, rate.Of))
}

// cut leaves the rows of one page, the last one if there are fewer pages.
func (l *listPage) cut() {
	if !l.Sorted() {
		return
	}
	l.All = len(l.Rows)
	l.Page = min(l.Page, max(0, l.All-1)/pageLength)
	from := l.Page * pageLength
	l.Rows = l.Rows[from:min(from+pageLength, l.All)]
}

func (l listPage) LastPage() bool { return (l.Page+1)*pageLength >= l.All }

func (l listPage) PageBefore() string { return strconv.Itoa(l.Page - 1) }

func (l listPage) PageAfter() string { return strconv.Itoa(l.Page + 1) }

type head struct {
	Key  string // of its text
	Link string
	Aria string // the value of aria-sort, or ""
}

func (o order) heads(p *web.Page) map[string]head {
	heads := map[string]head{
		"name": {Key: "campaigns.name"}, "time": {Key: "campaigns.goes"},
		"delivered": {Key: "campaigns.rate.delivered"}, "read": {Key: "campaigns.rate.read"},
	}
	for column, h := range heads {
		heads[column] = head{h.Key, o.link(p, column), o.aria(column)}
	}
	return heads
}

func (o order) aria(column string) string {
	sorted, down := o.column()
	switch {
	case sorted != column:
		return ""
	case down:
		return "descending"
	}
	return "ascending"
}

// link returns the URL of the first page in the order of a column, or in the reverse order if
// the list is in the order of the column.
func (o order) link(p *web.Page, column string) string {
	sorted, down := o.column()
	next := map[string]string{"time": "", "name": "name", "delivered": "-delivered", "read": "-read"}[column]
	switch {
	case sorted == column && down:
		next = column
	case sorted == column && column != "time":
		next = "-" + column
	}
	q := p.R.URL.Query()
	q.Del("after")
	q.Del("part")
	q.Del("sort")
	if next != "" {
		q.Set("sort", next)
	}
	return (&url.URL{Path: Path, RawQuery: q.Encode()}).String()
}
