package dispatch

import (
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone/e164"
)

type dryAnswer struct {
	answer
	DryRun bool `json:"dryRun"`
	Valid  bool `json:"valid"`
	// Classes is nil if the template cannot be used, Price without prices, and Budget without
	// limits.
	Classes *campaign.ClassCounts   `json:"classes,omitempty"`
	Price   *dryPrice               `json:"price,omitempty"`
	Budget  *campaign.BudgetFigures `json:"budget,omitempty"`
	// Window is nil if no send window applies.
	Window   []opening    `json:"window,omitempty"`
	CannotGo *int         `json:"cannotGo,omitempty"`
	Errors   []dryProblem `json:"errors"`
	// Warnings: these do not prevent the call from being accepted, but may be mistakes.
	RepeatedNumbers int `json:"repeatedNumbers"`
	// OtherCountries is nil without numbers of other countries.
	OtherCountries *otherCountries `json:"otherCountries,omitempty"`
	// Withheld are the accepted messages that would not be sent, because of opt-outs or of lists.
	Withheld []withheld `json:"withheld"`
	// Suppressed are those of Withheld that are because of lists.
	Suppressed   []suppressed `json:"suppressed"`
	TextTooLong  findings     `json:"textTooLong"`
	InvalidURL   findings     `json:"invalidUrl"`
	UnknownNames findings     `json:"unknownNames"`
	valueFindings
}

// withheld are accepted messages that would end with a code.
type withheld struct {
	Code     string          `json:"code"`
	List     string          `json:"list,omitempty"` // of the code suppressed
	Messages int             `json:"messages"`
	Price    *campaign.Money `json:"price,omitempty"` // nil without prices
}

// suppressed is how many accepted messages would end with the code suppressed because of a list.
type suppressed struct {
	List     string `json:"list"`
	Messages int    `json:"messages"`
}

type dryProblem struct {
	Status  int    `json:"status"`
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

// findings is a number of findings in a body, with JSON pointers to at most maxErrors of
// them.
type findings struct {
	Count    int      `json:"count"`
	Pointers []string `json:"pointers"`
}

// maxErrors is the maximum number of faults, and of pointers in each findings, that an answer
// lists.
const maxErrors = 100

// newDryAnswer returns the answer to a dry run.
func newDryAnswer(c *call, state acceptance.State, found faults) dryAnswer {
	a := dryAnswer{
		answer: newAnswer(c.req), DryRun: true, Valid: len(found) == 0, Errors: []dryProblem{}, Withheld: []withheld{}, Suppressed: []suppressed{},
		RepeatedNumbers: c.req.repeatedNumbers(), OtherCountries: c.req.otherCountries(), UnknownNames: c.client.unknown.findings(),
	}
	for _, f := range found[:min(len(found), maxErrors)] {
		a.Errors = append(a.Errors, dryProblem{f.status(), f.pointer(), f.Code, f.Detail})
	}
	tooLong, invalidURL := c.unsendable(state.Template)
	a.TextTooLong, a.InvalidURL = findingsAt(tooLong), findingsAt(invalidURL)
	a.valueFindings = c.findValues(state.Template)
	c.bill.show(&a)
	a.Window, a.CannotGo = c.openings(state)
	return a
}

func findingsAt(messages []int) findings {
	p := findings{Pointers: []string{}}
	for _, i := range messages {
		p.add(messagePointer(i))
	}
	return p
}

// repeatedNumbers returns how many of the accepted numbers occur in more than one
// message.
func (q *request) repeatedNumbers() (repeated int) {
	messages := make(map[e164.Number]int, len(q.messages))
	for i := range q.messages {
		if m := &q.messages[i]; m.rejection == nil && m.number != 0 {
			if messages[m.number]++; messages[m.number] == 2 {
				repeated++
			}
		}
	}
	return repeated
}

// unsendable returns the indexes of the accepted messages that exceed the provider's limits, and
// of those with a URL that is not https. A missing variable counts as empty. The template is nil
// if it does not exist; that of another tenant is not disclosed.
func (c *call) unsendable(t *campaign.Template) (tooLong, invalidURL []int) {
	if t == nil || t.Tenant != c.tenant {
		return nil, nil
	}
	names, safe, valueURLs := c.req.names.indexes(t.Variables()), t.SafeValueLen(), t.ValueURLs()
	values := make([]string, len(names))
	for i := range c.req.messages {
		if c.req.messages[i].rejection != nil {
			continue
		}
		longest := 0
		for n, name := range names {
			values[n] = string(find(c.req.varsOf(i), name).shown())
			longest = max(longest, len(values[n]))
		}
		if longest <= safe && !valueURLs {
			continue
		}
		switch t.Render(values).Unsendable() {
		case content.CodeTextTooLong:
			tooLong = append(tooLong, i)
		case content.CodeInvalidURL:
			invalidURL = append(invalidURL, i)
		}
	}
	return tooLong, invalidURL
}

// shown returns the value as a message shows it: nothing for null, an array or an object.
func (v *variable) shown() []byte {
	if v == nil || v.kind == jsonscan.Null || v.kind == jsonscan.Array || v.kind == jsonscan.Object {
		return nil
	}
	return v.value
}

func (p *findings) add(pointer string) {
	if p.Count++; len(p.Pointers) < maxErrors {
		p.Pointers = append(p.Pointers, pointer)
	}
}

// unknownNames collects the names in a body that the API does not define. A nil
// *unknownNames collects nothing.
type unknownNames struct {
	fields   findings
	messages findings // each name once, at its first occurrence
	seen     map[string]bool
}

func (u *unknownNames) addField(path ...[]byte) {
	if u == nil {
		return
	}
	tokens := make([]string, len(path))
	for i, name := range path {
		tokens[i] = echo(name)
	}
	u.fields.add(jsonscan.Pointer(tokens...))
}

func (u *unknownNames) addOfMessage(i int, name []byte) {
	if u == nil {
		return
	}
	short := echo(name)
	if u.seen[short] || len(u.messages.Pointers) == maxErrors {
		u.messages.Count++
		return
	}
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	u.seen[short] = true
	u.messages.add(messagePointer(i, short))
}

// findings lists the fields before the names in messages, so that messages do not
// displace them.
func (u *unknownNames) findings() findings {
	if u == nil {
		return findings{Pointers: []string{}}
	}
	pointers := append([]string{}, u.fields.Pointers...)
	pointers = append(pointers, u.messages.Pointers...)
	return findings{u.fields.Count + u.messages.Count, pointers[:min(len(pointers), maxErrors)]}
}
