package dispatch

import (
	"bytes"
	"cmp"
	"slices"

	"campaign-dispatch/internal/phone"
)

// abroad returns the indexes of the accepted messages to numbers of other countries.
func (q *request) abroad() (all []int) {
	for i := range q.messages {
		if m := &q.messages[i]; m.rejection == nil && m.number != 0 && !m.number.Brazilian() {
			all = append(all, i)
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
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(q.plus(a), q.plus(b)) })
	o := &otherCountries{Count: len(all)}
	for _, i := range all {
		o.WithoutPlus += 1 - q.plus(i)
		o.add(phone.Country(q.messages[i].number), abroadExample{messagePointer(i, "phone"), echo(q.messages[i].phone)})
	}
	slices.SortStableFunc(o.Countries, func(a, b country) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Country, b.Country)) })
	return o
}

// plus returns how many + the number of a message has.
func (q *request) plus(i int) int { return bytes.Count(q.messages[i].phone, []byte("+")) }

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
