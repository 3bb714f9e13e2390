// Package ssm reads secrets from the SSM Parameter Store. It implements the single API call
// that functions need, because the SDK's ssm package initializes all of its operations and
// slows down cold starts.
package ssm

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

// Reader reads parameters with an AWS configuration.
type Reader struct {
	Config aws.Config
	Now    func() time.Time
}

// KeyDocument returns the decrypted value of a parameter (GetParameter). Like the SDK, it
// makes up to three attempts after network errors, throttling and 5xx. The error contains
// the parameter's name but not its value.
func (r Reader) KeyDocument(ctx context.Context, parameter string) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		value, err := r.get(ctx, parameter)
		if err == nil {
			return value, nil
		}
		if !pause(ctx, attempt, err) {
			return nil, fmt.Errorf("get parameter %s: %w", parameter, err)
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

func (r Reader) get(ctx context.Context, parameter string) (value []byte, err error) {
	request, err := r.request(ctx, parameter)
	if err != nil {
		return nil, err
	}
	response, err := r.Config.HTTPClient.Do(request)
	if err != nil {
		return nil, networkError{err}
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, networkError{err}
	}
	if response.StatusCode != http.StatusOK {
		return nil, newRefusal(response, body)
	}
	var answer struct{ Parameter struct{ Value string } }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return []byte(answer.Parameter.Value), nil
}

// networkError marks a connection error for the SDK's retryer.
type networkError struct{ error }

func (networkError) ConnectionError() bool { return true }

func (e networkError) Unwrap() error { return e.error }

// refusal is an error response from AWS, such as AccessDeniedException. The SDK's retryer checks its status and code.
type refusal struct {
	status     string
	statusCode int
	code       string
}

func newRefusal(response *http.Response, body []byte) refusal {
	var said struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		said.Type = "" // not a response from AWS
	}
	return refusal{response.Status, response.StatusCode, said.Type[strings.LastIndexByte(said.Type, '#')+1:]}
}

func (e refusal) Error() string {
	return "parameter store error: " + e.status + " " + e.code
}

// HTTPStatusCode returns the status for the SDK's retryer.
func (e refusal) HTTPStatusCode() int { return e.statusCode }

// ErrorCode returns the AWS error code for the SDK's retryer.
func (e refusal) ErrorCode() string { return e.code }

func (r Reader) request(ctx context.Context, parameter string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"Name": parameter, "WithDecryption": true})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "AmazonSSM.GetParameter")
	credentials, err := r.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(hash[:]), "ssm", r.Config.Region, r.Now())
	return request, err
}

func (r Reader) endpoint() string {
	if url := aws.ToString(r.Config.BaseEndpoint); url != "" {
		return url
	}
	return "https://ssm." + r.Config.Region + ".amazonaws.com/"
}
