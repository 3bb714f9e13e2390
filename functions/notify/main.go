// Command notify is the Lambda function of the notify queue. It posts webhooks.
package main

import (
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sns"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// connections is the number of idle connections that are kept to one endpoint.
const connections = 32

// endpoints also counts the posts to each endpoint.
type endpoints struct {
	*dynamo.Stores
	*webhook.PostSums
}

func main() { app.Start(handler) }

// The function's timeout must be well over 20 seconds, which the notifier reserves for posts that it has begun, and at
// most a minute: its claim of a delivery ends soon after.
func handler(c app.Config) lambda.Handler {
	stores := dynamo.New(c.Tables())
	notifier := wired.Complete(&webhook.Notifier{
		Store:     stores,
		Endpoints: endpoints{stores, &webhook.PostSums{Store: stores}},
		Blobs:     s3.New(c.AWS, c.Bucket, c.Local),
		Notify:    sqs.New(c.AWS, c.NotifyQueueURL, time.Now),
		Tickets:   sns.New(c.AWS, c.TicketTopicARN, time.Now),
		HTTP:      netguard.Guard{Local: c.LocalWebhooks}.Client(connections, webhook.Timeout),
		Now:       time.Now, Jitter: rand.Float64,
	})
	return lambda.NewHandler(sqs.CountingBatchHandler(notifier.HandleMessages, (*delivery.NotifyMessage).Received))
}
