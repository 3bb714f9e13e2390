package dispatch

import (
	"bytes"
	"cmp"
	"slices"

	"campaign-dispatch/internal/phone"
)

// Abroad is an accepted message to a number of another country.
type Abroad struct {
	Message int    // its index in the call
	Country string // as phone.Country returns it
}

func (q *request) abroad() (all []Abroad) {
	for i := range q.messages {
		if m := &q.messages[i]; m.rejection == nil && m.number != 0 && !m.number.Brazilian() {
			all = append(all, Abroad{i, phone.Country(m.number)})
		}
	}
	return all
}

// otherCountries are the accepted messages to numbers of other countries. Without a +, such a number may be a Brazilian one
// with too many digits.
type otherCountries struct {
	Count       int       `json:"count"`
	WithoutPlus int       `json:"withoutPlus"`
	Countries   []country `json:"countries"` // that with the most messages first
}

type country struct {
	Country  string          `json:"country,omitempty"` // "" for numbers of no country
	Count    int             `json:"count"`
	Examples []abroadExample `json:"examples"`
}

type abroadExample struct {
	Pointer string `json:"pointer"`
	Phone   string `json:"phone"`
}

// maxExamples is the maximum number of examples of a country.
const maxExamples = 3

// otherCountries returns nil if there are none.
func (q *request) otherCountries() *otherCountries {
	all := q.abroad()
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b Abroad) int { return cmp.Compare(q.plus(a), q.plus(b)) })
	o := &otherCountries{Count: len(all)}
	for _, a := range all {
		o.WithoutPlus += 1 - q.plus(a)
		o.add(a.Country, abroadExample{messagePointer(a.Message, "phone"), echo(q.messages[a.Message].phone)})
	}
	slices.SortStableFunc(o.Countries, func(a, b country) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Country, b.Country)) })
	return o
}

// plus returns how many + the number has.
func (q *request) plus(a Abroad) int { return bytes.Count(q.messages[a.Message].phone, []byte("+")) }

func (o *otherCountries) add(code string, e abroadExample) {
	at := slices.IndexFunc(o.Countries, func(c country) bool { return c.Country == code })
	if at < 0 {
		at = len(o.Countries)
		o.Countries = append(o.Countries, country{Country: code})
	}
	c := &o.Countries[at]
	if c.Count++; len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, e)
	}
}
