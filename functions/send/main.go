// Command send is the Lambda function behind the send queue. Its timeout must be
// well over 12 seconds, which it keeps for what it began.
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
	"campaign-dispatch/internal/paramstore"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/rcs"
	"campaign-dispatch/internal/send"
)

// concurrency is the number of messages that are sent at once.
const concurrency = 64

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	blobs := &blob.Store{
		Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
		Bucket: os.Getenv("BUCKET"),
	}
	queues := sqs.NewFromConfig(cfg)
	sweepAfter := awsconf.Seconds("SWEEP_AFTER_SECONDS", 600)
	sender := &send.Sender{
		Batches: store, Directory: store, Paces: store, Blobs: blobs,
		Provider: &rcs.Client{
			URL: os.Getenv("RCS_URL"), Keys: paramstore.Reader{Config: cfg, Now: time.Now},
			HTTP: rcs.NewHTTPClient(concurrency), Now: time.Now,
		},
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, Blobs: blobs, MaxNews: dynamo.MaxNews, Split: store.Split,
			Notify:     &queue.Queue{Client: queues, URL: os.Getenv("NOTIFY_QUEUE_URL")},
			SweepAfter: sweepAfter, Now: time.Now,
		},
		OptOuts:     &optout.Book{Store: store, Now: time.Now},
		Queue:       &queue.Queue{Client: queues, URL: os.Getenv("SEND_QUEUE_URL")},
		Concurrency: concurrency,
		SweepAfter:  sweepAfter,
		Now:         time.Now,
	}
	lambda.Start(metrics.Of(lambda.NewHandler(inbox.Of(sender.Handle)), os.Stdout, time.Now))
}
