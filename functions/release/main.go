// Command release is the Lambda function behind the release queue.
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
	"campaign-dispatch/internal/inbox"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/release"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	client := sqs.NewFromConfig(cfg)
	releaser := release.Releaser{
		Store:      dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now),
		Frames:     &queue.Queue{Client: client, URL: os.Getenv("SEND_QUEUE_URL")},
		Releases:   &queue.Queue{Client: client, URL: os.Getenv("RELEASE_QUEUE_URL")},
		SweepAfter: awsconf.Seconds("SWEEP_AFTER_SECONDS", 600),
		Now:        time.Now,
	}
	lambda.Start(metrics.Of(lambda.NewHandler(inbox.Of(releaser.Handle)), os.Stdout, time.Now))
}
