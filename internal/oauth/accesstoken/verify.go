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

	"campaign-dispatch/internal/httpapi"
)

// skew is how far the issuing machine's clock may be ahead of the verifying
// one's.
const skew = 5 * time.Second

// maxLength is more than any token of this service has; longer ones are not
// decoded.
const maxLength = 8 << 10

// ErrInvalid says that a token is not one of this service, or no longer valid.
var ErrInvalid = errors.New("invalid access token")

// Verifier judges access tokens.
type Verifier struct {
	Keys Keys
	Now  func() time.Time
}

// Authorize returns the claims of the request's bearer token. The error is a
// *httpapi.Problem with the challenge of RFC 6750: 401 where the token is
// missing, or not a valid one of the issuer (the service's base URL), 403 where
// it lacks the scope. With the 403 come the claims, for whoever knows that the
// credential was revoked meanwhile: that is a 401. Only a failure to get the
// public keys is another error.
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

// InvalidToken is the answer to a request whose token was presented but is
// malformed, expired or revoked.
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

// bearer returns the token of the Authorization header; ok is false where there
// is none.
func bearer(h http.Header) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(strings.Join(h.Values("Authorization"), ",")), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// Verify returns the claims of a token that the issuer gave out and that is
// valid now. Of any other token the error is ErrInvalid.
func (v *Verifier) Verify(ctx context.Context, token, issuer string) (Claims, error) {
	if issuer == "" {
		return Claims{}, errors.New("verify access token: no issuer is given")
	}
	if len(token) > maxLength {
		return Claims{}, ErrInvalid
	}
	keys, err := v.Keys.Keys(ctx)
	if err != nil {
		return Claims{}, fmt.Errorf("verify access token: %w", err)
	}
	var claims wireClaims
	var key Key
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
		jwt.WithIssuer(issuer),
		jwt.WithAudience(Audience(issuer)),
		jwt.WithExpirationRequired(),
		jwt.WithTimeFunc(v.Now),
		jwt.WithStrictDecoding(),
	)
	_, err = parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (_ any, err error) {
		key, err = find(keys, t.Header)
		return key.Public, err
	})
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err := v.judge(claims, key); err != nil {
		return Claims{}, err
	}
	return Claims{Tenant: claims.Tenant, ClientID: claims.ClientID, Scope: claims.Scope}, nil
}

// find returns the key that the header of an access token names.
func find(keys []Key, header map[string]any) (Key, error) {
	typ, _ := header["typ"].(string)
	if typ = strings.ToLower(typ); typ != mediaType && typ != "application/"+mediaType {
		return Key{}, fmt.Errorf("%w: it is no access token", ErrInvalid)
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

// judge checks what the parser does not.
func (v *Verifier) judge(c wireClaims, k Key) error {
	switch {
	case c.IssuedAt == nil || c.IssuedAt.After(v.Now().Add(skew)):
		return fmt.Errorf("%w: issued in the future", ErrInvalid)
	case !k.MaySign(c.IssuedAt.Time):
		return fmt.Errorf("%w: issued after its key was replaced", ErrInvalid)
	case c.ClientID == "" || c.Subject != c.ClientID || c.Tenant == "":
		return fmt.Errorf("%w: whose it is, is not said", ErrInvalid)
	}
	return nil
}
