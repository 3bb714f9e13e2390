// Package paramstore reads secrets from the SSM Parameter Store. It makes the one
// call that a function needs by itself: the SDK's package of SSM prepares all of
// its operations when a process starts, which costs a cold start more than the
// rest of the function.
package paramstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Reader reads parameters with the region, credentials, endpoint and HTTP client
// of an AWS configuration.
type Reader struct {
	Config aws.Config
	Now    func() time.Time
}

var errRefused = errors.New("the parameter store refused")

// KeyDocument returns the decrypted value of a parameter (GetParameter of the SSM
// API). The error names the parameter, and holds nothing of its value.
func (r Reader) KeyDocument(ctx context.Context, parameter string) ([]byte, error) {
	value, err := r.get(ctx, parameter)
	if err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", parameter, err)
	}
	return value, nil
}

func (r Reader) get(ctx context.Context, parameter string) (value []byte, err error) {
	request, err := r.request(ctx, parameter)
	if err != nil {
		return nil, err
	}
	response, err := r.Config.HTTPClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response)
	}
	var answer struct{ Parameter struct{ Value string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return []byte(answer.Parameter.Value), nil
}

// refusal names the error that AWS answered with, such as AccessDeniedException.
func refusal(response *http.Response) error {
	var said struct {
		Type string `json:"__type"`
	}
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		said.Type = "" // it is not AWS that answered
	}
	return fmt.Errorf("%w: %s %s", errRefused, response.Status, said.Type)
}

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
