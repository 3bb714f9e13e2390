package dispatch

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

const maxText = 1000

// request is a dispatch call in the form in which it is judged. Its byte slices may point into
// the body of the call.
type request struct {
	campaignID text
	name       text
	templateID text
	batch      text
	schedule   text
	notAfter   text
	sendWindow sendWindow
	kind       jsonscan.Kind // of messages
	messages   []message
	vars       []variable // of all messages, grouped by message
	names      names      // of the variables
	lines      []int      // of the messages in a person's file, nil without one
	sorted     []int      // indexes of the accepted messages in the order in which they are stored, nil for their own
}

// text is a field that must be a string. kind is jsonscan.Invalid if the field is
// absent; null counts as absent.
type text struct {
	value string
	kind  jsonscan.Kind
}

func (t text) present() bool { return t.kind == jsonscan.String }

func absent(kind jsonscan.Kind) bool { return kind == jsonscan.Invalid || kind == jsonscan.Null }

type message struct {
	phone     []byte
	uid       []byte
	number    e164.Number
	rejection *e164.Rejection // nil for a valid number
	elsewhere bool            // an earlier batch holds the number, and the part goes without the message
	vars      span            // in request.vars
}

// span is a range of indexes. A call has less than 2^31 variables. A message has 80 bytes: a call has 2,000 of them.
type span [2]int32

func spanOf(from, until int) span { return span{int32(from), int32(until)} } //nolint:gosec // see span

// accepted reports whether the call's batch has the message.
func (m *message) accepted() bool { return m.rejection == nil && !m.elsewhere }

type variable struct {
	value []byte
	name  int32 // its place in request.names
	kind  jsonscan.Kind
	// replaced reports whether the value contains the character U+FFFD itself: letters were lost before the call.
	replaced bool
}

// id returns the campaign ID in lower case, or "" if it is not a UUID.
func (q *request) id() string {
	id, _ := campaign.ParseUUID(q.campaignID.value)
	return id
}

// template returns the template ID in lower case, or "" if it is not a UUID.
func (q *request) template() string {
	id, _ := campaign.ParseUUID(q.templateID.value)
	return id
}

// varsOf returns the variables of the message at an index.
func (q *request) varsOf(i int) []variable {
	of := q.messages[i].vars
	return q.vars[of[0]:of[1]]
}

func (q *request) numbers() numberset.Set {
	numbers := make([]e164.Number, 0, len(q.messages))
	for i := range q.messages {
		if m := &q.messages[i]; m.accepted() {
			numbers = append(numbers, m.number)
		}
	}
	return numberset.New(numbers)
}

// accepted yields the indexes of the accepted messages, in the order in which they are stored.
func (q *request) accepted(yield func(i int) bool) {
	if q.sorted != nil {
		slices.Values(q.sorted)(yield)
		return
	}
	for i := range q.messages {
		if q.messages[i].accepted() && !yield(i) {
			return
		}
	}
}

// countAccepted returns the number of messages that the call's batch has.
func (q *request) countAccepted() (n int) {
	for i := range q.messages {
		if q.messages[i].accepted() {
			n++
		}
	}
	return n
}

// rejected returns the number of messages with an invalid number.
func (q *request) rejected() (n int) {
	for i := range q.messages {
		if q.messages[i].rejection != nil {
			n++
		}
	}
	return n
}

func (f *faults) checkCount(messages int) {
	if messages == 0 {
		f.add("messages", "messages_empty", "messages must hold at least one message")
	}
	if messages > campaign.MaxMessages {
		f.add("messages", "too_many_messages",
			"messages holds "+strconv.Itoa(messages)+" items, at most "+strconv.Itoa(campaign.MaxMessages)+" are allowed in one call")
	}
}

func (f *faults) checkUID(message int, uid []byte) {
	switch {
	case blank(uid):
		f.addTo(message, "uid", "missing_uid", "every message needs a uid that is not blank")
	case len(uid) > maxText && utf8.RuneCount(uid) > maxText:
		f.addTo(message, "uid", codeTooLong, tooLong)
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

const (
	codeTooLong = "too_long"
	tooLong     = "must have at most 1,000 characters"
)

// checkFields validates the fields that do not depend on others.
func (q *request) checkFields(found *faults) {
	require := func(field string, kind jsonscan.Kind) {
		if absent(kind) {
			found.add(field, "missing_field", "is required")
		}
	}
	require("campaignId", q.campaignID.kind)
	require("name", q.name.kind)
	require("templateId", q.templateID.kind)
	require("messages", q.kind)
	if q.campaignID.present() && q.id() == "" {
		found.add("campaignId", "invalid_campaign_id", "campaignId must be a UUID in its 8-4-4-4-12 form")
	}
	found.checkText("name", q.name)
	found.checkText("batch", q.batch)
}

func (f *faults) checkText(field string, t text) {
	if t.present() && campaign.Blank(t.value) {
		f.add(field, "blank", "must not be blank")
	}
	if utf8.RuneCountInString(t.value) > maxText {
		f.add(field, codeTooLong, tooLong)
	}
}

// times are the instants of a call.
type times struct {
	due       time.Time // now if there is no schedule
	scheduled bool
	notAfter  time.Time // zero if absent
}

// setTimes sets the times of a call, with their faults. If meta is that of a rescheduled
// campaign, the call has its due time.
func (s *Service) setTimes(c *call, meta *acceptance.Meta) {
	var moved time.Time
	if meta != nil {
		moved = meta.Move.Due
	}
	c.times, c.timeFaults = c.req.checkTimes(c.now, s.Lead, moved)
}

// checkTimes parses schedule and notAfter and validates them at now. moved is the time that
// replaces the schedule, zero for none. A request without a schedule is due now, or at moved if
// that is later.
func (q *request) checkTimes(now time.Time, lead time.Duration, moved time.Time) (t times, found faults) {
	t.due, t.scheduled = now, q.schedule.present()
	if t.scheduled {
		schedule := q.schedule.value
		if !moved.IsZero() {
			schedule = moved.Format(time.RFC3339Nano)
		}
		due, fault := localtime.ParseSchedule(schedule, now, lead)
		if fault != nil {
			found.add("schedule", fault.Code, fault.Detail)
		} else {
			t.due = due
		}
	} else if moved.After(now) {
		t.due, t.scheduled = moved, true
	}
	if q.notAfter.present() {
		until, err := localtime.Parse(q.notAfter.value)
		switch {
		case err != nil:
			found.add("notAfter", "invalid_not_after", "notAfter "+err.Error())
		case !until.After(t.due):
			found.add("notAfter", "invalid_not_after", "notAfter must be later than the time of sending")
		default:
			t.notAfter = until
		}
	}
	return t, found
}
