package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// alias is what calls the functions go through.
const alias = "live"

// shift publishes a function as it is now and lets its alias point to that version.
// Back lets it point to the version before.
func shift(ctx context.Context, client *lambda.Client, function string) (back func(context.Context) error, err error) {
	point := func(ctx context.Context, version *string) error {
		_, err := client.UpdateAlias(ctx, &lambda.UpdateAliasInput{FunctionName: &function, Name: aws.String(alias), FunctionVersion: version})
		return err
	}
	before, err := client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &function, Name: aws.String(alias)})
	if err != nil {
		return nothing, fmt.Errorf("read the alias: %w", err)
	}
	published, err := client.PublishVersion(ctx, &lambda.PublishVersionInput{FunctionName: &function})
	if err != nil {
		return nothing, fmt.Errorf("publish a version: %w", err)
	}
	return func(ctx context.Context) error { return point(ctx, before.FunctionVersion) }, point(ctx, published.Version)
}
