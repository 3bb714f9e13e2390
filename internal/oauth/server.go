// Package oauth is the token endpoint: OAuth 2.0 client credentials and refresh
// tokens with rotation, a rate limit, and the documents by which others verify
// its tokens and find their way.
package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Store keeps credentials, refresh tokens and the windows of rate limits.
type Store interface {
	TokenStore
	WindowStore
	// AuthRows reads consistently what a token request is judged by.
	AuthRows(ctx context.Context, q campaign.AuthQuery) (campaign.AuthRows, error)
}

// TokenStore writes refresh tokens.
type TokenStore interface {
	PutRefreshToken(ctx context.Context, t campaign.RefreshToken) error
	// RotateRefreshToken writes next and marks used as used, both or neither.
	// The error wraps campaign.ErrLostRace where used is not valid any more.
	RotateRefreshToken(ctx context.Context, used, next campaign.RefreshToken, at time.Time) error
	RevokeFamily(ctx context.Context, family string, until time.Time) error
}

// WindowStore keeps the windows of rate limits.
type WindowStore interface {
	// SwapWindow replaces read by next, or returns what stands there now.
	SwapWindow(ctx context.Context, key string, read, next campaign.Window) (current campaign.Window, swapped bool, err error)
	// TakePlace takes a place that no pass took since the instant, or returns all
	// places as they are now.
	TakePlace(ctx context.Context, key string, place int, p campaign.Pass, since time.Time) (current campaign.Places, taken bool, err error)
}

// Server answers the token endpoint and the documents around it.
type Server struct {
	Store   Store
	Signer  accesstoken.Signer
	Now     func() time.Time
	Random  io.Reader
	BaseURL string // the service's address; "" to take it from each request
}

// settleMargin is kept back of a request's time for its answer: a transaction
// whose outcome is unknown is asked after only until then.
const settleMargin = 500 * time.Millisecond

// Handler returns the handler of all routes.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(TokenPath, httpapi.HandlerFunc(s.serveToken))
	mux.Handle(KeysPath, httpapi.HandlerFunc(s.serveKeys))
	mux.Handle(MetadataPath, httpapi.HandlerFunc(s.serveMetadata))
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
			status: http.StatusMethodNotAllowed, code: "invalid_request", description: "The token endpoint takes POST only.",
		})
		return nil
	}
	ctx, cancel := withMargin(r.Context())
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

func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-settleMargin))
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

// refuseUnread counts a request that is not worth judging, and answers it.
func (s *Server) refuseUnread(ctx context.Context, c caller, f *failure) error {
	rows, err := s.Store.AuthRows(ctx, campaign.AuthQuery{Windows: []string{c.claimedKey()}, Places: c.failuresKey()})
	if err != nil {
		return err
	}
	return s.refuse(ctx, c, rows, f)
}
