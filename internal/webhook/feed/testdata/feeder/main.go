// Command feeder is the Lambda function behind the stream of outcomes, as the tests run
// it. Where DEATHS names a file, its process is killed after the first of its calls, the
// next process after the second, and so on: the file counts the deaths.
package main

import (
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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
	store := dynamo.New(dynamo.FromEnv(client, os.Getenv, time.Now))
	feeder := &feed.Feeder{
		Store: store,
		Queue: sqs.New(cfg, os.Getenv("NOTIFY_QUEUE_URL"), time.Now),
		Now:   time.Now,
	}
	lambda.Start(dynamo.OfStream(feeder.Handle, sqs.New(cfg, os.Getenv("UNREAD_QUEUE_URL"), time.Now)))
}

// killAfterCalls ends the process after one of its calls.
func killAfterCalls(cfg *aws.Config, file string) {
	text, _ := os.ReadFile(file) //nolint:gosec // the test's own
	deaths, _ := strconv.Atoi(string(text))
	cfg.HTTPClient = &killer{HTTPClient: cfg.HTTPClient, file: file, deaths: deaths}
}

// killer ends the process after the answer to one of its calls.
type killer struct {
	aws.HTTPClient
	file   string
	deaths int

	mu   sync.Mutex
	made int
}

func (k *killer) Do(r *http.Request) (*http.Response, error) {
	answer, err := k.HTTPClient.Do(r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made++; k.made == k.deaths+1 {
		_ = os.WriteFile(k.file, []byte(strconv.Itoa(k.made)), 0o600) //nolint:gosec // the test's own
		os.Exit(1)                                                    //nolint:gocritic // that is meant
	}
	return answer, err
}
