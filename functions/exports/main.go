// Command exports is the Lambda function of the exports queue. It writes the files of
// exports.
package main

import (
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/exports/export"
)

// growth is the growth of the heap in per cent after which it is collected. With a part of
// 5 MB and the lines of a batch in memory, the template's setting would take over 128 MB.
const growth = 50

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	debug.SetGCPercent(growth)
	maker := wired.Complete(&exports.Maker{
		Store: dynamo.New(c.Tables()),
		Blobs: s3.New(c.AWS, c.Bucket, c.Local),
		Tasks: sqs.New(c.AWS, c.ExportsQueueURL, time.Now), Now: time.Now, PartSize: exports.PartSize,
	})
	return lambda.NewHandler(sqs.CountingBatchHandler(maker.Handle, (*export.Task).Received))
}
