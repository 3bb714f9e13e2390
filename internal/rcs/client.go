// Package rcs sends and revokes messages through Google's RCS Business Messaging API.
package rcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

// Client sends messages for any number of agents. It is safe for concurrent use and must not be copied.
type Client struct {
	URL  string // base URL of the provider, without path or trailing slash
	Keys Keys
	HTTP *http.Client // see NewHTTPClient
	Now  func() time.Time

	fetches cache.Reads[string]
	tokens  cache.Cache[string, *oauth2.Token] // by agent
}

// Send sends one message. It returns nil if the provider has accepted the message, in
// this call or an earlier one with the same ID. Any error is an *outgoing.Failure
// (by errors.As); its text contains neither number nor content and may be logged.
func (c *Client) Send(ctx context.Context, agent campaign.Agent, d outgoing.Message) error {
	body, err := encode(d)
	if err != nil {
		return fmt.Errorf("%w: %w", unencodable(), err)
	}
	query := url.Values{"messageId": {d.ID}, "agentId": {agent.ID}}
	err = c.call(ctx, agent, http.MethodPost, c.messages(d.Phone)+"?"+query.Encode(), body)
	if errors.Is(err, errExists) {
		metrics.Add(ctx, metrics.RepeatedAnswers, 1)
		return nil
	}
	return err
}

// Revoke revokes an undelivered message. It returns nil if the provider agreed, also
// for a message that was revoked before. A permanent failure means that it is too late,
// or that the provider does not have the message. Errors are as for Send.
func (c *Client) Revoke(ctx context.Context, agent campaign.Agent, messageID, phone string) error {
	address := c.messages(phone) + "/" + url.PathEscape(messageID) + "?" + url.Values{"agentId": {agent.ID}}.Encode()
	return c.call(ctx, agent, http.MethodDelete, address, nil)
}

func (c *Client) messages(phone string) string {
	return c.URL + "/v1/phones/" + url.PathEscape(phone) + "/agentMessages"
}

// call makes a request, and repeats it with a new token if the cached one is refused.
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

// once makes a request without retries. Only the status counts, so a truncated body is not an error.
func (c *Client) once(ctx context.Context, method, address, token string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: malformed provider URL", unencodable())
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	// With this key net/http repeats a request on a broken connection. The header is
	// not sent. Repeats are safe because of the messageId.
	request.Header["Idempotency-Key"] = nil
	response, err := c.HTTP.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", noAnswer(), withoutURL(err))
	}
	defer func() { _ = response.Body.Close() }()
	failure := classify(response, c.Now())
	if response.StatusCode == http.StatusConflict && exists(io.LimitReader(response.Body, maxAnswer)) {
		failure = fmt.Errorf("%w: %w", failure, errExists)
	}
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // so that the connection can be reused
	return failure
}

// maxAnswer is the number of bytes of an answer that are read.
const maxAnswer = 64 << 10

// exists reports whether an answer with the status 409 has the code ALREADY_EXISTS. The other code with that status is ABORTED:
// the request was not carried out, because another one ran at the same time. An answer without a code, or one that was cut
// off, does not say that the provider has the message. The call is repeated then.
func exists(body io.Reader) bool {
	var answer struct {
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	return json.NewDecoder(body).Decode(&answer) == nil && answer.Error.Status == "ALREADY_EXISTS"
}

// withoutURL returns the cause of a failed request without its URL, which contains the recipient's number.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// NewHTTPClient returns an HTTP client for the provider, with at most the given number
// of connections per host. A call ends within 15 seconds. Redirects are not followed:
// they would turn a POST into a GET that succeeds.
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

type verdict struct {
	code string
	kind outgoing.FailureKind
}

// verdicts maps the provider's statuses. A failure is permanent if the provider refused
// the message, its recipient or its agent. Network errors, provider errors and errors
// with the agent's key are transient.
var verdicts = map[int]verdict{
	// The device lacks a feature, or the text is too long.
	http.StatusBadRequest: {campaign.CodeUnsupported, outgoing.Permanent},
	// The service account's key is invalid or revoked, even with a new token.
	http.StatusUnauthorized: {"unauthenticated", outgoing.Transient},
	// The agent is not launched and the number is not a tester's.
	http.StatusForbidden: {campaign.CodeAgentNotLaunched, outgoing.Permanent},
	// The number has no RCS, or its network has not launched the agent.
	http.StatusNotFound:              {campaign.CodeUnreachable, outgoing.Permanent},
	http.StatusRequestTimeout:        {"unavailable", outgoing.Transient},
	http.StatusConflict:              {"unavailable", outgoing.Transient},
	http.StatusRequestEntityTooLarge: {campaign.CodeUnsupported, outgoing.Permanent},
	http.StatusTooManyRequests:       {"throttled", outgoing.Throttled},
}

// Statuses without an entry: 5xx is a provider error, another 4xx a refused request,
// and a 3xx an answer from another server.
var (
	serverTrouble = verdict{"unavailable", outgoing.Transient}
	refused       = verdict{campaign.CodeRejected, outgoing.Permanent}
	unexpected    = verdict{"unexpected_answer", outgoing.Transient}
)

// errTokenRefused marks a failure that a new token may resolve.
var errTokenRefused = errors.New("token refused")

// errExists marks the answer that the provider already has what the request creates. Google documents that it ignores a repeated
// messageId, so this answer is not expected.
var errExists = errors.New("it exists already")

// classify returns nil if the answer states that the provider has the message, else the failure.
func classify(answer *http.Response, now time.Time) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	v := verdictOf(answer.StatusCode)
	failure := &outgoing.Failure{
		Kind:       v.kind,
		Code:       v.code,
		RetryAfter: retry.After(answer.Header.Get("Retry-After"), now),
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%w: status %d: %w", failure, answer.StatusCode, errTokenRefused)
	}
	return fmt.Errorf("%w: status %d", failure, answer.StatusCode)
}

func verdictOf(status int) verdict {
	if v, ok := verdicts[status]; ok {
		return v
	}
	switch status / 100 {
	case 4:
		return refused
	case 5:
		return serverTrouble
	}
	return unexpected
}

// noAnswer is the failure of an interrupted call. The provider may have the message, and ignores a repetition.
func noAnswer() error {
	return &outgoing.Failure{Kind: outgoing.Transient, Code: campaign.CodeNoAnswer}
}

func unencodable() error {
	return &outgoing.Failure{Kind: outgoing.Permanent, Code: campaign.CodeUnsupported}
}

func noToken() error { return &outgoing.Failure{Kind: outgoing.Transient, Code: "unauthenticated"} }
