// Command feed is the Lambda function of the Outcomes table's stream. It queues webhooks
// for new log entries.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/webhook/feed"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	feeder := wired.Complete(&feed.Feeder{Store: dynamo.New(c.Tables()), Queue: sqs.New(c.AWS, c.NotifyQueueURL, time.Now), Now: time.Now})
	return lambda.NewHandler(dynamo.OfStream(feeder.Handle, sqs.New(c.AWS, c.FeedDeadLettersURL, time.Now)))
}
