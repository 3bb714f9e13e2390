package dispatch

import (
	"errors"
	"net/http"
	"strconv"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// maxText is the maximum number of characters of a name, batch or uid.
const maxText = 1000

// request is a parsed dispatch call. Its byte slices point into the body.
type request struct {
	campaignID text
	name       text
	templateID text
	batch      text
	schedule   text
	notAfter   text
	kind       jsonscan.Kind // of messages
	messages   []message
	vars       []variable // of all messages, grouped by message
}

// text is a field that must be a string. kind is jsonscan.Invalid if the field is
// absent; null counts as absent.
type text struct {
	value string
	kind  jsonscan.Kind
}

func (t text) present() bool { return t.kind == jsonscan.String }

func absent(kind jsonscan.Kind) bool { return kind == jsonscan.Invalid || kind == jsonscan.Null }

// message is one item of messages.
type message struct {
	phone     []byte
	uid       []byte
	number    e164.Number
	rejection *e164.Rejection // nil for an accepted number
	vars      [2]int          // range in request.vars
}

// variable is one member of a message's vars.
type variable struct {
	name  []byte
	value []byte
	kind  jsonscan.Kind
}

// Minimum bytes of a message and typical bytes of a variable, used to size the slices
// once.
const (
	leastMessage  = len(`{"phone":"","uid":""},`)
	usualVariable = 48
)

// reader parses a request and collects its violations.
type reader struct {
	scan       *jsonscan.Scanner
	req        *request
	violations violations
	unknown    *unknownNames // nil to ignore unknown names
}

// readRequest parses a body. It returns no violations if all fields are well-formed;
// the template and the campaign are checked later. Unknown names are added to unknown
// unless it is nil.
func readRequest(body []byte, unknown *unknownNames) (*request, violations) {
	r := reader{scan: jsonscan.New(body), unknown: unknown, req: &request{
		messages: make([]message, 0, min(len(body)/leastMessage, campaign.MaxMessages)),
		vars:     make([]variable, 0, len(body)/usualVariable),
	}}
	if err := r.document(); err != nil {
		return r.req, violations{syntaxViolation(err)}
	}
	r.checkFields()
	return r.req, r.violations
}

func syntaxViolation(err error) violation {
	malformed := &jsonscan.Error{}
	if !errors.As(err, &malformed) {
		malformed = &jsonscan.Error{Code: "malformed_json", Detail: "the body is not JSON"}
	}
	detail := malformed.Detail + " (at byte " + strconv.Itoa(malformed.Offset) + ")"
	return violation{status: http.StatusBadRequest, code: malformed.Code, detail: detail}
}

func (r *reader) document() error {
	if r.scan.Peek() != jsonscan.Object {
		if _, err := r.scan.Raw(); err != nil {
			return err
		}
		r.violations.add("", "invalid_type", "the body must be a JSON object")
		return r.scan.End()
	}
	if err := r.object(r.field); err != nil {
		return err
	}
	return r.scan.End()
}

// object calls member for each member of the next value, which must be an object.
func (r *reader) object(member func(name []byte) error) error {
	if err := r.scan.EnterObject(); err != nil {
		return err
	}
	for {
		name, ok, err := r.scan.NextMember()
		if err != nil || !ok {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
}

func (r *reader) field(name []byte) (err error) {
	q := r.req
	switch string(name) {
	case "campaignId":
		q.campaignID, err = r.text("/campaignId")
	case "name":
		q.name, err = r.text("/name")
	case "templateId":
		q.templateID, err = r.text("/templateId")
	case "batch":
		q.batch, err = r.text("/batch")
	case "schedule":
		q.schedule, err = r.text("/schedule")
	case "notAfter":
		q.notAfter, err = r.text("/notAfter")
	case "messages":
		err = r.messages()
	default:
		r.unknown.addField(name)
		_, err = r.scan.Raw()
	}
	return err
}

func (r *reader) text(pointer string) (text, error) {
	b, kind, err := r.bytes(func() string { return pointer })
	return text{string(b), kind}, err
}

// bytes reads a value that must be a string or null, and returns its kind.
func (r *reader) bytes(pointer func() string) (value []byte, kind jsonscan.Kind, err error) {
	kind = r.scan.Peek()
	if kind == jsonscan.String {
		value, err = r.scan.String()
		return value, kind, err
	}
	if _, err = r.scan.Raw(); err != nil {
		return nil, kind, err
	}
	if kind != jsonscan.Null {
		r.violations.add(pointer(), "invalid_type", "must be a string")
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
		return r.wrongType("/messages", "must be an array of messages")
	}
	if err := r.scan.EnterArray(); err != nil {
		return err
	}
	for count := 0; ; count++ {
		ok, err := r.scan.NextElement()
		if err != nil {
			return err
		}
		if !ok {
			return r.countMessages(count)
		}
		if err := r.element(count); err != nil {
			return err
		}
	}
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
		return r.wrongType(messagePointer(i), "must be an object")
	}
	return r.message(i)
}

func (r *reader) countMessages(count int) error {
	if count == 0 {
		r.violations.add("/messages", "messages_empty", "messages must hold at least one message")
	}
	if count > campaign.MaxMessages {
		r.violations.add("/messages", "too_many_messages",
			"messages holds "+strconv.Itoa(count)+" items, at most "+strconv.Itoa(campaign.MaxMessages)+" are allowed in one call")
	}
	return nil
}

func (r *reader) message(i int) error {
	m := message{vars: [2]int{len(r.req.vars), len(r.req.vars)}}
	var phoneKind, uidKind jsonscan.Kind
	err := r.object(func(name []byte) (err error) {
		switch string(name) {
		case "phone":
			m.phone, phoneKind, err = r.bytes(func() string { return messagePointer(i, "phone") })
		case "uid":
			m.uid, uidKind, err = r.bytes(func() string { return messagePointer(i, "uid") })
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
	r.checkUID(i, m.uid, uidKind)
	r.req.messages = append(r.req.messages, m)
	return nil
}

func (r *reader) checkPhone(i int, m *message, kind jsonscan.Kind) {
	switch {
	case kind == jsonscan.String:
		m.number, m.rejection = phone.Parse(m.phone)
	case absent(kind):
		r.violations.add(messagePointer(i, "phone"), "missing_phone", "every message needs a phone")
	}
}

func (r *reader) checkUID(i int, uid []byte, kind jsonscan.Kind) {
	switch {
	case absent(kind), kind == jsonscan.String && blank(uid):
		r.violations.add(messagePointer(i, "uid"), "missing_uid", "every message needs a uid that is not blank")
	case len(uid) > maxText && utf8.RuneCount(uid) > maxText:
		r.violations.add(messagePointer(i, "uid"), "too_long", tooLong)
	}
}

// blank reports whether b is empty or white space. The fast path is a first byte that
// is a letter or a digit.
func blank(b []byte) bool {
	if len(b) > 0 && b[0] > ' ' && b[0] < utf8.RuneSelf {
		return false
	}
	return campaign.Blank(string(b))
}

func (r *reader) vars(i int) (part [2]int, err error) {
	part = [2]int{len(r.req.vars), len(r.req.vars)}
	if kind := r.scan.Peek(); kind == jsonscan.Null {
		_, err = r.scan.Raw()
		return part, err
	} else if kind != jsonscan.Object {
		return part, r.wrongType(messagePointer(i, "vars"), "must be an object")
	}
	err = r.object(func(name []byte) (err error) {
		v := variable{name: name, kind: r.scan.Peek()}
		if v.kind == jsonscan.String {
			v.value, err = r.scan.String()
		} else {
			v.value, err = r.scan.Raw()
		}
		r.req.vars = append(r.req.vars, v)
		return err
	})
	part[1] = len(r.req.vars)
	return part, err
}

func (r *reader) wrongType(pointer, detail string) error {
	r.violations.add(pointer, "invalid_type", detail)
	_, err := r.scan.Raw()
	return err
}

const tooLong = "must have at most 1,000 characters"

// checkFields validates the fields that do not depend on others.
func (r *reader) checkFields() {
	q := r.req
	if r.violations.has("") {
		return // there are no fields
	}
	r.require("/campaignId", q.campaignID.kind)
	r.require("/name", q.name.kind)
	r.require("/templateId", q.templateID.kind)
	r.require("/messages", q.kind)
	if q.campaignID.present() && q.id() == "" {
		r.violations.add("/campaignId", "invalid_campaign_id", "campaignId must be a UUID in its 8-4-4-4-12 form")
	}
	r.checkText("/name", q.name)
	r.checkText("/batch", q.batch)
}

func (r *reader) require(pointer string, kind jsonscan.Kind) {
	if absent(kind) {
		r.violations.add(pointer, "missing_field", "is required")
	}
}

func (r *reader) checkText(pointer string, t text) {
	if t.present() && campaign.Blank(t.value) {
		r.violations.add(pointer, "blank", "must not be blank")
	}
	if utf8.RuneCountInString(t.value) > maxText {
		r.violations.add(pointer, "too_long", tooLong)
	}
}
