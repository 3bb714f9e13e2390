// Command sweep is the Lambda function that runs every minute and repeats lost steps. Once a day it deletes
// the unused segments of lists.
package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/insight/recount"
	"campaign-dispatch/internal/privacy/expiry"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/sweep"
)

// event is an event of a schedule.
type event struct {
	sweep.Section

	UnusedSegments bool `json:"unusedSegments"` // delete unused segments of lists, and nothing else
}

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	stores := dynamo.New(c.Tables())
	cleaner := &book.Cleaner{Rows: stores, Objects: s3.New(c.AWS, c.Bucket, c.Local), Now: time.Now}
	frames := sqs.New(c.AWS, c.SendQueueURL, time.Now)
	sweeper := wired.Complete(&sweep.Sweeper{
		Store:    stores,
		Recorder: recorder.New(c, stores),
		Expire:   (&expiry.Expirer{Store: stores, Now: time.Now}).ExpireIfDue,
		Recount:  (&recount.Recounter{Store: stores, Now: time.Now, Random: rand.IntN}).Recount,
		Clean:    cleaner.Clean,
		Releases: sqs.New(c.AWS, c.ReleaseQueueURL, time.Now),
		Frames:   frames, Queued: frames.Queued,
		Notify:  sqs.New(c.AWS, c.NotifyQueueURL, time.Now),
		Revokes: sqs.New(c.AWS, c.RevokeQueueURL, time.Now),
		Intake:  sqs.New(c.AWS, c.IntakeQueueURL, time.Now),
		Shards:  dynamo.DueShards, DeliveryShards: dynamo.DeliveryShards,
		SweepAfter: c.SweepAfter, SweepDelay: c.SweepDelay(), Now: time.Now,
	})
	return lambda.NewHandler(func(ctx context.Context, e event) error {
		if e.UnusedSegments {
			return sweeper.CleanSegments(ctx)
		}
		return sweeper.Sweep(ctx, e.Section)
	})
}
