// Command sweep is the Lambda function that runs every minute, once for each part of
// what is due, and brings back what was left behind.
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
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/retention"
	"campaign-dispatch/internal/sweep"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	client := sqs.NewFromConfig(cfg)
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	notify := &queue.Queue{Client: client, URL: os.Getenv("NOTIFY_QUEUE_URL")}
	sweepAfter := awsconf.Seconds("SWEEP_AFTER_SECONDS", 600)
	sweeper := &sweep.Sweeper{
		Store: store,
		Moves: store,
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, MaxNews: dynamo.MaxNews, Split: store.Split, Notify: notify, SweepAfter: sweepAfter, Now: time.Now,
			Blobs: &blob.Store{
				Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
				Bucket: os.Getenv("BUCKET"),
			},
		},
		Keeper:   &retention.Keeper{Store: store, Now: time.Now},
		Releases: &queue.Queue{Client: client, URL: os.Getenv("RELEASE_QUEUE_URL")},
		Frames:   &queue.Queue{Client: client, URL: os.Getenv("SEND_QUEUE_URL")},
		Notify:   notify,
		Revokes:  &queue.Queue{Client: client, URL: os.Getenv("REVOKE_QUEUE_URL")},
		Shards:   dynamo.AllDueShards, NoticeShards: dynamo.NoticeShards,
		After: sweepAfter,
		Now:   time.Now,
	}
	lambda.Start(metrics.Of(lambda.NewHandler(sweeper.SweepPart), os.Stdout, time.Now))
}
