package prove

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"campaign-dispatch/localstack/stackenv"
)

// reconfigure publishes a version of a function with another timeout or environment, until the
// test ends.
func reconfigure(ctx context.Context, t *testing.T, env stackenv.Env, function string, change func(to *lambda.UpdateFunctionConfigurationInput)) {
	t.Helper()
	client := lambda.NewFromConfig(env.AWS())
	is, err := client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	check(t, err)
	before, err := client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &function, Name: aws.String(alias)})
	check(t, err)
	point := func(ctx context.Context, version *string) error {
		_, err := client.UpdateAlias(ctx, &lambda.UpdateAliasInput{FunctionName: &function, Name: aws.String(alias), FunctionVersion: version})
		return err
	}
	was, to := configurationOf(is), configurationOf(is)
	t.Cleanup(func() {
		undoing := context.WithoutCancel(ctx)
		_, err := client.UpdateFunctionConfiguration(undoing, was)
		if err := errors.Join(err, point(undoing, before.FunctionVersion)); err != nil {
			t.Error(err)
		}
	})
	change(to)
	_, err = client.UpdateFunctionConfiguration(ctx, to)
	check(t, err)
	published, err := client.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: &function})
	check(t, err)
	check(t, point(ctx, published.Version))
}

// configurationOf returns the update that sets the timeout and the environment that a function has.
func configurationOf(of *lambda.GetFunctionConfigurationOutput) *lambda.UpdateFunctionConfigurationInput {
	return &lambda.UpdateFunctionConfigurationInput{
		FunctionName: of.FunctionName, Timeout: of.Timeout, Environment: &types.Environment{Variables: maps.Clone(of.Environment.Variables)},
	}
}
