// Command campaigns is the Lambda function that reads campaigns back and controls
// them. It is behind error files, the OpenAPI document and whatever path the API
// does not have, too.
package main

import (
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
	"campaign-dispatch/internal/apidoc"
	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/errorfile"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/handoff"
	"campaign-dispatch/internal/livetoken"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/queue"
	"campaign-dispatch/internal/readback"
	"campaign-dispatch/internal/schedule"
	"campaign-dispatch/internal/signer"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg, base := awsconf.FromEnv(), os.Getenv("BASE_URL")
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	blobs := &blob.Store{
		Client: s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = awsconf.Local() }),
		Bucket: os.Getenv("BUCKET"),
	}
	tokens := &livetoken.Verifier{
		Tokens: &accesstoken.Verifier{Keys: &signer.Signer{
			Client: kms.NewFromConfig(cfg), KeyID: os.Getenv("SIGNING_KEY_ID"), PreviousID: os.Getenv("PREVIOUS_SIGNING_KEY_ID"),
			SwitchAt: awsconf.Instant("SIGNING_KEYS_SWITCH_AT"), Now: time.Now,
		}, Now: time.Now},
		Credentials: store,
	}
	queues := sqs.NewFromConfig(cfg)
	controls := &control.Service{
		Tokens: tokens, Store: store, Queue: &queue.Queue{Client: queues, URL: os.Getenv("REVOKE_QUEUE_URL")},
		Handoff: handoff.Releaser{
			Queue: &queue.Queue{Client: queues, URL: os.Getenv("RELEASE_QUEUE_URL")},
			Schedules: &schedule.Scheduler{
				Client: scheduler.NewFromConfig(cfg), Group: os.Getenv("SCHEDULE_GROUP"),
				QueueARN: os.Getenv("RELEASE_QUEUE_ARN"), RoleARN: os.Getenv("SCHEDULE_ROLE_ARN"),
			},
		},
		Now: time.Now, BaseURL: base,
		Lead:  awsconf.Seconds("MIN_LEAD_SECONDS", 300),
		Grace: min(awsconf.Seconds("SWEEP_AFTER_SECONDS", 120), 2*time.Minute),
	}
	reads := &readback.Service{Tokens: tokens, Store: store, Blobs: blobs, BaseURL: base}
	lambda.Start(metrics.Of(gateway.Lambda(routes(reads, controls, &errorfile.Files{Blobs: blobs, Now: time.Now}, &apidoc.Service{BaseURL: base})), os.Stdout, time.Now))
}

func routes(reads *readback.Service, controls *control.Service, files *errorfile.Files, api *apidoc.Service) http.Handler {
	unknown := gateway.HandlerFunc(api.ServeUnknown)
	mux := http.NewServeMux()
	reads.Register(mux)
	controls.Register(mux)
	mux.Handle("GET /api/v1/external/campaigns/dispatch", unknown) // no campaign of that name
	mux.Handle("GET /api/v1/error-files/{name}", gateway.HandlerFunc(files.ServeFile))
	mux.Handle("GET /api/v1/openapi.json", gateway.HandlerFunc(api.ServeDocument))
	mux.Handle("/", unknown)
	return gateway.Exact(mux, unknown)
}
