// Command feed is the Lambda function behind the stream of the Outcomes table. It
// queues the webhooks of what is new in it.
package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/feed"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/queue"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	client := sqs.NewFromConfig(cfg)
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	feeder := &feed.Feeder{
		Batches: store, Endpoints: store,
		Queue: &queue.Queue{Client: client, URL: os.Getenv("NOTIFY_QUEUE_URL")},
		Now:   time.Now,
	}
	unread := &queue.Queue{Client: client, URL: os.Getenv("FEED_DEAD_LETTERS_URL")}
	lambda.Start(metrics.Of(lambda.NewHandler(dynamo.OfStream(feeder.Handle, unread)), os.Stdout, time.Now))
}
