package accesstoken

import (
	"net/http"

	"campaign-dispatch/internal/httpapi"
)

// Door admits the requests of clients to calls without a dry run.
type Door struct {
	Tokens  Authorizer
	BaseURL string // configured base URL, or ""
	Scope   string // the scope that the calls need
}

// Open authorizes a request and reads its query. A refused request returns a
// *httpapi.Problem: for a dry run, where the parameter is known, with the given detail.
func (d Door) Open(r *http.Request, known httpapi.Parameters, noDryRun string) (Claims, httpapi.Query, error) {
	claims, err := d.Tokens.Authorize(r, httpapi.BaseURL(r, d.BaseURL), d.Scope)
	if err != nil {
		return claims, httpapi.Query{}, err
	}
	query, err := known.Read(r)
	if err != nil {
		return claims, query, err
	}
	return claims, query, query.RefuseDryRun(noDryRun)
}
