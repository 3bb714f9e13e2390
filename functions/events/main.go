// Command events is the Lambda function of the URL to which the RCS provider posts events.
package main

import (
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/rcs/events"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	hook := wired.Complete(&events.Hook{
		Agents: dynamo.New(c.Tables()).TenantStore, Blobs: s3.New(c.AWS, c.Bucket, c.Local), Events: sqs.New(c.AWS, c.EventsQueueURL, time.Now), Now: time.Now,
	})
	mux := http.NewServeMux()
	mux.Handle("POST /{agentId}", httpapi.HandlerFunc(hook.ServeEvent))
	return lambdahttp.NewHandler(mux)
}
