package accesstoken

import "net/http"

// Authorizer verifies the access token of a request. The claims are returned beside the
// error of a token that lacks the scope.
type Authorizer interface {
	Authorize(r *http.Request, issuer, scope string) (Claims, error)
}
