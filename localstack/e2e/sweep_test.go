package e2e_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// The rule calls the alias, so the alias must have the setting.
func TestSweep_NoRetries(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	got, err := lambda.NewFromConfig(c.env.AWS()).GetFunctionEventInvokeConfig(t.Context(), &lambda.GetFunctionEventInvokeConfigInput{
		FunctionName: aws.String(c.env["SWEEP_FUNCTION"]), Qualifier: aws.String("live"),
	})
	must(t, err)
	if retries, age := aws.ToInt32(got.MaximumRetryAttempts), aws.ToInt32(got.MaximumEventAgeInSeconds); retries != 0 || age != 60 {
		t.Errorf("%d retries within %d seconds, want none and 60", retries, age)
	}
}
