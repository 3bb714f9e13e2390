// Package rcs sends and revokes messages through Google's RCS Business Messaging API.
package rcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Client sends messages for any number of agents. Its methods may be called
// from any number of goroutines; a Client must not be copied.
type Client struct {
	URL  string // of the provider: no path, no trailing slash
	Keys Keys
	HTTP *http.Client // see NewHTTPClient
	Now  func() time.Time

	tokens tokens
}

// Send gives one message to the provider. It returns nil when the provider has
// the message, from this call or from an earlier one with the same ID. Any other
// result is a *campaign.Failure (by errors.As): the text of the error holds
// neither number nor content, and may be logged.
func (c *Client) Send(ctx context.Context, agent campaign.Agent, d campaign.OutgoingMessage) error {
	body, err := encode(d)
	if err != nil {
		return fmt.Errorf("%w: %w", unencodable(), err)
	}
	query := url.Values{"messageId": {d.ID}, "agentId": {agent.ID}}
	return c.call(ctx, agent, http.MethodPost, c.messages(d.Phone)+"?"+query.Encode(), body)
}

// Revoke takes back a message that is not delivered. It returns nil where the
// provider agreed, which it also does for one that it has revoked before. A
// permanent failure says that it is too late, or that the provider never had the
// message. Errors are as those of Send.
func (c *Client) Revoke(ctx context.Context, agent campaign.Agent, messageID, phone string) error {
	address := c.messages(phone) + "/" + url.PathEscape(messageID) + "?" + url.Values{"agentId": {agent.ID}}.Encode()
	return c.call(ctx, agent, http.MethodDelete, address, nil)
}

func (c *Client) messages(phone string) string {
	return c.URL + "/v1/phones/" + url.PathEscape(phone) + "/agentMessages"
}

// call makes a request, and makes it again with a fresh token where the one that
// was kept is refused.
func (c *Client) call(ctx context.Context, agent campaign.Agent, method, address string, body []byte) error {
	token, err := c.token(ctx, agent, "")
	if err != nil {
		return err
	}
	err = c.once(ctx, method, address, token, body)
	if !errors.Is(err, errTokenRefused) {
		return err
	}
	if token, err = c.token(ctx, agent, token); err != nil {
		return err
	}
	return c.once(ctx, method, address, token, body)
}

// once makes a request once. The status alone decides: an answer that is cut
// after it says no less.
func (c *Client) once(ctx context.Context, method, address, token string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: the provider's address is malformed", unencodable())
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	// To net/http this says that the request may be repeated, as the messageId
	// allows, when a kept connection turns out to be dead. It is not sent.
	request.Header["Idempotency-Key"] = nil
	response, err := c.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", noAnswer(), withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is kept
	return judge(response, c.Now())
}

// withoutURL returns the cause of a failed request without its address, which
// holds the recipient's number.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// NewHTTPClient returns an HTTP client for the provider that opens at most the
// given number of connections to one host, and keeps them. A call ends within
// 15 seconds. Redirects are not followed: they would turn a message into a
// harmless GET that succeeds.
func NewHTTPClient(connections int) *http.Client {
	return &http.Client{
		Timeout:       15 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   3 * time.Second,
			ResponseHeaderTimeout: 12 * time.Second,
			MaxConnsPerHost:       connections,
			MaxIdleConnsPerHost:   connections,
			IdleConnTimeout:       90 * time.Second,
			ForceAttemptHTTP2:     true,
		},
	}
}
