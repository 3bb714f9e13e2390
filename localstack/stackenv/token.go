package stackenv

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"campaign-dispatch/localstack/httpjson"
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
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	status, err := httpjson.Do(http.DefaultClient, r, &answer)
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	if answer.AccessToken == "" {
		return "", fmt.Errorf("get a token: the service returned status %d", status)
	}
	return answer.AccessToken, nil
}
