// Package listapi serves the API for lists of numbers that get no messages.
package listapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/reach/lists"
)

// Lists reads and changes lists.
type Lists interface {
	// Change changes or creates a list. Errors are those of package lists, and campaign.ErrNotFound if it must exist.
	Change(ctx context.Context, tenant, name string, c lists.Change, e account.AuditEntry) (lists.List, error)
	// Delete deletes a list. The error wraps campaign.ErrNotFound if there is none.
	Delete(ctx context.Context, tenant, name string, e account.AuditEntry) error
}

// Store reads lists.
type Store interface {
	// Lists returns the lists of a tenant, deleted ones included, ordered by name.
	Lists(ctx context.Context, tenant string) ([]lists.List, error)
}

// Service serves the requests about lists.
type Service struct {
	Tokens  accesstoken.Authorizer
	Lists   Lists
	Store   Store
	Now     func() time.Time
	BaseURL string // configured base URL, or ""
}

// Path is the path of the lists.
const Path = "/api/v1/external/lists"

// Register adds the service's routes to the mux.
func (s *Service) Register(mux *http.ServeMux) {
	for pattern, serve := range map[string]httpapi.HandlerFunc{
		"GET " + Path:                s.serveAll,
		"GET " + Path + "/{name}":    s.serveOne,
		"PUT " + Path + "/{name}":    s.servePut,
		"POST " + Path + "/{name}":   s.servePost,
		"DELETE " + Path + "/{name}": s.serveDelete,
	} {
		mux.Handle(pattern, serve)
	}
}

func (s *Service) open(r *http.Request, known httpapi.Parameters) (accesstoken.Claims, error) {
	door := accesstoken.Door{Tokens: s.Tokens, BaseURL: s.BaseURL, Scope: account.ScopeLists}
	claims, _, err := door.Open(r, known, httpapi.NoDryRun)
	return claims, err
}

func (s *Service) serveAll(w http.ResponseWriter, r *http.Request) error {
	claims, err := s.open(r, nil)
	if err != nil {
		return err
	}
	stored, err := s.Store.Lists(r.Context(), claims.Tenant)
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	all := []answer{}
	for _, l := range lists.Live(stored) {
		all = append(all, newAnswer(l, s.Now()))
	}
	httpapi.WriteJSON(w, http.StatusOK, struct {
		Lists []answer `json:"lists"`
	}{all})
	return nil
}

func (s *Service) serveOne(w http.ResponseWriter, r *http.Request) error {
	claims, err := s.open(r, nil)
	if err != nil {
		return err
	}
	stored, err := s.Store.Lists(r.Context(), claims.Tenant)
	if err != nil {
		return fmt.Errorf("read lists: %w", err)
	}
	l, found := lists.Find(stored, r.PathValue("name"))
	if !found || l.Deleted {
		return noList()
	}
	httpapi.WriteJSON(w, http.StatusOK, newAnswer(l, s.Now()))
	return nil
}

// servePut creates or replaces a list.
func (s *Service) servePut(w http.ResponseWriter, r *http.Request) error {
	return s.serveChange(w, r, "list.put", readReplacement)
}

// servePost adds numbers to a list, and removes numbers from it.
func (s *Service) servePost(w http.ResponseWriter, r *http.Request) error {
	return s.serveChange(w, r, "list.change", readChange)
}

func (s *Service) serveChange(
	w http.ResponseWriter, r *http.Request, action string, read func(*http.Request) (lists.Change, error),
) error {
	claims, err := s.open(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	c, err := read(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	l, err := s.Lists.Change(r.Context(), claims.Tenant, name, c, s.entry(claims, action, name))
	if err != nil {
		return refusal(err)
	}
	httpapi.WriteJSON(w, http.StatusOK, newAnswer(l, s.Now()))
	return nil
}

func (s *Service) serveDelete(w http.ResponseWriter, r *http.Request) error {
	claims, err := s.open(r, httpapi.DryRun)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	if err := s.Lists.Delete(r.Context(), claims.Tenant, name, s.entry(claims, "list.delete", name)); err != nil {
		return refusal(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) entry(claims accesstoken.Claims, action, name string) account.AuditEntry {
	return account.AuditEntry{Tenant: claims.Tenant, At: s.Now(), Who: claims.ClientID, Action: action, Subject: name}
}

// refusals are the answers to changes that a book refuses.
var refusals = []struct {
	err     error
	status  int
	pointer string
	code    string
}{
	{lists.ErrName, http.StatusBadRequest, "", "invalid_name"},
	{lists.ErrText, http.StatusBadRequest, "/reason", "invalid_value"},
	{lists.ErrAreaCode, http.StatusBadRequest, "/areaCodes", "invalid_value"},
	{lists.ErrTraffic, http.StatusBadRequest, "/traffic", "invalid_value"},
	{lists.ErrUntil, http.StatusBadRequest, "/until", "invalid_value"},
	{lists.ErrTooMany, http.StatusConflict, "", "too_many_lists"},
	{lists.ErrTooLarge, http.StatusConflict, "", "lists_too_large"},
	{lists.ErrManyEnds, http.StatusConflict, "/until", "too_many_ends"},
}

func refusal(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return httpapi.Refuse(r.status, r.pointer, r.code, r.err.Error())
		}
	}
	switch {
	case errors.Is(err, campaign.ErrNotFound):
		return noList()
	case errors.Is(err, campaign.ErrLostRace):
		return httpapi.TryAgain()
	}
	return fmt.Errorf("change list: %w", err)
}

func noList() *httpapi.Problem {
	return httpapi.NotFound("list_not_found", "There is no list with this name.")
}
