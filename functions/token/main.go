// Command token is the Lambda function of the OAuth token endpoint, the key set and the
// server metadata.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/oauth"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	signer := kms.New(c.AWS, c.SigningKeyID, c.PreviousSigningKeyID, c.KeysSwitchAt, time.Now)
	server := wired.Complete(&oauth.Server{Store: dynamo.NewAuthStore(c.Tables()), Signer: signer, Now: time.Now, BaseURL: c.BaseURL})
	return lambdahttp.NewHandler(server.Handler())
}
