package ordeal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client calls the API as its document tells clients to: what got no answer, a
// 429 or a 5xx is repeated as it was.
type client struct {
	base  string
	token string
	http  *http.Client
	// repeats counts the answers that were no answer.
	repeats int
}

// reply is the first answer that a call got, and how often it was repeated before.
type reply struct {
	status  int
	body    []byte
	repeats int
}

const (
	tries = 60
	pause = 500 * time.Millisecond
)

var errNoAnswer = errors.New("a call was repeated for long and never answered")

// do calls until there is an answer.
func (c *client) do(ctx context.Context, method, path string, body []byte, header map[string]string) (reply, error) {
	for n := range tries {
		status, text, err := c.once(ctx, method, path, body, header)
		if ctx.Err() != nil {
			return reply{}, ctx.Err()
		}
		if err == nil && status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
			return reply{status, text, n}, nil
		}
		c.repeats++
		if err := sleep(ctx, pause); err != nil {
			return reply{}, err
		}
	}
	return reply{}, fmt.Errorf("%s %s: %w", method, path, errNoAnswer)
}

func (c *client) once(ctx context.Context, method, path string, body []byte, header map[string]string) (int, []byte, error) {
	if !strings.HasPrefix(path, "http") {
		path = c.base + path
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	got, err := c.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	return got.StatusCode, text, err
}

// must calls and reads the answer, which has to have the status.
func (c *client) must(ctx context.Context, status int, method, path string, body any, header map[string]string, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	got, err := c.do(ctx, method, path, text, header)
	if err != nil {
		return err
	}
	if got.status != status {
		return fmt.Errorf("%s %s: answered %d after %d repetitions: %.300s", method, withoutKeys(path), got.status, got.repeats, got.body)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, withoutKeys(path), err)
	}
	return nil
}

// withoutKeys is an address without what only its reader may know.
func withoutKeys(path string) string {
	if at := strings.Index(path, "/error-files/"); at >= 0 {
		return path[at:at+len("/error-files/")] + "…"
	}
	return path
}

type tokens struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
}

// signIn gets a token by the credential, and another by the refresh token. Where a
// refresh was repeated, its token may be used up: the credential helps.
func (c *client) signIn(ctx context.Context, id, secret string) error {
	first, err := c.grant(ctx, url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}})
	if err != nil || first.status != http.StatusOK {
		return fmt.Errorf("get a token: %d %w", first.status, err)
	}
	var got tokens
	if err := json.Unmarshal(first.body, &got); err != nil {
		return err
	}
	second, err := c.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.RefreshToken}})
	if err != nil {
		return err
	}
	switch {
	case second.status == http.StatusOK:
		err = json.Unmarshal(second.body, &got)
	case second.status == http.StatusUnauthorized && second.repeats > 0:
		first, err = c.grant(ctx, url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}})
		err = errors.Join(err, json.Unmarshal(first.body, &got))
	default:
		err = fmt.Errorf("refresh a token: %d after %d repetitions", second.status, second.repeats)
	}
	c.token = got.AccessToken
	return err
}

func (c *client) grant(ctx context.Context, form url.Values) (reply, error) {
	return c.do(ctx, http.MethodPost, "/api/v1/oauth/token", []byte(form.Encode()), map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
