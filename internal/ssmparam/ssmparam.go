// Package ssmparam reads secrets from the SSM Parameter Store.
package ssmparam

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Reader reads parameters.
type Reader struct {
	Client *ssm.Client
}

// KeyDocument returns the decrypted value of a parameter. The error names the
// parameter, and holds nothing of its value.
func (r Reader) KeyDocument(ctx context.Context, parameter string) ([]byte, error) {
	out, err := r.Client.GetParameter(ctx, &ssm.GetParameterInput{
		Name:           aws.String(parameter),
		WithDecryption: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", parameter, err)
	}
	return []byte(aws.ToString(out.Parameter.Value)), nil
}
