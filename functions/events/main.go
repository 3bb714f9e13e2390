// Command events is the Lambda function behind the function URL to which the RCS
// provider sends its events.
package main

import (
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/rbmhook"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	hook := &rbmhook.Hook{
		Agents: dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now),
		Blobs: &blob.Store{
			Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
			Bucket: os.Getenv("BUCKET"),
		},
		Queue: &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("EVENTS_QUEUE_URL")},
		Now:   time.Now,
	}
	mux := http.NewServeMux()
	mux.Handle("POST /{agentId}", gateway.HandlerFunc(hook.ServeEvent))
	lambda.Start(metrics.Of(gateway.Lambda(mux), os.Stdout, time.Now))
}
