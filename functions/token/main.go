// Command token is the Lambda function behind the OAuth token endpoint, the key
// set and the server metadata.
package main

import (
	"crypto/rand"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/signer"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	server := &oauth.Server{
		Store: dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now),
		Signer: &signer.Signer{
			Client: kms.NewFromConfig(cfg), KeyID: os.Getenv("SIGNING_KEY_ID"), PreviousID: os.Getenv("PREVIOUS_SIGNING_KEY_ID"),
			SwitchAt: awsconf.Instant("SIGNING_KEYS_SWITCH_AT"), Now: time.Now,
		},
		Now:     time.Now,
		Random:  rand.Reader,
		BaseURL: os.Getenv("BASE_URL"),
	}
	lambda.Start(metrics.Of(gateway.Lambda(server.Handler()), os.Stdout, time.Now))
}
