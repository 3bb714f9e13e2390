// Package recorder wires the recorder of outcomes for the functions that record them.
package recorder

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/outcome"
)

// New returns the recorder of a function with that store.
func New(c app.Config, stores *dynamo.Stores) *outcome.Recorder {
	return wired.Complete(&outcome.Recorder{
		Store: stores, Days: stores,
		Blobs:      s3.New(c.AWS, c.Bucket, c.Local),
		Notify:     sqs.New(c.AWS, c.NotifyQueueURL, time.Now),
		SweepAfter: c.SweepAfter, Now: time.Now,
	})
}
