package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"campaign-dispatch/internal/dashboard/web"
)

// Provider is the OpenID provider with the dashboard's users: a Cognito user pool.
type Provider struct {
	Issuer   string
	ClientID string // a public client, without secret
	Client   *http.Client

	mu    sync.Mutex
	known *endpoints
}

type endpoints struct {
	provider *oidc.Provider
	signOut  string
	revoke   string // "" if there is none
}

// discover reads the provider's endpoints at first use: not every function instance
// signs somebody in.
func (p *Provider) discover(ctx context.Context) (*endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil {
		return p.known, nil
	}
	// The provider's keys are fetched later, after this request has ended.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.Client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover the sign-in service: %w", err)
	}
	var says struct {
		SignOut string `json:"end_session_endpoint"`
		Revoke  string `json:"revocation_endpoint"`
	}
	if err := provider.Claims(&says); err != nil {
		return nil, fmt.Errorf("read the sign-in service's endpoints: %w", err)
	}
	p.known = &endpoints{provider: provider, signOut: says.SignOut, revoke: says.Revoke}
	return p.known, nil
}

func (p *Provider) config(known *endpoints, base string) *oauth2.Config {
	endpoint := known.provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	return &oauth2.Config{
		ClientID: p.ClientID, Endpoint: endpoint, RedirectURL: base + callbackPath,
		Scopes: []string{oidc.ScopeOpenID}, // includes the tenant and the e-mail address
	}
}

// signInURL returns the URL of the provider's sign-in page for an attempt.
func (p *Provider) signInURL(ctx context.Context, base, language string, a attempt) (string, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.config(known, base).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier),
		oauth2.SetAuthURLParam("lang", language)), nil
}

// signOutURL returns the URL that also ends the provider's session.
func (p *Provider) signOutURL(ctx context.Context, base string) (string, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	return known.signOut + "?" + url.Values{"client_id": {p.ClientID}, "logout_uri": {base + signedOutPath}}.Encode(), nil
}

// person is a signed-in person, from the provider's claims.
type person struct {
	Email  string   `json:"email"`
	Tenant string   `json:"custom:tenant"`
	Groups []string `json:"cognito:groups"`
}

// role returns the person's role, or "" for none.
func (p person) role() web.Role {
	for _, role := range web.Roles() {
		if slices.Contains(p.Groups, string(role)) {
			return role
		}
	}
	return ""
}

// hasPlace reports whether the person has a tenant and a role.
func (p person) hasPlace() bool { return p.Tenant != "" && p.Email != "" && p.role() != "" }

// errRefused means that a code or a token is invalid.
var errRefused = errors.New("the sign-in was refused")

// redeem exchanges an authorization code. The refresh token, returned for renew, is ""
// if the provider issues none. The error wraps errRefused if the code does not belong
// to the attempt.
func (p *Provider) redeem(ctx context.Context, base, code string, a attempt) (who person, renewal string, err error) {
	known, err := p.discover(ctx)
	if err != nil {
		return person{}, "", err
	}
	ctx = oidc.ClientContext(ctx, p.Client)
	token, err := p.config(known, base).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return person{}, "", refusedBy("redeem a code", err)
	}
	who, nonce, err := p.verify(ctx, known, token)
	if err == nil && nonce != a.Nonce {
		err = fmt.Errorf("verify an id token: %w: it belongs to another attempt", errRefused)
	}
	return who, token.RefreshToken, err
}

// renew returns the current claims of a person who has signed in before. The error
// wraps errRefused if the person has no access, or if the refresh token has expired.
func (p *Provider) renew(ctx context.Context, base, renewal string) (person, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.Client)
	token, err := p.config(known, base).TokenSource(ctx, &oauth2.Token{RefreshToken: renewal}).Token()
	if err != nil {
		return person{}, refusedBy("renew a session", err)
	}
	who, _, err := p.verify(ctx, known, token)
	return who, err
}

// revoke revokes a refresh token (RFC 7009), if the provider supports it.
func (p *Provider) revoke(ctx context.Context, renewal string) error {
	known, err := p.discover(ctx)
	if err != nil || known.revoke == "" {
		return err
	}
	form := url.Values{"token": {renewal}, "client_id": {p.ClientID}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, known.revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke a renewal: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := p.Client.Do(r)
	if err != nil {
		return fmt.Errorf("revoke a renewal: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("revoke a renewal: the sign-in service answers %d", answer.StatusCode)
	}
	return nil
}

func refusedBy(doing string, err error) error {
	if said, ok := errors.AsType[*oauth2.RetrieveError](err); ok && said.Response.StatusCode < http.StatusInternalServerError {
		return fmt.Errorf("%s: %w: %s", doing, errRefused, said.ErrorCode)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// verify returns the person in an ID token, and its nonce.
func (p *Provider) verify(ctx context.Context, known *endpoints, token *oauth2.Token) (who person, nonce string, err error) {
	raw, _ := token.Extra("id_token").(string)
	verified, err := known.provider.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return person{}, "", fmt.Errorf("verify an id token: %w: %w", errRefused, err)
	}
	if err := verified.Claims(&who); err != nil {
		return person{}, "", fmt.Errorf("read an id token: %w: %w", errRefused, err)
	}
	return who, verified.Nonce, nil
}
