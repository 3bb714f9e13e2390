// Command dispatch is the Lambda function behind the dispatch endpoint.
package main

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/accesstoken"
	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/handoff"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/schedule"
	"campaign-dispatch/internal/signer"
)

// earlierNumbers is the memory in bytes for the numbers of earlier batches: some
// 16 million of them.
const earlierNumbers = 128 << 20

// limiterTimeout leaves most of the call's 29 seconds to the rest of it.
const limiterTimeout = 5 * time.Second

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg := awsconf.FromEnv()
	releases := handoff.Releaser{
		Queue: &queue.Queue{Client: sqs.NewFromConfig(cfg), URL: os.Getenv("RELEASE_QUEUE_URL")},
		Schedules: &schedule.Scheduler{
			Client: scheduler.NewFromConfig(cfg), Group: os.Getenv("SCHEDULE_GROUP"),
			QueueARN: os.Getenv("RELEASE_QUEUE_ARN"), RoleARN: os.Getenv("SCHEDULE_ROLE_ARN"),
		},
	}
	service := &dispatch.Service{
		Tokens: &accesstoken.Verifier{Keys: &signer.Signer{
			Client: kms.NewFromConfig(cfg), KeyID: os.Getenv("SIGNING_KEY_ID"), PreviousID: os.Getenv("PREVIOUS_SIGNING_KEY_ID"),
			SwitchAt: awsconf.Instant("SIGNING_KEYS_SWITCH_AT"), Now: time.Now,
		}, Now: time.Now},
		Store: dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now),
		Blobs: &blob.Store{
			Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
			Bucket: os.Getenv("BUCKET"),
		},
		Handoff: releases,
		Earlier: &dispatch.Earlier{Limit: earlierNumbers},
		Now:     time.Now,
		Random:  rand.Reader,
		BaseURL: os.Getenv("BASE_URL"),
		Lead:    awsconf.Seconds("MIN_LEAD_SECONDS", 300),
		Grace:   min(awsconf.Seconds("SWEEP_AFTER_SECONDS", 120), 2*time.Minute),
		Limiter: &dispatch.Limiter{
			Limit: campaign.CallLimit{
				Rate: awsconf.Number("TENANT_DISPATCH_RATE", 25), Burst: awsconf.Number("TENANT_DISPATCH_BURST", 50),
			},
			Timeout: limiterTimeout,
		},
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/external/campaigns/dispatch", gateway.HandlerFunc(service.ServeDispatch))
	lambda.Start(metrics.Of(gateway.Lambda(mux), os.Stdout, time.Now))
}
