// Package dispatchclient makes dispatch calls for people, and reads what the API answers
// to them.
package dispatchclient

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
)

// Dispatcher answers dispatch calls that a person of the tenant makes, as the API
// would; the error of a refused one is a *httpapi.Problem. lines are those of the
// person's file that the messages stand in, or nil.
type Dispatcher interface {
	Dispatch(ctx context.Context, tenant, base string, body []byte, lines []int, dryRun bool) ([]byte, error)
}

// Call is a dispatch call.
type Call struct {
	CampaignID string    `json:"campaignId"`
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Batch      string    `json:"batch"`
	Schedule   string    `json:"schedule,omitempty"`
	NotAfter   string    `json:"notAfter,omitempty"`
	Messages   []Message `json:"messages"`

	Lines []int `json:"-"` // of the person's file, in which the messages stand, or nil
}

// Message is a message of a call.
type Message struct {
	Phone string            `json:"phone"`
	UID   string            `json:"uid"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Verdict is what would become of a call.
type Verdict struct {
	Accepted int
	Rejected int
	Errors   []Violation
	Feedback struct {
		InvalidPhones []Rejected
	}
}

// Violation is something that keeps a call from being accepted. A call that is
// refused whole has one without a pointer.
type Violation struct{ Pointer, Code, Detail string }

// Rejected is a number to which nothing would be sent.
type Rejected struct{ Phone, Code, Reason string }

// batchUsed is the code of a batch that was accepted before.
const batchUsed = "batch_already_used"

// Used reports whether the call was accepted before.
func (v Verdict) Used() bool {
	return slices.ContainsFunc(v.Errors, func(e Violation) bool { return e.Code == batchUsed })
}

// Try asks what would become of a call; nothing is kept of it.
func Try(ctx context.Context, d Dispatcher, p *web.Page, c Call) (v Verdict, err error) {
	answer, err := dispatch(ctx, d, p, c, true)
	if problem, refused := refusal(err); refused {
		return Verdict{Errors: []Violation{{Code: problem.Code, Detail: problem.Detail}}}, nil
	}
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(answer, &v); err != nil {
		return v, fmt.Errorf("read the answer to a dry run: %w", err)
	}
	return v, nil
}

// Make makes a call. Where it is refused, and was not accepted before, it returns
// why; nil is a call that is accepted.
func Make(ctx context.Context, d Dispatcher, p *web.Page, c Call) (*httpapi.Problem, error) {
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

func dispatch(ctx context.Context, d Dispatcher, p *web.Page, c Call, dryRun bool) ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write a dispatch call: %w", err)
	}
	return d.Dispatch(ctx, p.Session.Tenant, p.Base, body, c.Lines, dryRun)
}

// refusal returns the problem of a call that was refused, which is not a failure.
func refusal(err error) (*httpapi.Problem, bool) {
	problem, ok := errors.AsType[*httpapi.Problem](err)
	return problem, ok && problem.Status < http.StatusInternalServerError
}

func used(problem *httpapi.Problem) bool {
	return problem.Code == batchUsed ||
		slices.ContainsFunc(problem.Errors, func(v httpapi.Violation) bool { return v.Code == batchUsed })
}

// NewCampaignID draws the id of a campaign: a random UUID, version 4.
func NewCampaignID(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("draw a campaign's id: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], nil
}
