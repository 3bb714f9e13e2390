// Package oauth serves the token endpoint: OAuth 2.0 client credentials, refresh tokens
// with rotation, and rate limits. It also publishes the server metadata and the keys
// that verify its tokens.
package oauth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/oauth/authrow"
)

// Store stores credentials, refresh tokens and rate limit windows.
type Store interface {
	// PutRefreshToken writes the first token of a family.
	PutRefreshToken(ctx context.Context, t authrow.RefreshToken) error
	// RotateRefreshToken writes next and marks used as used, in one transaction. The
	// error wraps campaign.ErrLostRace if used is no longer valid.
	RotateRefreshToken(ctx context.Context, used, next authrow.RefreshToken, at time.Time) error
	// RevokeFamily revokes a family of tokens, the last of which expires at until. It can be repeated.
	RevokeFamily(ctx context.Context, family string, until time.Time) error
	// SwapWindow replaces read with next, or returns the current window.
	SwapWindow(ctx context.Context, key string, read, next authrow.Window) (current authrow.Window, swapped bool, err error)
	// TakePlace takes a place that no request has used since the time, or returns the
	// current places.
	TakePlace(ctx context.Context, key string, place int, p authrow.Pass, since time.Time) (current authrow.Places, taken bool, err error)
	// AuthRows reads the rows of a token request in a consistent read.
	AuthRows(ctx context.Context, q authrow.Query) (authrow.Rows, error)
}

// Server serves the token endpoint, its metadata and its keys.
type Server struct {
	Store   Store
	Signer  accesstoken.Signer
	Now     func() time.Time
	BaseURL string // base URL; "" to derive it from each request
}

// settleMargin is the part of a request's time reserved for its answer. The outcome of
// an uncertain transaction is queried only until then.
const settleMargin = 500 * time.Millisecond

// Handler returns a handler for all routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(TokenPath, httpapi.HandlerFunc(s.serveToken))
	mux.Handle(KeysPath, onlyGet(s.serveKeys))
	mux.Handle(MetadataPath, onlyGet(s.serveMetadata))
	return mux
}

// The routes.
const (
	TokenPath    = "/api/v1/oauth/token" //nolint:gosec // the route, no credential
	KeysPath     = "/.well-known/jwks.json"
	MetadataPath = "/.well-known/oauth-authorization-server"
)

func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answerError(w, r, &failure{
			status: http.StatusMethodNotAllowed, Code: "invalid_request", Description: "The token endpoint takes POST only.",
		})
		return nil
	}
	ctx, cancel := retry.WithMargin(r.Context(), settleMargin)
	defer cancel()
	answer, err := s.token(ctx, r)
	if err != nil {
		answerError(w, r, err)
		return nil
	}
	metrics.Add(ctx, metrics.TokensIssued, 1)
	httpapi.WriteJSON(w, http.StatusOK, answer)
	return nil
}

func (s *Server) token(ctx context.Context, r *http.Request) (tokenResponse, error) {
	request, err := readRequest(r)
	c := caller{tokenRequest: request, address: httpapi.SourceIP(r), baseURL: httpapi.BaseURL(r, s.BaseURL)}
	if f, ok := errors.AsType[*failure](err); ok {
		return tokenResponse{}, s.refuseUnread(ctx, c, f)
	}
	if err != nil {
		return tokenResponse{}, err
	}
	if c.GrantType == grantRefreshToken {
		return s.refreshToken(ctx, c)
	}
	return s.clientCredentials(ctx, c)
}

// refuseUnread counts and answers a request that is refused before its credential is
// checked.
func (s *Server) refuseUnread(ctx context.Context, c caller, f *failure) error {
	rows, err := s.Store.AuthRows(ctx, authrow.Query{Windows: []string{c.claimedKey()}, Places: c.failuresKey()})
	if err != nil {
		return err
	}
	return s.refuse(ctx, c, rows, f)
}
