// Package feed wires the feed function.
package feed

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/stores"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/webhook/feed"
)

// Handler returns the handler of the stream of the Outcomes table.
func Handler(c app.Config) lambda.Handler {
	rows := dynamo.New(c.Tables())
	feeder := &feed.Feeder{Store: stores.NewFeed(rows), Queue: sqs.New(c.AWS, c.NotifyQueueURL), Now: time.Now}
	return lambda.NewHandler(dynamo.OfStream(feeder.Handle, sqs.New(c.AWS, c.FeedDeadLettersURL)))
}
