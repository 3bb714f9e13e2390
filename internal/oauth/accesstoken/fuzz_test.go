package accesstoken_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"net/http"
	"strings"
	"testing"

	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Only the header of an issued token authorizes; all others are refused. The key is
// fixed so that all fuzzing processes share it.
func FuzzAuthorize(f *testing.F) {
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{7}, 32))
	if err != nil {
		f.Fatal(err)
	}
	ring := keyring{private}
	i := accesstoken.Issuer{Signer: ring, Now: clock(now)}
	token, err := i.Issue(f.Context(), issuer, claims)
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(token, ".")
	f.Add("Bearer " + token)
	f.Add("bearer " + parts[0] + "." + parts[1] + ".")
	f.Add("Bearer eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0." + parts[1] + ".")
	f.Add("Bearer ..")
	f.Add("Basic YTpi")
	f.Fuzz(func(t *testing.T, header string) {
		v := accesstoken.Verifier{Keys: ring, Now: clock(now)}
		got, err := v.Authorize(request(t, header), issuer, "campaigns:dispatch")
		if err == nil {
			if got != claims {
				t.Errorf("%q authorizes %+v", header, got)
			}
			return
		}
		problem, ok := errors.AsType[*httpapi.Problem](err)
		if !ok || problem.Status != http.StatusUnauthorized || problem.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: %v", header, err)
		}
	})
}
