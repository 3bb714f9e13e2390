// Package dispatchclient makes dispatch calls for people, and reads the answers.
package dispatchclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/port"
)

// Call is a dispatch call.
type Call struct {
	CampaignID string    `json:"campaignId"`
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Batch      string    `json:"batch"`
	Schedule   string    `json:"schedule,omitempty"`
	NotAfter   string    `json:"notAfter,omitempty"`
	Messages   []Message `json:"messages"`

	Lines           []int `json:"-"` // line of each message in the person's file, or nil
	TemplateVersion int   `json:"-"` // the only one to send, 0 for any
}

// Message is a message of a call.
type Message struct {
	Phone string            `json:"phone"`
	UID   string            `json:"uid"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Verdict is the result of a dry run.
type Verdict struct {
	Accepted int
	Rejected int
	Errors   []Violation
	Feedback struct {
		InvalidPhones []Rejected
	}
	InvalidURL Places // messages with a URL that is not https
	Classes    campaign.ClassCounts
	Price      *Price                  // nil without prices
	Budget     *campaign.BudgetFigures // nil without limits
}

// Places is a number of findings, with JSON pointers to the first ones.
type Places struct {
	Count    int
	Pointers []string
}

// Price is the cost of the accepted messages.
type Price struct {
	Total campaign.Money
}

// Violation is a reason why a call would be refused. A refusal of the whole call has no
// pointer.
type Violation struct{ Pointer, Code, Detail string }

// Rejected is a number that would be rejected.
type Rejected struct{ Phone, Code, Reason string }

// batchUsed is the code for a batch that is already accepted.
const batchUsed = "batch_already_used"

// Used reports whether the call is already accepted.
func (v Verdict) Used() bool {
	return slices.ContainsFunc(v.Errors, func(e Violation) bool { return e.Code == batchUsed })
}

// Try makes a dry run of a call.
func Try(ctx context.Context, d port.Dispatcher, p *web.Page, c Call) (v Verdict, err error) {
	answer, err := dispatch(ctx, d, p, c, true)
	if problem, refused := refusal(err); refused {
		return Verdict{Errors: []Violation{{Code: problem.Code, Detail: problem.Detail}}}, nil
	}
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("decode the answer to a dry run: %w", err)
	}
	return v, nil
}

// Make makes a call. It returns nil if the call is accepted now or was accepted before,
// else the reasons.
func Make(ctx context.Context, d port.Dispatcher, p *web.Page, c Call) (*httpapi.Problem, error) {
	_, err := dispatch(ctx, d, p, c, false)
	problem, refused := refusal(err)
	if !refused {
		return nil, err
	}
	if used(problem) {
		return nil, nil
	}
	return problem, nil
}

func dispatch(ctx context.Context, d port.Dispatcher, p *web.Page, c Call, dryRun bool) ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a dispatch call: %w", err)
	}
	return d.Dispatch(ctx, p.Session.Tenant, p.Base, body, campaign.PageCall{Lines: c.Lines, TemplateVersion: c.TemplateVersion, DryRun: dryRun})
}

// refusal returns the problem of a refused call. It returns false for a failure.
func refusal(err error) (*httpapi.Problem, bool) {
	problem, ok := errors.AsType[*httpapi.Problem](err)
	return problem, ok && problem.Status < http.StatusInternalServerError
}

func used(problem *httpapi.Problem) bool {
	return problem.Code == batchUsed ||
		slices.ContainsFunc(problem.Errors, func(v httpapi.Violation) bool { return v.Code == batchUsed })
}
