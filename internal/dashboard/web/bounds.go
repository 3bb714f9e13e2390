package web

import (
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// Part is the part of a list that a page shows.
type Part[T any] struct {
	Items []T
	From  int // how many of the list stand before it
	Next  int // where the next part begins, 0 for none
	Prior int // where the part before begins, if From is not 0
}

// PartOf returns the part of a list that begins where the page's parameter "from"
// says. A list that has become shorter is shown to its end.
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

// From returns where the part begins that is asked for; the error wraps
// campaign.ErrNotFound where that is no place in a list.
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

// escaped is what a character weighs in HTML that may not stand there as it is.
const escaped = len("&#34;")

// Weight returns how many bytes a text has in a page.
func Weight(text string) int { return len(text) + (escaped-1)*strings.Count(ascii(text), "&") }

// ascii returns the text with & for each character that is escaped.
func ascii(text string) string { return marks.Replace(text) }

var marks = strings.NewReplacer("<", "&", ">", "&", `"`, "&", "'", "&", "+", "&", "\x00", "&")

// Short returns the text, cut where it would have more than most bytes in a page.
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

// Few returns as many of the names as have no more than most bytes in a page,
// together with what goes with each, and how many it leaves out.
func Few(names []string, each, most int) (few []string, more int) {
	for i, name := range names {
		if most -= Weight(name) + each; most < 0 {
			return names[:i], len(names) - i
		}
	}
	return names, 0
}
