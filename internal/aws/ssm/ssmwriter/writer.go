// Package ssmwriter writes secrets to the SSM Parameter Store. It is apart from package
// ssm, which functions import: the SDK's client that it needs would slow their cold starts.
package ssmwriter

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// Writer writes parameters.
type Writer struct {
	Client *ssm.Client
}

// PutKeyDocument writes a parameter, encrypted, and replaces the value it had.
// The error names the parameter, and holds nothing of its value.
func (w Writer) PutKeyDocument(ctx context.Context, parameter string, document []byte) error {
	_, err := w.Client.PutParameter(ctx, &ssm.PutParameterInput{
		Name: aws.String(parameter), Value: aws.String(string(document)), Overwrite: aws.Bool(true),
		Type: types.ParameterTypeSecureString, Tier: types.ParameterTierIntelligentTiering,
	})
	if err != nil {
		return fmt.Errorf("put parameter %s: %w", parameter, err)
	}
	return nil
}
