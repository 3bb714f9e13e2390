package stackenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Token returns an access token of the demo tenant's credential. The service issues at
// most 10 tokens a minute.
func (e Env) Token(ctx context.Context) (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {e["CLIENT_ID"]}, "client_secret": {e["CLIENT_SECRET"]}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e["BASE_URL"]+"/api/v1/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	defer func() { _ = got.Body.Close() }()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	if answer.AccessToken == "" {
		return "", fmt.Errorf("get a token: the service returned status %d", got.StatusCode)
	}
	return answer.AccessToken, nil
}
