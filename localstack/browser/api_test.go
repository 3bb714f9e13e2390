package browser_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"campaign-dispatch/internal/base/random"
)

type fields map[string]any

// reply is a response of the API.
type reply struct {
	Code string `json:"code"`

	Accepted    int    `json:"accepted"`
	Rejected    int    `json:"rejected"`
	AccessToken string `json:"access_token"`
	Error       string `json:"error"`
}

// token requests an access token.
func (b *browser) token(clientID, secret string) (status int, got reply) {
	b.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {clientID}, "client_secret": {secret}}
	return b.post("/api/v1/oauth/token", "", "application/x-www-form-urlencoded", []byte(form.Encode()))
}

// call returns a dispatch request with the messages.
func (b *browser) call(name string, messages ...fields) fields {
	return fields{"campaignId": random.UUID(), "name": name, "templateId": b.env["TEMPLATE_ID_PLAIN"], "messages": messages}
}

// dispatch sends a campaign through the API.
func (b *browser) dispatch(token string, call fields) (status int, got reply) {
	b.t.Helper()
	body, err := json.Marshal(call)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.post("/api/v1/external/campaigns/dispatch", token, "application/json", body)
}

func (b *browser) post(path, token, media string, body []byte) (status int, got reply) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.env["BASE_URL"]+path, bytes.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", media)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if !strings.Contains(answer.Header.Get("Content-Type"), "json") {
		b.t.Fatalf("POST %s: status %d with %s, want JSON", path, answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, got
}
