// Command feed is the Lambda function of the Outcomes table's stream. It queues webhooks
// for new log entries.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/feed"
)

func main() { app.Start(feed.Handler) }
