// Command release is the Lambda function of the release queue. It queues the frames of
// batches that are due.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/send/release"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	stores := dynamo.New(c.Tables())
	releaser := wired.Complete(&release.Releaser{
		Store:      stores,
		Frames:     sqs.New(c.AWS, c.SendQueueURL, time.Now),
		Releases:   sqs.New(c.AWS, c.ReleaseQueueURL, time.Now),
		SweepAfter: c.SweepAfter, Now: time.Now,
	})
	return lambda.NewHandler(sqs.BatchHandler(releaser.Handle))
}
