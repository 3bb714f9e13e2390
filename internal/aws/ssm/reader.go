// Package ssm reads secrets from the SSM Parameter Store.
package ssm

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/aws/awsjson"
)

// Reader reads parameters. Its calls share a quota of retries.
type Reader struct{ client *awsjson.Client }

// New returns a reader with an AWS configuration.
func New(cfg aws.Config, now func() time.Time) *Reader {
	return &Reader{awsjson.New(cfg, awsjson.Service{Name: "ssm", Target: "AmazonSSM", Version: "1.1"}, now)}
}

// KeyDocument returns the decrypted value of a parameter (GetParameter). The error contains
// the parameter's name but not its value.
func (r *Reader) KeyDocument(ctx context.Context, parameter string) ([]byte, error) {
	var answer struct{ Parameter struct{ Value string } }
	asked := map[string]any{"Name": parameter, "WithDecryption": true}
	if err := r.client.Call(ctx, "GetParameter", asked, &answer); err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", parameter, err)
	}
	return []byte(answer.Parameter.Value), nil
}
