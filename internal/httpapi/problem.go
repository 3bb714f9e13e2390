package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
)

const maxViolations = 100

// Problem is an error that is sent to the client as an RFC 9457 problem.
type Problem struct {
	Status int
	Code   string // stable, for programs
	Detail string // a sentence, for people
	Errors []Violation
	Budget any         // figures of a budget, nil for none
	Header http.Header // added to the answer
}

// Violation is one error in a request.
type Violation struct {
	Pointer string `json:"pointer"` // JSON pointer into the request's body
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail)
}

type problemDocument struct {
	Type   string      `json:"type"`
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Code   string      `json:"code"`
	Detail string      `json:"detail,omitempty"`
	Errors []Violation `json:"errors,omitempty"`
	Budget any         `json:"budget,omitempty"`
}

// Write writes the problem as the answer.
func (p *Problem) Write(w http.ResponseWriter) {
	for name, values := range p.Header {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	writeJSON(w, p.Status, "application/problem+json", problemDocument{
		Type:   "about:blank",
		Title:  http.StatusText(p.Status),
		Status: p.Status,
		Code:   p.Code,
		Detail: p.Detail,
		Errors: p.Errors[:min(len(p.Errors), maxViolations)],
		Budget: p.Budget,
	})
}

// NotFound returns the problem of something that does not exist.
func NotFound(code, detail string) *Problem {
	return &Problem{Status: http.StatusNotFound, Code: code, Detail: detail}
}

// NoCampaign returns the problem of a campaign that does not exist.
func NoCampaign() *Problem {
	return NotFound("campaign_not_found", "There is no campaign with this ID.")
}

// Missing returns problem for an error that wraps campaign.ErrNotFound, and another error with what was being done.
func Missing(doing string, err error, problem *Problem) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, campaign.ErrNotFound):
		return problem
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// IsGone reports whether an error is the problem of something that was deleted at the end of its retention.
func IsGone(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && problem.Status == http.StatusGone
}

// NoBatch returns the problem of a batch that does not exist.
func NoBatch() *Problem { return NotFound("batch_not_found", "The batch does not exist.") }

// KeyReused returns the problem of an Idempotency-Key that was used with another one of what.
func KeyReused(what, call string) *Problem {
	return &Problem{
		Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused",
		Detail: "This Idempotency-Key was used with another " + what + ". Use a new key for a new " + call + ".",
	}
}

// BadRequest returns the problem of an invalid request.
func BadRequest(code, detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: code, Detail: detail}
}

// Conflict returns the problem of a request that the state of a resource does not allow.
func Conflict(code, detail string) *Problem {
	return &Problem{Status: http.StatusConflict, Code: code, Detail: detail}
}

// RateLimited returns the problem of a request above a limit, for a client that may repeat it after a time.
func RateLimited(wait time.Duration, detail string) *Problem {
	return &Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited", Detail: detail, Header: http.Header{"Retry-After": {retry.Header(wait)}},
	}
}

// Refuse returns a problem with one violation.
func Refuse(status int, pointer, code, detail string) *Problem {
	p := RefuseAll([]Violation{{Pointer: pointer, Code: code, Detail: detail}})
	p.Status = status
	return p
}

// RefuseAll returns the problem of a body with violations.
func RefuseAll(found []Violation) *Problem {
	p := BadRequest(found[0].Code, found[0].Detail)
	p.Errors = found
	return p
}
