package rcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
)

const (
	scope       = "https://www.googleapis.com/auth/rcsbusinessmessaging"
	tokenMargin = time.Minute // time before its expiry from which a token is not used
	// tokenTimeout limits reading a key and exchanging it for a token.
	tokenTimeout = 15 * time.Second
	maxTokens    = 10_000 // size of the token cache
)

// Keys reads the key documents of service accounts.
type Keys interface {
	// KeyDocument returns the document in the parameter: the JSON key from Google's console.
	KeyDocument(ctx context.Context, parameter string) ([]byte, error)
}

// token returns a valid token of the agent other than stale, which the provider
// refused. Concurrent calls share one fetch. Each fetch reads the key document, so that
// a changed key takes effect. A failure is an *outgoing.Failure.
func (c *Client) token(ctx context.Context, agent campaign.Agent, stale string) (string, error) {
	if token, ok := c.cachedToken(agent.ID, stale); ok {
		return token, nil
	}
	token, err := c.fetches.Do(ctx, agent.ID, tokenTimeout, func(ctx context.Context) (string, error) {
		return c.refresh(ctx, agent, stale)
	})
	if err != nil {
		return "", fmt.Errorf("%w: agent %s: %w", noToken(), agent.ID, err)
	}
	return token, nil
}

func (c *Client) cachedToken(agentID, stale string) (string, bool) {
	token, ok := c.tokens.Peek(agentID, c.Now(), cache.Forever)
	if !ok || token.AccessToken == stale || !c.Now().Before(token.Expiry.Add(-tokenMargin)) {
		return "", false
	}
	return token.AccessToken, true
}

// refresh fetches a token unless another call has just fetched one.
func (c *Client) refresh(ctx context.Context, agent campaign.Agent, stale string) (string, error) {
	if token, ok := c.cachedToken(agent.ID, stale); ok {
		return token, nil
	}
	token, err := c.fetch(ctx, agent)
	if err != nil {
		return "", err
	}
	c.tokens.Put(agent.ID, token, c.Now(), maxTokens)
	return token.AccessToken, nil
}

// fetch exchanges the agent's key for a token. Its errors contain nothing of the key document.
func (c *Client) fetch(ctx context.Context, agent campaign.Agent) (*oauth2.Token, error) {
	document, err := c.Keys.KeyDocument(ctx, agent.KeyParameter)
	if err != nil {
		return nil, fmt.Errorf("read the key document: %w", err)
	}
	config, err := parseKey(document)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, c.HTTP)
	token, err := config.TokenSource(ctx).Token()
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return nil, fmt.Errorf("exchange the key for a token: status %d", refusal.Response.StatusCode)
	}
	if err != nil {
		return nil, fmt.Errorf("exchange the key for a token: %w", err)
	}
	return token, nil
}

func parseKey(document []byte) (*jwt.Config, error) {
	var key struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
		TokenURI     string `json:"token_uri"`
	}
	if json.Unmarshal(document, &key) != nil || key.Type != "service_account" || key.TokenURI == "" {
		return nil, errors.New("the key document is not a service account's")
	}
	return &jwt.Config{
		Email:        key.ClientEmail,
		PrivateKey:   []byte(key.PrivateKey),
		PrivateKeyID: key.PrivateKeyID,
		Scopes:       []string{scope},
		TokenURL:     key.TokenURI,
	}, nil
}
