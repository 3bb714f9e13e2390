package sim

import (
	"net/http"
	"regexp"
)

// fate is what becomes of the messages to a number.
type fate struct {
	failures int    // how many attempts of a message fail
	status   int    // what they fail with
	message  string // in the provider's words
	cut      bool   // the first attempt is accepted, and its answer lost
	silent   bool   // it is never delivered
	optsOut  bool   // the recipient answers PARAR
}

const every = int(^uint(0) >> 1)

// delivered is the fate of all numbers that were given no other.
const delivered = "delivered"

// fates are the names that PUT /_sim/fates knows.
var fates = map[string]fate{
	delivered:     {},
	"undelivered": {silent: true},  // accepted, and never delivered: only the end of its ttl is told
	"opt_out":     {optsOut: true}, // delivered and read, and the recipient answers PARAR
	"unreachable": {failures: every, status: http.StatusNotFound, message: "Requested entity was not found."},
	"unsupported": {failures: every, status: http.StatusBadRequest, message: "The device lacks a required feature."},
	"forbidden":   {failures: every, status: http.StatusForbidden, message: "The agent is not launched and the user is no tester."},
	"throttled":   {failures: 2, status: http.StatusTooManyRequests, message: "Resource has been exhausted."},
	"unavailable": {failures: 1, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"down":        {failures: every, status: http.StatusServiceUnavailable, message: "The service is currently unavailable."},
	"answer_lost": {cut: true},
}

// fixedNumber matches the block of numbers, in any area code of Brazil, whose
// last digit is their fate.
var fixedNumber = regexp.MustCompile(`^\+55\d{2}90000000([1-5])$`)

var fixedFates = map[string]string{
	"1": "unreachable",
	"2": "throttled",
	"3": "undelivered",
	"4": "unavailable",
	"5": "opt_out",
}

// fateOf returns the fate of a number: the one it was given, the fixed one, or
// to be delivered.
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
