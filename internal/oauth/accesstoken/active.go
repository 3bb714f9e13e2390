package accesstoken

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings/account"
)

// Credentials reads credentials. The error wraps campaign.ErrNotFound if there is none.
type Credentials interface {
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
