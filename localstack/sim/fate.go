package sim

import (
	"math"
	"net/http"
	"regexp"
)

// fate configures the result of the messages to a number.
type fate struct {
	failures    int    // failed attempts of each message
	status      int    // HTTP status of the failed attempts
	message     string // error message of the failed attempts
	answerLost  bool   // the first attempt is accepted and its response lost
	undelivered bool   // the message is never delivered
	unread      bool   // the message is delivered and never read
	optsOut     bool   // the recipient replies PARAR
	taps        bool   // the recipient taps the first suggestion
	tapsReply   bool   // the recipient taps the first suggested reply
	clicks      bool   // the recipient taps the first link, and the phone opens it
}

// always is the number of failures of an attempt that never succeeds.
const always = math.MaxInt

// delivered is the default fate.
const delivered = "delivered"

// fates are the fates by their names in PUT /_sim/fates.
var fates = map[string]fate{
	delivered:     {},
	"undelivered": {undelivered: true}, // accepted and revoked when its ttl ends
	"unread":      {unread: true},      // delivered and never read
	"opt_out":     {optsOut: true},     // delivered and read; the recipient replies PARAR
	"tap":         {taps: true},        // delivered and read; the recipient taps the first suggestion
	"tap_reply":   {tapsReply: true},   // the same with the first suggested reply
	"click":       {clicks: true},      // the same with the first link, which the phone opens
	"unreachable": {failures: always, status: http.StatusNotFound, message: "Requested entity was not found."},
	"unsupported": {failures: always, status: http.StatusBadRequest, message: "The device lacks a required feature."},
	"forbidden":   {failures: always, status: http.StatusForbidden, message: "The agent is not launched and the user is not a tester."},
	"throttled":   {failures: 2, status: http.StatusTooManyRequests, message: "Resource has been exhausted."},
	"unavailable": {failures: 1, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"down":        {failures: always, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"answer_lost": {answerLost: true},
}

// fixedNumber matches Brazilian numbers of any area code whose last digit selects
// their fate.
var fixedNumber = regexp.MustCompile(`^\+55\d{2}90000000([1-8])$`)

var fixedFates = map[string]string{
	"1": "unreachable",
	"2": "throttled",
	"3": "undelivered",
	"4": "unavailable",
	"5": "opt_out",
	"6": "tap",
	"7": "tap_reply",
	"8": "click",
}

// fateOf returns the configured fate of a number, then the fixed one, then delivered.
func (s *Sim) fateOf(phone string) fate {
	s.fatesMu.RLock()
	name, ok := s.fates[phone]
	s.fatesMu.RUnlock()
	if ok {
		return fates[name]
	}
	if m := fixedNumber.FindStringSubmatch(phone); m != nil {
		return fates[fixedFates[m[1]]]
	}
	return fates[delivered]
}
