// Command feeder is the Lambda function behind the stream of outcomes, as the tests run
// it. Where DEATHS names a file, its process is killed after the first of its calls, the
// next process after the second, and so on: the file counts the deaths.
package main

import (
	"context"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/app/stores"
	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/webhook/feed"
)

func main() {
	cfg := config.FromEnv()
	if file := os.Getenv("DEATHS"); file != "" {
		killAfterCalls(&cfg, file)
	}
	client := dynamodb.NewFromConfig(cfg)
	queues := awssqs.NewFromConfig(cfg)
	store := dynamo.New(dynamo.FromEnv(client, os.Getenv, time.Now))
	feeder := &feed.Feeder{
		Store: stores.NewFeed(store),
		Queue: &sqs.Queue{Client: queues, URL: os.Getenv("NOTIFY_QUEUE_URL")},
		Now:   time.Now,
	}
	lambda.Start(dynamo.OfStream(feeder.Handle, &sqs.Queue{Client: queues, URL: os.Getenv("UNREAD_QUEUE_URL")}))
}

// killAfterCalls ends the process after one of its calls.
func killAfterCalls(cfg *aws.Config, file string) {
	text, _ := os.ReadFile(file) //nolint:gosec // the test's own
	deaths, _ := strconv.Atoi(string(text))
	var mu sync.Mutex
	made := 0
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("kill", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			mu.Lock()
			defer mu.Unlock()
			if made++; made == deaths+1 {
				_ = os.WriteFile(file, []byte(strconv.Itoa(deaths+1)), 0o600) //nolint:gosec // the test's own
				os.Exit(1)                                                    //nolint:gocritic // that is meant
			}
			return out, metadata, err
		}), middleware.Before)
	})
}
