// Package ssm reads secrets from the SSM Parameter Store. It makes the one
// call that a function needs by itself: the SDK's package of SSM prepares all of
// its operations when a process starts, which costs a cold start more than the
// rest of the function.
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
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Reader reads parameters with the region, credentials, endpoint and HTTP client
// of an AWS configuration.
type Reader struct {
	Config aws.Config
	Now    func() time.Time
}

// KeyDocument returns the decrypted value of a parameter (GetParameter of the SSM
// API). It is tried again as the SDK tries its calls: three times in all, after
// network errors, throttling and 5xx. The error names the parameter, and holds
// nothing of its value.
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

// pause waits before the next attempt, and returns false where none is left or the
// error is not one to retry.
func pause(ctx context.Context, attempt int, err error) bool {
	retryer := retry.NewStandard()
	if attempt >= retryer.MaxAttempts() || ctx.Err() != nil || !retryer.IsErrorRetryable(err) {
		return false
	}
	delay, err := retryer.RetryDelay(attempt, err)
	if err != nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return true
	}
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

// networkError is a failure that the SDK's retryer takes for one of the connection.
type networkError struct{ error }

func (networkError) ConnectionError() bool { return true }

func (e networkError) Unwrap() error { return e.error }

// refusal is an error that AWS answered with, such as AccessDeniedException. The
// SDK's retryer judges it by its status and its code.
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
		said.Type = "" // it is not AWS that answered
	}
	return refusal{response.Status, response.StatusCode, said.Type[strings.LastIndexByte(said.Type, '#')+1:]}
}

func (e refusal) Error() string {
	return "the parameter store refused: " + e.status + " " + e.code
}

// HTTPStatusCode is the answer's status.
func (e refusal) HTTPStatusCode() int { return e.statusCode }

// ErrorCode is what AWS calls the error.
func (e refusal) ErrorCode() string { return e.code }

// request is the call, signed.
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
