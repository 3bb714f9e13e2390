package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
)

// Unavailable logs why a session could not be checked, and returns the Refusal to show.
func (p *Page) Unavailable(err error) error {
	slog.ErrorContext(p.R.Context(), "checking a session failed", "error", err.Error(), "route", p.R.Pattern)
	return &Refusal{Status: http.StatusServiceUnavailable, Key: "ui.failed"}
}

// Refusal is an error shown to the person, by its text key.
type Refusal struct {
	Status int
	Key    string
	Args   []any
	// To is the page that the refusal links to, "" for the first page. ToKey is the
	// text key of the link.
	To, ToKey string
}

// Problem returns the refusal of a *httpapi.Problem whose code has a text, with a key that begins with prefix, or nil.
func (p *Page) Problem(prefix string, err error) *Refusal {
	problem, ok := errors.AsType[*httpapi.Problem](err)
	if !ok || !p.Has(prefix+problem.Code) {
		return nil
	}
	return &Refusal{Status: problem.Status, Key: prefix + problem.Code}
}

// FaultOf returns the text key of invalid input, which begins with prefix, or "" for other errors.
func FaultOf(prefix string, err error) (key string) {
	if wrong, ok := errors.AsType[*inputerr.Error](err); ok {
		return prefix + wrong.Code
	}
	return ""
}

func (r *Refusal) title() string {
	switch {
	case r.Key == "ui.csrf":
		return "ui.csrf_title"
	case r.Status == http.StatusNotFound:
		return "ui.not_found_title"
	case r.Status == http.StatusForbidden:
		return "ui.forbidden_title"
	}
	return "ui.error_title"
}

func (r *Refusal) Error() string { return fmt.Sprintf("%d %s", r.Status, r.Key) }

// refuse answers an error with a page, if it is meant for people.
func (p *Page) refuse(err error) error {
	if err == nil {
		return nil
	}
	refusal := &Refusal{}
	var problem *httpapi.Problem
	switch {
	case errors.As(err, &refusal):
	case errors.As(err, &problem) && problem.Status < http.StatusInternalServerError:
		refusal = &Refusal{Status: problem.Status, Key: "ui.problem", Args: []any{problem.Detail}}
	case errors.Is(err, campaign.ErrNoMedia):
		refusal = &Refusal{Status: http.StatusConflict, Key: "ui.no_media"}
	case errors.Is(err, campaign.ErrNotFound):
		refusal = &Refusal{Status: http.StatusNotFound, Key: "ui.not_found"}
	default:
		slog.ErrorContext(p.R.Context(), "serving a page failed", "error", err.Error(), "route", p.R.Pattern)
		refusal = &Refusal{Status: http.StatusInternalServerError, Key: "ui.failed"}
	}
	return p.RenderStatus(refusal.Status, refusal.title(), "error.html", refusal)
}
