// Package revoke wires the revoke function.
package revoke

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/provider"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/control"
)

// concurrency is the number of messages that are revoked at once.
const concurrency = 32

// Handler returns the handler of the revoke queue.
func Handler(c app.Config) lambda.Handler {
	store := dynamo.NewCampaignStore(c.Tables())
	canceller := &control.Canceller{
		Ledger: store, Blobs: s3.New(c.AWS, c.Bucket, c.Local),
		Tasks:       sqs.New(c.AWS, c.RevokeQueueURL),
		Recorder:    recorder.New(c, store),
		Provider:    provider.New(c, concurrency),
		Concurrency: concurrency, SweepAfter: c.SweepAfter, Now: time.Now,
	}
	return lambda.NewHandler(sqs.BatchHandler(canceller.Handle))
}
