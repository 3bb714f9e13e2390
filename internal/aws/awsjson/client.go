// Package awsjson calls AWS services that use the AWS JSON protocol. Functions make few calls of such a
// service, and its package of the SDK initializes all of its operations, which slows down cold starts.
package awsjson

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"campaign-dispatch/internal/base/retry"
)

// Service is a service of AWS.
type Service struct {
	Name    string // in its host name and in signatures
	Target  string // before the operation in the header X-Amz-Target
	Version string // of the protocol
	Sums    bool   // whether answers have a checksum
}

// Client calls a service with an AWS configuration. Its calls share the quota of retries of the SDK. It does not correct
// the skew of this machine's clock.
type Client struct {
	cfg     aws.Config
	service Service
	now     func() time.Time
	retryer aws.Retryer
}

// New returns a client of a service. Without a retryer, a configuration has the SDK's standard one.
func New(cfg aws.Config, service Service, now func() time.Time) *Client {
	if cfg.Retryer == nil {
		cfg.Retryer = func() aws.Retryer { return sdkretry.NewStandard() }
	}
	return &Client{cfg, service, now, cfg.Retryer()}
}

// Call calls an operation and decodes its answer into out. Like the SDK, it makes up to three attempts after
// network errors, throttling and 5xx, and fewer while most calls fail.
func (c *Client) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	release := c.retryer.GetInitialToken()
	for attempt := 1; ; attempt++ {
		err := c.try(ctx, operation, body, out)
		_ = release(err) // never fails
		if err == nil {
			return nil
		}
		if release = c.pause(ctx, attempt, err); release == nil {
			return err
		}
	}
}

// pause waits before the next attempt, and returns what releases its retry token. It returns nil if there is no next
// attempt.
func (c *Client) pause(ctx context.Context, attempt int, err error) (release func(error) error) {
	if attempt >= c.retryer.MaxAttempts() || ctx.Err() != nil || !c.retryer.IsErrorRetryable(err) {
		return nil
	}
	release, errOfToken := c.retryer.GetRetryToken(ctx, err)
	delay, errOfDelay := c.retryer.RetryDelay(attempt, err)
	if errOfToken != nil || errOfDelay != nil || retry.Sleep(ctx, delay) != nil {
		return nil
	}
	return release
}

func (c *Client) try(ctx context.Context, operation string, in []byte, out any) (err error) {
	request, err := c.request(ctx, operation, in)
	if err != nil {
		return err
	}
	response, err := c.cfg.HTTPClient.Do(request)
	if err != nil {
		return networkError{err}
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return networkError{err}
	}
	if response.StatusCode != http.StatusOK {
		return c.newRefusal(response, body)
	}
	if sum := strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10); c.service.Sums && response.Header.Get("X-Amz-Crc32") != sum {
		return networkError{errSum}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

var errSum = errors.New("the answer does not have its checksum")

// networkError marks a connection error for the SDK's retryer.
type networkError struct{ error }

func (networkError) ConnectionError() bool { return true }

func (e networkError) Unwrap() error { return e.error }

// refusal is an error response from AWS, such as AccessDeniedException. The SDK's retryer checks its status and code.
type refusal struct {
	service    string
	status     string
	statusCode int
	code       string
	message    string
	requestID  string
}

func (c *Client) newRefusal(response *http.Response, body []byte) refusal {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"` // or Message
	}
	_ = json.Unmarshal(body, &said) // otherwise it is not a response from AWS
	return refusal{
		c.service.Name, response.Status, response.StatusCode, said.Type[strings.LastIndexByte(said.Type, '#')+1:], said.Message,
		response.Header.Get("X-Amzn-Requestid"),
	}
}

func (e refusal) Error() string {
	return fmt.Sprintf("%s error: %s %s, request %q: %s", e.service, e.status, e.code, e.requestID, e.message)
}

// HTTPStatusCode returns the status for the SDK's retryer.
func (e refusal) HTTPStatusCode() int { return e.statusCode }

// ErrorCode returns the AWS error code for the SDK's retryer.
func (e refusal) ErrorCode() string { return e.code }

func (c *Client) request(ctx context.Context, operation string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-"+c.service.Version)
	request.Header.Set("X-Amz-Target", c.service.Target+"."+operation)
	return request, Sign(request, body, c.cfg, c.service.Name, c.now())
}

// Sign signs a request to a service with Signature Version 4. body is that of the request.
func Sign(request *http.Request, body []byte, cfg aws.Config, service string, now time.Time) error {
	ctx := request.Context()
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	hash := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(hash[:]), service, cfg.Region, now)
}

func (c *Client) endpoint() string {
	if url := aws.ToString(c.cfg.BaseEndpoint); url != "" {
		return url
	}
	return "https://" + c.service.Name + "." + c.cfg.Region + ".amazonaws.com/"
}
