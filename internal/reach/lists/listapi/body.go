package listapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonbody"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
)

const (
	maxBody    = 1 << 20
	maxNumbers = 10_000 // in a call
)

// replacement is the body of a PUT. With numbers it is the whole list, without them it has what changes.
type replacement struct {
	Reason    *string             `json:"reason"`
	Source    *string             `json:"source"`
	AreaCodes *[]int              `json:"areaCodes"`
	Traffic   *[]campaign.Traffic `json:"traffic"`
	Until     *string             `json:"until"`
	Numbers   *[]string           `json:"numbers"`
	Exempt    []string            `json:"exempt"`
}

// change is the body of a POST.
type change struct {
	Add    []string `json:"add"`
	Remove []string `json:"remove"`
	Until  *string  `json:"until"`
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

func newAnswer(l lists.List, now time.Time) answer {
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

// readReplacement returns the change of a PUT.
func readReplacement(r *http.Request) (c lists.Change, err error) {
	var in replacement
	if err := jsonbody.Read(r, maxBody, &in); err != nil {
		return c, err
	}
	edit, err := in.edit()
	if err != nil {
		return c, err
	}
	if in.Numbers == nil {
		c.Edit = &edit
		err = setNumbers(&c, "numbers", nil, "exempt", in.Exempt)
		return c, err
	}
	settings := edit.Apply(lists.Settings{})
	c.Settings, c.Replace = &settings, true
	err = setNumbers(&c, "numbers", *in.Numbers, "exempt", in.Exempt)
	c.Add, c.Remove = c.Add.Without(c.Remove), nil // so that the answer counts exactly
	return c, err
}

// edit returns the settings that a PUT names. An empty until is no end.
func (in *replacement) edit() (lists.Edit, error) {
	e := lists.Edit{Reason: in.Reason, Source: in.Source, AreaCodes: in.AreaCodes, Traffic: in.Traffic}
	if in.Until == nil {
		return e, nil
	}
	e.Until = &time.Time{}
	if *in.Until == "" {
		return e, nil
	}
	var err error
	*e.Until, err = readUntil(*in.Until)
	return e, err
}

// readChange returns the change of a POST.
func readChange(r *http.Request) (c lists.Change, err error) {
	var in change
	if err := jsonbody.Read(r, maxBody, &in); err != nil {
		return c, err
	}
	if len(in.Add)+len(in.Remove) == 0 {
		return c, httpapi.Refuse(http.StatusBadRequest, "/add", "missing_field", "is required, or remove: the numbers of the change")
	}
	if in.Until != nil {
		if c.Until, err = readUntil(*in.Until); err != nil {
			return c, err
		}
	}
	err = setNumbers(&c, "add", in.Add, "remove", in.Remove)
	return c, err
}

// readUntil returns the time of an end. The zero time, which stands for no end, is refused as the other past ones are.
func readUntil(text string) (time.Time, error) {
	until, err := localtime.Parse(text)
	if err != nil {
		return until, httpapi.Refuse(http.StatusBadRequest, "/until", "invalid_value", err.Error())
	}
	if until = until.Truncate(time.Millisecond); until.IsZero() {
		return until, refusal(lists.ErrUntil)
	}
	return until, nil
}

// setNumbers sets the numbers of a change from two fields.
func setNumbers(c *lists.Change, add string, added []string, remove string, removed []string) (err error) {
	if len(added)+len(removed) > maxNumbers {
		return httpapi.Refuse(http.StatusBadRequest, "/"+add, "too_many_numbers",
			fmt.Sprintf("a call has %d numbers at most", maxNumbers))
	}
	if c.Add, err = numbers(add, added); err == nil {
		c.Remove, err = numbers(remove, removed)
	}
	return err
}

// numbers reads the numbers of a field. Those that dispatch rejects are refused.
func numbers(field string, written []string) (numberset.Set, error) {
	var found []e164.Number
	var refused []httpapi.Violation
	for i, s := range written {
		n, rejection := phone.Parse([]byte(s))
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
