package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
)

const skew = 5 * time.Second

// maxLength is the maximum length of a token in bytes. Longer ones are not decoded.
const maxLength = 8 << 10

// ErrInvalid means that a token is malformed, expired or not issued by this service.
var ErrInvalid = errors.New("invalid access token")

// Authorizer verifies the access token of a request. The claims are returned beside the
// error of a token that lacks the scope.
type Authorizer interface {
	// Authorize returns the claims of a token. A refused request returns a *httpapi.Problem.
	Authorize(r *http.Request, issuer, scope string) (Claims, error)
}

// Verifier verifies access tokens.
type Verifier struct {
	Keys Keys
	Now  func() time.Time
}

// Authorize returns the claims of the request's bearer token, which must be issued by
// issuer, the service's base URL. A refused request returns a *httpapi.Problem with an
// RFC 6750 challenge: 401 if the token is missing or invalid, 403 if it lacks the
// scope. The claims are returned with the 403, so that the caller can answer 401 for a
// revoked credential. Any other error is a failure to get the public keys.
func (v *Verifier) Authorize(r *http.Request, issuer, scope string) (Claims, error) {
	token, ok := bearer(r.Header)
	if !ok {
		return Claims{}, unauthorized("missing_token", "The Authorization header carries no bearer token.", "")
	}
	claims, err := v.Verify(r.Context(), token, issuer)
	if errors.Is(err, ErrInvalid) {
		return Claims{}, InvalidToken()
	}
	if err != nil {
		return Claims{}, err
	}
	if !slices.Contains(strings.Fields(claims.Scope), scope) {
		return claims, insufficientScope(scope)
	}
	return claims, nil
}

// InvalidToken returns the 401 for a malformed, expired or revoked token.
func InvalidToken() *httpapi.Problem {
	return unauthorized("invalid_token", "The access token is malformed, expired or revoked. Get a new one from the token endpoint.",
		`, error="invalid_token", error_description="The access token is malformed, expired or revoked"`)
}

const challenge = `Bearer realm="campaign-dispatch"`

func unauthorized(code, detail, parameters string) *httpapi.Problem {
	return &httpapi.Problem{
		Status: http.StatusUnauthorized, Code: code, Detail: detail,
		Header: http.Header{"Www-Authenticate": {challenge + parameters}},
	}
}

func insufficientScope(scope string) *httpapi.Problem {
	return &httpapi.Problem{
		Status: http.StatusForbidden, Code: "insufficient_scope",
		Detail: "The access token lacks the scope " + scope + ".",
		Header: http.Header{"Www-Authenticate": {challenge + `, error="insufficient_scope", scope="` + scope + `"`}},
	}
}

// bearer returns the token of the Authorization header. ok is false if there is none.
func bearer(h http.Header) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(strings.Join(h.Values("Authorization"), ",")), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// Verify returns the claims of a valid token of the issuer. For any other token the
// error wraps ErrInvalid.
func (v *Verifier) Verify(ctx context.Context, token, issuer string) (Claims, error) {
	if issuer == "" {
		return Claims{}, errors.New("verify access token: no issuer")
	}
	if len(token) > maxLength {
		return Claims{}, ErrInvalid
	}
	var claims wireClaims
	if err := formAt(issuer).Parse(ctx, v.Keys, token, v.Now, &claims); err != nil {
		return Claims{}, fmt.Errorf("verify access token: %w", err)
	}
	switch {
	case claims.IssuedAt.After(v.Now().Add(skew)):
		return Claims{}, fmt.Errorf("%w: issued in the future", ErrInvalid)
	case claims.ClientID == "" || claims.Subject != claims.ClientID || claims.Tenant == "":
		return Claims{}, fmt.Errorf("%w: client or tenant missing", ErrInvalid)
	}
	return Claims{Tenant: claims.Tenant, ClientID: claims.ClientID, Scope: claims.Scope}, nil
}

// Parse reads the claims of a JWT of the form that is valid at a time. For any other token the error wraps ErrInvalid.
func (f Form) Parse(ctx context.Context, from Keys, token string, now func() time.Time, claims jwt.Claims) error {
	keys, err := from.Keys(ctx)
	if err != nil {
		return err
	}
	var key Key
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
		jwt.WithIssuer(f.Issuer),
		jwt.WithAudience(f.Audience),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(now),
		jwt.WithStrictDecoding(),
	)
	_, err = parser.ParseWithClaims(token, claims, func(t *jwt.Token) (_ any, err error) {
		key, err = f.find(keys, t.Header)
		return key.Public, err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if issued, err := claims.GetIssuedAt(); err != nil || issued == nil || !key.MaySign(issued.Time) {
		return fmt.Errorf("%w: not issued before its key was replaced", ErrInvalid)
	}
	return nil
}

// find returns the key that the token's header names.
func (f Form) find(keys []Key, header map[string]any) (Key, error) {
	typ, _ := header["typ"].(string)
	if !strings.EqualFold(typ, f.Type) && !strings.EqualFold(typ, "application/"+f.Type) {
		return Key{}, fmt.Errorf("%w: not a token of the type", ErrInvalid)
	}
	if _, critical := header["crit"]; critical {
		return Key{}, fmt.Errorf("%w: critical extension", ErrInvalid)
	}
	for _, k := range keys {
		if k.ID == header["kid"] {
			return k, nil
		}
	}
	return Key{}, fmt.Errorf("%w: unknown key", ErrInvalid)
}

// Credentials reads credentials.
type Credentials interface {
	// Credential returns a credential. The error wraps campaign.ErrNotFound if there is none.
	Credential(ctx context.Context, clientID string) (account.Credential, error)
}

// ActiveVerifier authorizes requests as Verifier does. It also refuses tokens of a
// revoked credential.
type ActiveVerifier struct {
	Tokens      *Verifier
	Credentials Credentials
}

// Authorize returns the claims of the request's access token, which must have the
// scope. A refused request returns a *httpapi.Problem. A revoked credential takes
// precedence over a missing scope.
func (v *ActiveVerifier) Authorize(r *http.Request, issuer, scope string) (Claims, error) {
	claims, unfit := v.Tokens.Authorize(r, issuer, scope)
	if claims.ClientID == "" {
		return Claims{}, unfit
	}
	credential, err := v.Credentials.Credential(r.Context(), claims.ClientID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return Claims{}, fmt.Errorf("authorize: %w", err)
	}
	if err != nil || credential.Revoked() || credential.Tenant != claims.Tenant {
		return Claims{}, InvalidToken()
	}
	return claims, unfit
}
