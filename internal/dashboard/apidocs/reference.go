package apidocs

import (
	"cmp"
	"encoding/json"
	"html/template"
	"strings"
)

// documentation is the content of the pages in one language.
type documentation struct {
	Base     string
	Groups   []group
	First    []Sample // the first call in every language
	Guides   []guide
	Webhooks []webhook
	Signed   []field   // headers of a webhook
	Replies  []refusal // an endpoint's answers to a webhook
	Errors   template.HTML
	Problem  []field
	States   template.HTML
}

type group struct {
	Tag        string
	Operations []*reference
}

type reference struct {
	ID, Method, Path string
	Text             template.HTML
	Token            bool // requires an access token
	Parameters       []field
	Bodies           []body
	Answers          []answer
	Errors           []refusal // in the order of their status
}

// body documents a request or response body of one media type.
type body struct {
	Media    string
	Fields   []field
	Examples []shown
}

type shown struct {
	Summary string
	JSON    template.HTML
}

type answer struct {
	Status  string
	Text    template.HTML
	Headers []field
	Bodies  []body
}

// refusal documents an error status with its codes.
type refusal struct {
	Status string
	Text   template.HTML
	Codes  []errorCode
}

type errorCode struct{ Code, Summary string }

type webhook struct {
	Kind    string
	Text    template.HTML
	Fields  []field
	Example template.HTML
}

func newDocumentation(base, language string, render renderer) (*documentation, error) {
	d, err := read(base, language, render)
	if err != nil {
		return nil, err
	}
	guides, err := readGuides(language, render)
	if err != nil {
		return nil, err
	}
	return &documentation{
		Base: base, First: d.firstCall(base), Guides: guides, Groups: d.groups(),
		Webhooks: d.webhooks(), Signed: d.signed(), Replies: d.replies(),
		Errors: d.prose(d.Info.Description), Problem: d.fields(d.Components.Schemas["Problem"]),
		States: d.prose(d.Components.Schemas["MessageStatus"].Description),
	}, nil
}

func (d *document) firstCall(base string) []Sample {
	all := Samples(base)
	for i := range all {
		all[i].Code = d.comments(all[i].Code)
	}
	return all
}

func (d *document) groups() (all []group) {
	for _, t := range d.Tags {
		if operations := d.tagged(t.Name); len(operations) > 0 {
			all = append(all, group{t.Name, operations})
		}
	}
	return all
}

func (d *document) webhooks() (all []webhook) {
	for _, kind := range d.Webhooks {
		all = append(all, d.webhook(kind.Name, kind.Value["post"]))
	}
	return all
}

func (d *document) signed() (headers []field) {
	for _, name := range []string{"WebhookId", "WebhookTimestamp", "WebhookSignature"} {
		headers = append(headers, d.parameters([]parameter{d.Components.Parameters[name]})...)
	}
	return headers
}

// replies returns an endpoint's answers to a webhook and their effects.
func (d *document) replies() (all []refusal) {
	for _, r := range d.Webhooks[0].Value["post"].Responses {
		all = append(all, d.refusalOf(r.Name, r.Value))
	}
	return all
}

func (d *documentation) operation(id string) *reference {
	for _, group := range d.Groups {
		for _, o := range group.Operations {
			if o.ID == id {
				return o
			}
		}
	}
	return nil
}

// tagged returns the operations of a tag.
func (d *document) tagged(name string) (all []*reference) {
	for _, path := range d.Paths {
		for _, o := range path.Value {
			if o.Value.Tags[0] == name {
				all = append(all, d.reference(path.Name, o.Name, o.Value))
			}
		}
	}
	return all
}

func (d *document) reference(path, method string, o *operation) *reference {
	r := &reference{
		ID: o.ID, Method: strings.ToUpper(method), Path: path, Text: d.prose(o.Description),
		Parameters: d.parameters(o.Parameters), Bodies: d.bodies(o.RequestBody.Content),
	}
	for _, s := range o.Security {
		_, bearer := s["bearer"]
		_, oauth := s["oauth2"]
		r.Token = r.Token || bearer || oauth
	}
	for _, a := range o.Responses {
		if a.Name < "4" {
			r.Answers = append(r.Answers, d.answer(a.Name, a.Value))
		} else {
			r.Errors = append(r.Errors, d.refusalOf(a.Name, a.Value))
		}
	}
	return r
}

func (d *document) answer(status string, r response) answer {
	a := answer{Status: status, Text: d.prose(r.Description), Bodies: d.bodies(r.Content)}
	for _, h := range r.Headers {
		header := h.Value
		if header.Ref != "" {
			header = d.Components.Headers[last(header.Ref)]
		}
		header.Name = h.Name
		a.Headers = append(a.Headers, d.parameters([]parameter{header})...)
	}
	return a
}

func (d *document) bodies(all ordered[content]) (bodies []body) {
	for _, c := range all {
		b := body{Media: c.Name, Fields: d.fields(c.Value.Schema)}
		for _, e := range c.Value.Examples {
			b.Examples = append(b.Examples, shown{d.in(e.Value.Summary), verbatim(pretty(e.Value.Value))})
		}
		bodies = append(bodies, b)
	}
	return bodies
}

func (d *document) refusalOf(status string, r response) refusal {
	all := refusal{Status: status, Text: d.firstParagraph(r.Description)}
	for _, c := range r.Content {
		for _, e := range c.Value.Examples {
			all.Codes = append(all.Codes, errorCode{codeOf(e.Value.Value), d.in(e.Value.Summary)})
		}
	}
	return all
}

// codeOf returns the code of an error. API Gateway's errors have a message only.
func codeOf(body json.RawMessage) string {
	var e struct{ Code, Error string }
	_ = json.Unmarshal(body, &e) // the document's examples are JSON
	return cmp.Or(e.Code, e.Error, `{"message": …}`)
}

func (d *document) webhook(kind string, o operation) webhook {
	w := webhook{Kind: kind, Text: d.prose(o.Description)}
	for _, c := range o.RequestBody.Content {
		w.Fields = d.fields(c.Value.Schema)
		for _, e := range c.Value.Examples {
			w.Example = verbatim(pretty(e.Value.Value))
		}
	}
	return w
}
