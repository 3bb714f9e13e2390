package httpapi

import (
	"fmt"
	"net/http"
)

// maxViolations is the maximum number of violations in an answer.
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
