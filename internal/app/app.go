// Package app configures and starts the Lambda functions. Each function is wired in a
// package of its own below this one, so that a binary holds only what it uses.
package app

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign/content"
)

// Start runs the handler that wire returns, and does not return. Logs go to standard
// error, and the metrics of each call to standard output.
func Start(wire func(c Config) lambda.Handler) {
	c := FromEnv()
	if c.Local {
		content.AllowLoopback()
	}
	slog.SetDefault(config.Logger(os.Stderr, c.LogLevel))
	lambda.Start(metrics.Of(wire(c), os.Stdout, time.Now))
}

// Tables returns the tables that the environment names.
func (c Config) Tables() dynamo.Tables {
	return dynamo.FromEnv(dynamodb.NewFromConfig(c.AWS), os.Getenv, time.Now)
}
