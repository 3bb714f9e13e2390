package oauth

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"unicode/utf8"
)

// Every request is either parsed completely or refused with a client error.
func FuzzReadTokenRequest(f *testing.F) {
	const form = "application/x-www-form-urlencoded"
	f.Add([]byte("grant_type=client_credentials&client_id=a&client_secret=b&scope=c"), form, "")
	f.Add([]byte("grant_type=client_credentials"), form, "Basic YTpi")
	f.Add([]byte("grant_type=refresh_token&refresh_token=%ff"), "", "basic YSUzQTpiJTI1")
	f.Add([]byte(`{"grant_type":"client_credentials","client_id":"a","client_secret":"b"}`), "application/json; charset=utf-8", "")
	f.Add([]byte(`{"grant_type":1,"scope":null,"x":{"scope":[]}}`), form, "Basic :")
	f.Fuzz(func(t *testing.T, body []byte, contentType, authorization string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, TokenPath, bytes.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", authorization)
		q, err := readRequest(r)
		if err != nil {
			f, ok := errors.AsType[*failure](err)
			if !ok || f.status != http.StatusBadRequest && f.status != http.StatusUnauthorized || f.Code == "" {
				t.Errorf("failed by %#v", err)
			}
			answerError(httptest.NewRecorder(), r, err)
			return
		}
		for _, field := range []string{q.GrantType, q.ClientID, q.ClientSecret, q.RefreshToken, q.Scope} {
			if !utf8.ValidString(field) {
				t.Errorf("a parameter that is not valid UTF-8: %q", field)
			}
		}
		secret := q.GrantType == grantClientCredentials && q.ClientID != "" && q.ClientSecret != ""
		if !secret && (q.GrantType != grantRefreshToken || q.RefreshToken == "") {
			t.Errorf("accepted without credentials: %+v", q)
		}
	})
}
