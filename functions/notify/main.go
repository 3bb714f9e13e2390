// Command notify is the Lambda function behind the notify queue. Its timeout must
// be well over 20 seconds, which it keeps for the posts that it began.
package main

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/hookpost"
	"campaign-dispatch/internal/inbox"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/netguard"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/webhook"
)

// connections is the number of idle connections that are kept to one endpoint.
const connections = 32

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	// LOCAL_WEBHOOKS is set by the local stack alone, whose sink is on this machine.
	guard := netguard.Guard{Local: awsconf.LocalSwitch("LOCAL_WEBHOOKS")}
	var posts webhook.Posts = store
	if store.Split {
		posts = &webhook.PostSums{Store: store}
	}
	notifier := &webhook.Notifier{
		Store: store, Endpoints: store, Posts: posts,
		Blobs: &blob.Store{
			Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
			Bucket: os.Getenv("BUCKET"),
		},
		Queue:  &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("NOTIFY_QUEUE_URL")},
		HTTP:   guard.Client(connections, hookpost.Timeout),
		Now:    time.Now,
		Jitter: rand.Float64,
	}
	lambda.Start(metrics.Of(lambda.NewHandler(inbox.Of(notifier.HandleMessages)), os.Stdout, time.Now))
}
