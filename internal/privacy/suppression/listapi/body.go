package listapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy/suppression"
)

const (
	maxBody    = 1 << 20
	maxNumbers = 10_000 // in a call
)

// input is the body of a change: settings and all numbers of a list, or numbers to add and remove.
type input struct {
	Reason    string             `json:"reason"`
	Source    string             `json:"source"`
	AreaCodes []int              `json:"areaCodes"`
	Traffic   []campaign.Traffic `json:"traffic"`
	Until     *time.Time         `json:"until"`
	Numbers   *[]string          `json:"numbers"`
	Exempt    []string           `json:"exempt"`
	Add       []string           `json:"add"`
	Remove    []string           `json:"remove"`
}

// answer is a list as the API shows it.
type answer struct {
	Name      string             `json:"name"`
	Reason    string             `json:"reason"`
	Source    string             `json:"source,omitempty"`
	AreaCodes []int              `json:"areaCodes"`
	Traffic   []campaign.Traffic `json:"traffic"`
	Until     *time.Time         `json:"until,omitempty"`
	Numbers   int                `json:"numbers"`
	Exact     bool               `json:"exact"`
	ChangedAt time.Time          `json:"changedAt"`
}

func newAnswer(l suppression.List, now time.Time) answer {
	a := answer{
		Name: l.Name, Reason: l.Reason, Source: l.Source, AreaCodes: append([]int{}, l.AreaCodes...),
		Traffic: append([]campaign.Traffic{}, l.Traffic...), ChangedAt: l.ChangedAt.UTC().Truncate(time.Millisecond),
	}
	a.Numbers, a.Exact = l.Count(now)
	if !l.Until.IsZero() {
		a.Until = &l.Until
	}
	return a
}

func readBody(r *http.Request, in *input) error {
	body, err := httpapi.Body(r, maxBody)
	if err != nil {
		return err
	}
	if malformed := jsonscan.Check(body); malformed != nil {
		return httpapi.Refuse(http.StatusBadRequest, "", malformed.Code, malformed.Located())
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil || bytes.TrimLeft(body, " \t\r\n")[0] != '{' {
		return httpapi.Refuse(http.StatusBadRequest, "", jsonscan.InvalidType,
			"must be an object with the fields of this call, each of its type")
	}
	return nil
}

// replacement returns the change of a PUT. Without numbers, the list keeps those that it has.
func (in *input) replacement() (c suppression.Change, err error) {
	if in.Add != nil || in.Remove != nil {
		return c, httpapi.Refuse(http.StatusBadRequest, "", "unknown_field", "add and remove are fields of POST")
	}
	c.Settings = &suppression.Settings{
		Reason: in.Reason, Source: in.Source, AreaCodes: in.AreaCodes, Traffic: in.Traffic, Until: in.until(),
	}
	var all []string
	if in.Numbers != nil {
		c.Replace, all = true, *in.Numbers
	}
	err = setNumbers(&c, "numbers", all, "exempt", in.Exempt)
	return c, err
}

// change returns the change of a POST.
func (in *input) change() (c suppression.Change, err error) {
	if in.Numbers != nil || in.Exempt != nil || in.Reason != "" || in.Source != "" || in.AreaCodes != nil || in.Traffic != nil {
		return c, httpapi.Refuse(http.StatusBadRequest, "", "unknown_field", "a POST has the fields add, remove and until")
	}
	if len(in.Add)+len(in.Remove) == 0 {
		return c, httpapi.Refuse(http.StatusBadRequest, "/add", "missing_field", "is required, or remove: the numbers of the change")
	}
	c.Until = in.until()
	err = setNumbers(&c, "add", in.Add, "remove", in.Remove)
	return c, err
}

// setNumbers sets the numbers of a change from two fields.
func setNumbers(c *suppression.Change, add string, added []string, remove string, removed []string) (err error) {
	if len(added)+len(removed) > maxNumbers {
		return httpapi.Refuse(http.StatusBadRequest, "/"+add, "too_many_numbers",
			fmt.Sprintf("a call has %d numbers at most", maxNumbers))
	}
	if c.Add, err = numbers(add, added); err == nil {
		c.Remove, err = numbers(remove, removed)
	}
	return err
}

func (in *input) until() time.Time {
	if in.Until == nil {
		return time.Time{}
	}
	return in.Until.UTC().Truncate(time.Millisecond)
}

// numbers reads the numbers of a field. Invalid ones are refused.
func numbers(field string, written []string) (numberset.Set, error) {
	var found []e164.Number
	var refused []httpapi.Violation
	for i, s := range written {
		n, rejection := e164.Parse([]byte(s), e164.AsWritten)
		if rejection != nil {
			refused = append(refused, httpapi.Violation{
				Pointer: jsonscan.Pointer(field, strconv.Itoa(i)), Code: rejection.Code, Detail: rejection.Reason,
			})
			continue
		}
		found = append(found, n)
	}
	if len(refused) > 0 {
		return nil, httpapi.RefuseAll(refused)
	}
	return numberset.New(found), nil
}
