// Package ssmwriter writes secrets to the SSM Parameter Store. It is separate from package
// ssm, because the SDK client would slow down the cold starts of functions.
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

// PutKeyDocument writes or replaces a parameter, encrypted. The error contains the parameter's name but not its value.
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
