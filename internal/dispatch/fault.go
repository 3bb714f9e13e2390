package dispatch

import (
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// Fault is a reason why a call is refused.
type Fault struct {
	Message int    // its index in the call, -1 for the whole call
	Field   string // of the call, as a pointer without its first slash, of the message, or a variable; "" for all of it
	Code    string
	Detail  string
}

// whole is the Message of a fault of the whole call.
const whole = -1

// faults are in the order of the rules.
type faults []Fault

func (f *faults) add(field, code, detail string) { f.addTo(whole, field, code, detail) }

func (f *faults) addTo(message int, field, code, detail string) {
	*f = append(*f, Fault{Message: message, Field: field, Code: code, Detail: detail})
}

// CodeCancelled is the code of a fault after which no part of the campaign can be accepted.
const CodeCancelled = "campaign_cancelled"

// The codes of faults that have another status or another pointer than most.
const (
	codeTemplateNotFound = "template_not_found"
	codeForeignTemplate  = "template_of_another_tenant"
	codeBatchUsed        = "batch_already_used"
	codeNumberUsed       = "number_already_dispatched"
	codeNameMismatch     = "campaign_name_mismatch"
	codeNameTaken        = "campaign_name_taken"
	codeMissingVariable  = "missing_variable"
	codeInvalidVariable  = "invalid_variable"
)

func (f Fault) status() int {
	switch f.Code {
	case codeTemplateNotFound:
		return http.StatusNotFound
	case codeForeignTemplate:
		return http.StatusForbidden
	case httpapi.CodeUnsupportedEncoding:
		return http.StatusUnsupportedMediaType
	case CodeCancelled, codeBatchUsed, codeNumberUsed, codeNameMismatch, codeNameTaken, campaign.CodeBudgetExceeded:
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

func (f Fault) pointer() string {
	switch {
	case f.Message == whole && f.Field == "":
		return ""
	case f.Message == whole:
		return "/" + f.Field
	case f.Field == "":
		return messagePointer(f.Message)
	case f.ofVariable():
		return messagePointer(f.Message, "vars", f.Field)
	}
	return messagePointer(f.Message, f.Field)
}

// ofVariable reports whether the fault of a message is that of a variable.
func (f Fault) ofVariable() bool {
	switch f.Code {
	case codeMissingVariable, codeInvalidVariable, content.CodeInvalidCharacter, content.CodeInvalidUTF8:
		return true
	}
	return false
}

// problem returns the answer to a client: the first fault determines it, and the first faults of
// the same status are listed.
func (r *Refusal) problem() *httpapi.Problem {
	first := r.Faults[0]
	p := &httpapi.Problem{Status: first.status(), Code: first.Code, Detail: first.Detail}
	for _, each := range r.Faults {
		if each.status() == p.Status && len(p.Errors) < maxErrors {
			p.Errors = append(p.Errors, httpapi.Violation{Pointer: each.pointer(), Code: each.Code, Detail: each.Detail})
		}
	}
	if r.Budget != nil { // not a nil pointer in the interface, which would be encoded
		p.Budget = r.Budget
	}
	return p
}

func messagePointer(i int, tokens ...string) string {
	return jsonscan.Pointer(append([]string{"messages", strconv.Itoa(i)}, tokens...)...)
}
