// Package keyvault keeps the key documents of the provider's agents in SSM
// parameters, encrypted.
package keyvault

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"campaign-dispatch/internal/campaign"
)

// Vault reads and writes the parameters of one account and region.
type Vault struct {
	Client *ssm.Client
}

// Put writes a document, replacing the one that was there.
func (v *Vault) Put(ctx context.Context, parameter string, document []byte) error {
	_, err := v.Client.PutParameter(ctx, &ssm.PutParameterInput{
		Name: &parameter, Value: aws.String(string(document)), Overwrite: aws.Bool(true),
		Type: types.ParameterTypeSecureString, Tier: types.ParameterTierIntelligentTiering,
	})
	if err != nil {
		return fmt.Errorf("put parameter %s: %w", parameter, err)
	}
	return nil
}

// Get returns a document; the error wraps campaign.ErrNotFound where there is
// none.
func (v *Vault) Get(ctx context.Context, parameter string) ([]byte, error) {
	out, err := v.Client.GetParameter(ctx, &ssm.GetParameterInput{Name: &parameter, WithDecryption: aws.Bool(true)})
	if _, missing := errors.AsType[*types.ParameterNotFound](err); missing {
		err = campaign.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("get parameter %s: %w", parameter, err)
	}
	return []byte(aws.ToString(out.Parameter.Value)), nil
}
