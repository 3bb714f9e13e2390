package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
)

// MaxBody is the maximum size of a request body in bytes, decoded.
const MaxBody = 4 << 20

// client is what the call of a client has besides its request.
type client struct {
	id           string
	key          string // Idempotency-Key
	bodyHash     [sha256.Size]byte
	base         string // URL of the service
	dryRun       bool
	unknown      *unknownNames // nil unless this is a dry run
	scopeErr     error         // the token lacks the scope
	precheckErr  error         // invalid query, or body larger than MaxBody
	waitForCount func() error  // waits for the count, see Service.limit
}

// ServeDispatch serves one dispatch call. A refused call returns a *httpapi.Problem.
func (s *Service) ServeDispatch(w http.ResponseWriter, r *http.Request) error {
	base := httpapi.BaseURL(r, s.BaseURL)
	claims, err := s.Tokens.Authorize(r, base, account.ScopeDispatch)
	if claims.ClientID == "" {
		return err
	}
	c := &call{tenant: claims.Tenant, now: s.Now(), req: &request{}, client: &client{id: claims.ClientID, base: base, scopeErr: err}}
	if err == nil {
		s.receive(c, r)
	}
	body, status, err := s.serve(r.Context(), c)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// receive reads a client's call. It stores the faults in c; they are reported later
// because a revoked credential takes precedence and its row is not read yet.
func (s *Service) receive(c *call, r *http.Request) {
	query, err := httpapi.DryRun.Read(r)
	if err == nil {
		c.client.dryRun, err = query.Switch("dryRun")
	}
	if err != nil {
		c.client.precheckErr = err
		return
	}
	var fault *httpapi.Violation
	if c.client.key, fault = httpapi.IdempotencyKey(r.Header); fault != nil {
		c.faults.add(fault.Pointer, fault.Code, fault.Detail)
	}
	body, err := httpapi.JSONBody(r, MaxBody)
	if err != nil {
		c.client.precheckErr = err
		return
	}
	if c.client.dryRun {
		c.client.key, c.client.unknown = "", &unknownNames{} // a dry run stores no answer to repeat
	}
	if c.client.key != "" {
		c.client.bodyHash = sha256.Sum256(body)
	}
	req, found := readRequest(body, c.client.unknown, httpapi.Encoded(r.Header))
	s.take(c, req, found)
}

// serve answers a call. Its error is a *httpapi.Problem.
func (s *Service) serve(ctx context.Context, c *call) (body []byte, status int, err error) {
	err = s.settle(ctx, c, func(state acceptance.State, earlier numberset.Set) (err error) {
		body, status, err = s.attempt(ctx, c, state, earlier)
		return err
	})
	if problem := (*httpapi.Problem)(nil); err != nil && !errors.As(err, &problem) {
		slog.ErrorContext(ctx, "dispatch call failed", "error", err)
		return nil, 0, httpapi.TryAgain()
	}
	return body, status, err
}

// attempt answers a client's call.
func (s *Service) attempt(ctx context.Context, c *call, state acceptance.State, earlier numberset.Set) ([]byte, int, error) {
	if k := state.Credential; k == nil || k.Revoked() || k.Tenant != c.tenant {
		return nil, 0, accesstoken.InvalidToken()
	}
	if c.client.scopeErr != nil {
		return nil, 0, c.client.scopeErr
	}
	if err := s.limit(ctx, c, state.Calls); err != nil {
		return nil, 0, err
	}
	body, status, err := s.answer(ctx, c, state, earlier)
	if limited := c.client.waitForCount(); limited != nil {
		return nil, 0, limited
	}
	return body, status, err
}

// answer judges an authorized call, and accepts it if there is no fault.
func (s *Service) answer(ctx context.Context, c *call, state acceptance.State, earlier numberset.Set) (body []byte, status int, err error) {
	switch {
	case c.client.precheckErr != nil:
		return nil, 0, c.client.precheckErr
	case state.Answer != nil:
		body, err = s.repeat(ctx, c, *state.Answer)
		return body, http.StatusAccepted, err
	case c.client.dryRun:
		a := newDryAnswer(c, state, c.check(state, earlier))
		if err = s.addWithheld(ctx, c, state.Template, &a); err == nil {
			body, err = httpapi.EncodeJSON(a)
		}
		return body, http.StatusOK, err
	}
	err = s.decide(ctx, c, state, earlier)
	if r, refused := errors.AsType[*Refusal](err); refused {
		return nil, 0, r.problem()
	}
	return c.staged.answer, http.StatusAccepted, err
}

func (s *Service) repeat(ctx context.Context, c *call, a acceptance.Answer) ([]byte, error) {
	if !bytes.Equal(a.BodyHash, c.client.bodyHash[:]) {
		return nil, httpapi.KeyReused("body", "call")
	}
	if a.BlobKey == "" {
		return a.Body, nil
	}
	body, err := s.Blobs.Get(ctx, a.BlobKey)
	if err != nil {
		return nil, fmt.Errorf("get the stored answer of an idempotency key: %w", err)
	}
	return body, nil
}
