// Command outcomes is the Lambda function of the events queue. It records the provider's
// events.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/reach/optout"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	stores := dynamo.New(c.Tables())
	applier := wired.Complete(&outcome.Applier{
		Store: stores, Contents: s3.New(c.AWS, c.Bucket, c.Local),
		OptOuts:  &optout.Book{Store: stores, Now: time.Now},
		Recorder: recorder.New(c, stores),
	})
	return lambda.NewHandler(sqs.CountingBatchHandler(applier.Handle, (*reaction.EventTask).Received))
}
