// Package token wires the token function.
package token

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/tokenkeys"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/oauth"
)

// Handler returns the handler of the OAuth token endpoint, the key set and the server
// metadata.
func Handler(c app.Config) lambda.Handler {
	server := &oauth.Server{Store: dynamo.NewAuthStore(c.Tables()), Signer: tokenkeys.Signer(c), Now: time.Now, BaseURL: c.BaseURL}
	return lambdahttp.NewHandler(server.Handler())
}
