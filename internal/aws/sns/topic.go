// Package sns publishes notices to an SNS topic. Functions publish few, and the SDK's package initializes all operations of
// the service, which slows down cold starts.
package sns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/aws/awsjson"
)

// Topic is a topic of the operators.
type Topic struct {
	cfg aws.Config
	arn string
	now func() time.Time
}

// New returns a topic. Without an ARN, nothing is published.
func New(cfg aws.Config, arn string, now func() time.Time) *Topic { return &Topic{cfg, arn, now} }

// Announce publishes a notice. The subject is ASCII text of at most 100 characters.
// See https://docs.aws.amazon.com/sns/latest/api/API_Publish.html.
func (t *Topic) Announce(ctx context.Context, subject, text string) error {
	if t.arn == "" {
		return nil
	}
	form := url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "TopicArn": {t.arn}, "Subject": {subject}, "Message": {text}}
	if err := t.post(ctx, form.Encode()); err != nil {
		return fmt.Errorf("publish to %s: %w", t.arn, err)
	}
	return nil
}

func (t *Topic) post(ctx context.Context, body string) (err error) {
	request, err := t.request(ctx, body)
	if err != nil {
		return err
	}
	response, err := t.cfg.HTTPClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("SNS answered %s", response.Status)
	}
	return nil
}

func (t *Topic) request(ctx context.Context, body string) (*http.Request, error) {
	address := aws.ToString(t.cfg.BaseEndpoint)
	if address == "" {
		address = "https://sns." + t.cfg.Region + ".amazonaws.com"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(address, "/")+"/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return request, awsjson.Sign(request, []byte(body), t.cfg, "sns", t.now())
}
