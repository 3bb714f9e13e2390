// Command notify is the Lambda function of the notify queue. It posts webhooks.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/notify"
)

func main() { app.Start(notify.Handler) }
