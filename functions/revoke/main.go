// Command revoke is the Lambda function behind the revoke queue: it does what the
// cancelling of a campaign leaves to do.
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
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/inbox"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/paramstore"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/rcs"
)

// concurrency is the number of messages that are revoked at once.
const concurrency = 32

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	queues := sqs.NewFromConfig(cfg)
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	blobs := &blob.Store{
		Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
		Bucket: os.Getenv("BUCKET"),
	}
	sweepAfter := awsconf.Seconds("SWEEP_AFTER_SECONDS", 600)
	canceller := &control.Canceller{
		Books: store, Blobs: blobs, SweepAfter: sweepAfter,
		Tasks: &queue.Queue{Client: queues, URL: os.Getenv("REVOKE_QUEUE_URL")},
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, Blobs: blobs, MaxNews: dynamo.MaxNews, Split: store.Split,
			Notify:     &queue.Queue{Client: queues, URL: os.Getenv("NOTIFY_QUEUE_URL")},
			SweepAfter: sweepAfter,
			Now:        time.Now,
		},
		Provider: &rcs.Client{
			URL: os.Getenv("RCS_URL"), Keys: paramstore.Reader{Config: cfg, Now: time.Now},
			HTTP: rcs.NewHTTPClient(concurrency), Now: time.Now,
		},
		Concurrency: concurrency,
		Now:         time.Now,
	}
	lambda.Start(metrics.Of(lambda.NewHandler(inbox.Of(canceller.Handle)), os.Stdout, time.Now))
}
