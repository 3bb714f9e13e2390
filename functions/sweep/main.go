// Command sweep is the Lambda function that runs every minute and repeats lost steps.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/recorder"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/outcome/recount"
	"campaign-dispatch/internal/privacy/expiry"
	"campaign-dispatch/internal/sweep"
)

type due struct {
	*dynamo.BatchStore
	*dynamo.DeliveryStore
	*dynamo.LaneStore
	*dynamo.LedgerStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
}

type history struct {
	*dynamo.CampaignStore
	*dynamo.DayStore
	*dynamo.TenantStore
}

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	stores := dynamo.New(c.Tables())
	frames := sqs.New(c.AWS, c.SendQueueURL)
	sweeper := &sweep.Sweeper{
		Store:    due{stores.Batches, stores.Deliveries, stores.Lanes, stores.Ledgers, stores.Submissions, stores.Templates},
		Recorder: recorder.New(c, stores),
		Expire:   (&expiry.Expirer{Store: stores.Erasure, Now: time.Now}).ExpireIfDue,
		Recount:  (&recount.Recounter{Store: history{stores.Campaigns, stores.Days, stores.Tenants}, Now: time.Now}).Recount,
		Releases: sqs.New(c.AWS, c.ReleaseQueueURL),
		Frames:   frames, Waiting: frames.Waiting,
		Notify:  sqs.New(c.AWS, c.NotifyQueueURL),
		Revokes: sqs.New(c.AWS, c.RevokeQueueURL),
		Intake:  sqs.New(c.AWS, c.IntakeQueueURL),
		Shards:  dynamo.DueShards, DeliveryShards: dynamo.DeliveryShards,
		SweepAfter: c.SweepAfter, Now: time.Now,
	}
	return lambda.NewHandler(sweeper.Sweep)
}
