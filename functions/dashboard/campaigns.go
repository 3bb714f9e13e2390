package main

import (
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/handoff"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/readback"
	"campaign-dispatch/internal/schedule"
)

// campaignPages wires the pages of campaigns with what the API's own answers rest
// on.
func campaignPages(cfg aws.Config, store *dynamo.Store) *campaigns.Pages {
	return &campaigns.Pages{
		Store:    store,
		Messages: &readback.Service{Store: store, Blobs: blobs(cfg)},
		Controls: &control.Service{
			Store: store, Queue: &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("REVOKE_QUEUE_URL")},
			Handoff: releaser(cfg), Now: time.Now,
			Lead:  awsconf.Seconds("MIN_LEAD_SECONDS", 300),
			Grace: min(awsconf.Seconds("SWEEP_AFTER_SECONDS", 120), 2*time.Minute),
		},
		Now: time.Now,
	}
}

func blobs(cfg aws.Config) *blob.Store {
	return &blob.Store{
		Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
		Bucket: os.Getenv("BUCKET"),
	}
}

// releaser hands batches off to be released when they are due.
func releaser(cfg aws.Config) handoff.Releaser {
	return handoff.Releaser{
		Queue: &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("RELEASE_QUEUE_URL")},
		Schedules: &schedule.Scheduler{
			Client: scheduler.NewFromConfig(cfg), Group: os.Getenv("SCHEDULE_GROUP"),
			QueueARN: os.Getenv("RELEASE_QUEUE_ARN"), RoleARN: os.Getenv("SCHEDULE_ROLE_ARN"),
		},
	}
}
