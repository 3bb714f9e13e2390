package dispatch

import (
	"errors"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone"
)

// Minimum bytes of a message and typical bytes of a variable, used to size the slices
// once.
const (
	leastMessage  = len(`{"phone":"","uid":""},`)
	usualVariable = 48
)

// reader reads a request from JSON and collects its faults.
type reader struct {
	scan    *jsonscan.Scanner
	req     *request
	faults  faults
	unknown *unknownNames // nil to ignore unknown names
}

// readRequest reads a body. It returns no faults if all fields are well-formed; the template
// and the campaign are checked later. Unknown names are added to unknown unless it is nil. encoded reports whether the
// body has a Content-Encoding.
func readRequest(body []byte, unknown *unknownNames, encoded bool) (*request, faults) {
	r := reader{scan: jsonscan.New(body), unknown: unknown, req: &request{
		messages: make([]message, 0, min(len(body)/leastMessage, campaign.MaxMessages)),
		vars:     make([]variable, 0, len(body)/usualVariable),
	}}
	isObject := r.scan.Peek() == jsonscan.Object
	if err := r.document(isObject); err != nil {
		return r.req, faults{syntaxFault(err, body, encoded)}
	}
	if !isObject {
		return r.req, faults{{whole, "", jsonscan.InvalidType, "the body must be a JSON object"}}
	}
	r.req.checkFields(&r.faults)
	return r.req, r.faults
}

func syntaxFault(err error, body []byte, encoded bool) Fault {
	malformed := &jsonscan.Error{Code: jsonscan.Malformed, Detail: "the body is not JSON"}
	_ = errors.As(err, &malformed)
	if encoded && malformed.NotJSON(body) {
		return Fault{whole, "", httpapi.CodeUnsupportedEncoding, httpapi.UnsupportedEncoding}
	}
	place, detail := malformed.Place(body)
	return Fault{whole, strings.TrimPrefix(jsonscan.Pointer(place...), "/"), malformed.Code, detail}
}

func (r *reader) document(isObject bool) (err error) {
	if isObject {
		err = r.scan.Members(r.field)
	} else {
		_, err = r.scan.Raw()
	}
	if err != nil {
		return err
	}
	return r.scan.End()
}

func (r *reader) field(name []byte) (err error) {
	q := r.req
	switch string(name) {
	case "campaignId":
		q.campaignID, err = r.text("campaignId")
	case "name":
		q.name, err = r.text("name")
	case "templateId":
		q.templateID, err = r.text("templateId")
	case "batch":
		q.batch, err = r.text("batch")
	case "schedule":
		q.schedule, err = r.text("schedule")
	case "notAfter":
		q.notAfter, err = r.text("notAfter")
	case "sendWindow":
		err = r.sendWindow()
	case "messages":
		err = r.messages()
	default:
		r.unknown.addField(name)
		_, err = r.scan.Raw()
	}
	return err
}

func (r *reader) text(field string) (text, error) {
	b, kind, err := r.bytes(whole, field)
	return text{string(b), kind}, err
}

// bytes reads a value that must be a string or null, and returns its kind.
func (r *reader) bytes(message int, field string) (value []byte, kind jsonscan.Kind, err error) {
	kind = r.scan.Peek()
	if kind == jsonscan.String {
		value, err = r.scan.String()
		return value, kind, err
	}
	if _, err = r.scan.Raw(); err != nil {
		return nil, kind, err
	}
	if kind != jsonscan.Null {
		r.faults.addTo(message, field, jsonscan.InvalidType, "must be a string")
	}
	return nil, kind, nil
}

func (r *reader) messages() error {
	r.req.kind = r.scan.Peek()
	if r.req.kind == jsonscan.Null {
		_, err := r.scan.Raw()
		return err
	}
	if r.req.kind != jsonscan.Array {
		return r.wrongType(whole, "messages", "must be an array of messages")
	}
	count := 0
	err := r.scan.Elements(func() error {
		count++
		return r.element(count - 1)
	})
	if err == nil {
		r.faults.checkCount(count)
	}
	return err
}

// element reads one item of messages. Items beyond the limit are only checked for valid
// JSON.
func (r *reader) element(i int) error {
	if i >= campaign.MaxMessages {
		_, err := r.scan.Raw()
		return err
	}
	if r.scan.Peek() != jsonscan.Object {
		r.req.messages = append(r.req.messages, message{})
		return r.wrongType(i, "", mustBeObject)
	}
	return r.message(i)
}

func (r *reader) message(i int) error {
	m := message{vars: spanOf(len(r.req.vars), len(r.req.vars))}
	var phoneKind, uidKind jsonscan.Kind
	err := r.scan.Members(func(name []byte) (err error) {
		switch string(name) {
		case "phone":
			m.phone, phoneKind, err = r.bytes(i, "phone")
		case "uid":
			m.uid, uidKind, err = r.bytes(i, "uid")
		case "vars":
			m.vars, err = r.vars(i)
		default:
			r.unknown.addOfMessage(i, name)
			_, err = r.scan.Raw()
		}
		return err
	})
	if err != nil {
		return err
	}
	r.checkPhone(i, &m, phoneKind)
	if uidKind == jsonscan.String || absent(uidKind) {
		r.faults.checkUID(i, m.uid)
	}
	r.req.messages = append(r.req.messages, m)
	return nil
}

func (r *reader) checkPhone(i int, m *message, kind jsonscan.Kind) {
	switch {
	case kind == jsonscan.String:
		m.number, m.rejection = phone.Parse(m.phone)
	case absent(kind):
		r.faults.addTo(i, "phone", "missing_phone", "every message needs a phone")
	}
}

func (r *reader) vars(i int) (part span, err error) {
	from := len(r.req.vars)
	part = spanOf(from, from)
	if kind := r.scan.Peek(); kind == jsonscan.Null {
		_, err = r.scan.Raw()
		return part, err
	} else if kind != jsonscan.Object {
		return part, r.wrongType(i, "vars", mustBeObject)
	}
	err = r.scan.Members(func(name []byte) (err error) {
		v := variable{name: r.req.names.add(len(r.req.vars)-from, name), kind: r.scan.Peek()}
		if v.kind == jsonscan.String {
			v.value, err = r.scan.String()
			v.replaced = r.scan.Replaced()
		} else {
			v.value, err = r.scan.Raw()
		}
		r.req.vars = append(r.req.vars, v)
		return err
	})
	return spanOf(from, len(r.req.vars)), err
}

func (r *reader) wrongType(message int, field, detail string) error {
	r.faults.addTo(message, field, jsonscan.InvalidType, detail)
	_, err := r.scan.Raw()
	return err
}

const mustBeObject = "must be an object"
