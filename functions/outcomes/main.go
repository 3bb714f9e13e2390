// Command outcomes is the Lambda function behind the events queue: it applies
// what the provider tells to the books of batches.
package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/inbox"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/optout"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/queue"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	blobs := &blob.Store{
		Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
		Bucket: os.Getenv("BUCKET"),
	}
	applier := &outcome.Applier{
		Batches: store, Tenants: store, Contents: blobs,
		OptOuts: &optout.Book{Store: store, Now: time.Now},
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, Blobs: blobs, MaxNews: dynamo.MaxNews, Split: store.Split,
			Notify:     &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("NOTIFY_QUEUE_URL")},
			SweepAfter: awsconf.Seconds("SWEEP_AFTER_SECONDS", 600),
			Now:        time.Now,
		},
	}
	lambda.Start(metrics.Of(lambda.NewHandler(inbox.Of(applier.Handle)), os.Stdout, time.Now))
}
