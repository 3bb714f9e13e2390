// Command revoke is the Lambda function of the revoke queue. It finishes cancellations.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/rcs"
)

// concurrency is the number of messages that are revoked at once.
const concurrency = 32

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	stores, keys := dynamo.New(c.Tables()), ssm.New(c.AWS, time.Now)
	revokes := sqs.New(c.AWS, c.RevokeQueueURL, time.Now)
	canceller := wired.Complete(&control.Canceller{
		Store: stores, Blobs: s3.New(c.AWS, c.Bucket, c.Local),
		Tasks:       revokes,
		Retries:     revokes,
		Recorder:    recorder.New(c, stores),
		Provider:    &rcs.Client{URL: c.RCSURL, Keys: keys, HTTP: rcs.NewHTTPClient(concurrency), Now: time.Now},
		Concurrency: concurrency, SweepAfter: c.SweepAfter, Now: time.Now,
	})
	return lambda.NewHandler(sqs.BatchHandler(canceller.Handle))
}
