// Command intake is the Lambda function of the intake queue. It reads the large files of
// campaigns and dispatches their parts.
package main

import (
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/releasescheduler"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
)

const (
	seenNumbersLimit = 64 << 20 // memory in bytes for the numbers of earlier batches
	growth           = 50       // growth of the heap in per cent after which it is collected
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	debug.SetGCPercent(growth)
	rows, blobs := dynamo.New(c.Tables()), s3.New(c.AWS, c.Bucket, c.Local)
	worker := wired.Complete(&intake.Worker{
		Store: rows, Blobs: blobs, Open: blobs.OpenFile, Tasks: sqs.New(c.AWS, c.IntakeQueueURL, time.Now), Now: time.Now,
		PartLines: campaign.MaxMessages, WavesFrom: c.WavesFrom,
		Dispatch: wired.Complete(&dispatch.Service{
			Store: rows, Blobs: blobs, Releases: releasescheduler.New(c), SeenNumbers: &dispatch.SeenNumbers{Limit: seenNumbersLimit},
			Reach: reach.Lookup{
				OptOuts: &optout.Book{Store: rows, Now: time.Now},
				Lists:   &lookup.Cache{Store: rows, Blobs: blobs, Now: time.Now},
			},
			Now: time.Now, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
		}, "Tokens", "ListNames", "Limiter"),
	}, "WavesFrom")
	return lambda.NewHandler(sqs.CountingBatchHandler(worker.Handle, (*submission.Task).Received))
}
