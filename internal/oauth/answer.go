package oauth

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/httpapi"
)

// failure is an error response of RFC 6749 §5.2.
type failure struct {
	status      int
	Code        string        `json:"error"`
	Description string        `json:"error_description"`
	retryAfter  time.Duration // 0 for no Retry-After
}

func (f *failure) Error() string { return f.Code }

func invalidRequest(description string) *failure {
	return &failure{status: http.StatusBadRequest, Code: "invalid_request", Description: description}
}

func invalidClient() *failure {
	return &failure{
		status: http.StatusUnauthorized, Code: "invalid_client",
		Description: "The client is unknown, its secret is wrong, or its credential was revoked.",
	}
}

func invalidGrant() *failure {
	return &failure{
		status: http.StatusUnauthorized, Code: "invalid_grant",
		Description: "The refresh token is invalid, expired, revoked or already used. Authenticate with client_credentials.",
	}
}

func tooManyRequests(wait time.Duration) *failure {
	return &failure{
		status: http.StatusTooManyRequests, Code: "too_many_requests",
		Description: "More than 10 requests within a minute. Keep an access token for its hour.", retryAfter: wait,
	}
}

func tooManyFailures(wait time.Duration) *failure {
	return &failure{
		status: http.StatusTooManyRequests, Code: "too_many_requests",
		Description: "Too many failed requests from this address within a minute: more than 10 for this client, or more than 60 in all.",
		retryAfter:  wait,
	}
}

// unavailable is the failure for errors that the client did not cause.
func unavailable() *failure {
	return &failure{
		status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "The service could not complete the request. Try again.", retryAfter: time.Second,
	}
}

// tokenResponse is the success response of RFC 6749 §5.1.
type tokenResponse struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// answerError writes the error response to a token request. An error that is not a
// *failure is logged and not disclosed.
func answerError(w http.ResponseWriter, r *http.Request, err error) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		slog.ErrorContext(r.Context(), "token request failed", "error", err)
		f = unavailable()
	}
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", retry.Header(f.retryAfter))
	}
	if f.Code == "invalid_client" && usesBasic(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="campaign-dispatch", charset="UTF-8"`)
	}
	metrics.Kind(r.Context(), f.Code, 1)
	httpapi.WriteJSON(w, f.status, f)
}
