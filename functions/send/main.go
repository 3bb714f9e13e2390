// Command send is the Lambda function of the send queue. It sends messages.
package main

import (
	"math/rand/v2"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/rcs"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/send"
)

// concurrency is the number of messages that are sent at once.
const concurrency = 64

func main() { app.Start(handler) }

// The function's timeout must be well over 12 seconds, which the sender reserves for messages that it has begun to
// send.
func handler(c app.Config) lambda.Handler {
	stores, keys := dynamo.New(c.Tables()), ssm.New(c.AWS, time.Now)
	blobs := s3.New(c.AWS, c.Bucket, c.Local)
	sender := wired.Complete(&send.Sender{
		Store:    stores,
		Blobs:    blobs,
		Provider: &rcs.Client{URL: c.RCSURL, Keys: keys, HTTP: rcs.NewHTTPClient(concurrency), Now: time.Now},
		Recorder: recorder.New(c, stores),
		Reach: reach.Lookup{
			OptOuts: &optout.Book{Store: stores, Now: time.Now},
			Lists:   &lookup.Cache{Store: stores, Blobs: blobs, Now: time.Now},
		},
		Queue:       sqs.New(c.AWS, c.SendQueueURL, time.Now),
		LinkURL:     c.LinkURL,
		Concurrency: concurrency, SweepAfter: c.SweepAfter, Now: time.Now, Jitter: rand.Float64,
	})
	return lambda.NewHandler(sqs.BatchHandler(sender.Handle))
}
