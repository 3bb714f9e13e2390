package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"campaign-dispatch/internal/campaign"
)

// Credentials keeps credentials; the error wraps campaign.ErrNotFound where
// there is none.
type Credentials interface {
	Credential(ctx context.Context, clientID string) (campaign.Credential, error)
}

// ActiveVerifier authorizes requests as accesstoken does, and refuses those of a credential
// that was revoked since its token was issued.
type ActiveVerifier struct {
	Tokens      *Verifier
	Credentials Credentials
}

// Authorize returns the claims of the request's access token, which must have
// the scope, or the *gateway.Problem to answer: a revoked credential comes before a
// missing scope.
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
