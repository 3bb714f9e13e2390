// Package awsjson calls AWS services that speak the AWS JSON protocol. Functions make few calls of such a
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
	"io"
	"net/http"
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
}

// Client calls a service with an AWS configuration.
type Client struct {
	Config  aws.Config
	Service Service
	Now     func() time.Time
}

// Call calls an operation and decodes its answer into out. Like the SDK, it makes up to three attempts after
// network errors, throttling and 5xx.
func (c Client) Call(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := c.try(ctx, operation, body, out)
		if err == nil || !pause(ctx, attempt, err) {
			return err
		}
	}
}

// pause waits before the next attempt. It returns false if there is none or the error is not retryable.
func pause(ctx context.Context, attempt int, err error) bool {
	retryer := sdkretry.NewStandard()
	if attempt >= retryer.MaxAttempts() || ctx.Err() != nil || !retryer.IsErrorRetryable(err) {
		return false
	}
	delay, err := retryer.RetryDelay(attempt, err)
	if err != nil {
		return false
	}
	return retry.Sleep(ctx, delay) == nil
}

func (c Client) try(ctx context.Context, operation string, in []byte, out any) (err error) {
	request, err := c.request(ctx, operation, in)
	if err != nil {
		return err
	}
	response, err := c.Config.HTTPClient.Do(request)
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
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

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
}

func (c Client) newRefusal(response *http.Response, body []byte) refusal {
	var said struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		said.Type = "" // not a response from AWS
	}
	return refusal{c.Service.Name, response.Status, response.StatusCode, said.Type[strings.LastIndexByte(said.Type, '#')+1:]}
}

func (e refusal) Error() string { return e.service + " error: " + e.status + " " + e.code }

// HTTPStatusCode returns the status for the SDK's retryer.
func (e refusal) HTTPStatusCode() int { return e.statusCode }

// ErrorCode returns the AWS error code for the SDK's retryer.
func (e refusal) ErrorCode() string { return e.code }

func (c Client) request(ctx context.Context, operation string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-"+c.Service.Version)
	request.Header.Set("X-Amz-Target", c.Service.Target+"."+operation)
	credentials, err := c.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(hash[:]), c.Service.Name, c.Config.Region, c.Now())
	return request, err
}

func (c Client) endpoint() string {
	if url := aws.ToString(c.Config.BaseEndpoint); url != "" {
		return url
	}
	return "https://" + c.Service.Name + "." + c.Config.Region + ".amazonaws.com/"
}
