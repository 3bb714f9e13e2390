// Command events is the Lambda function of the URL to which the RCS provider posts events.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/events"
)

func main() { app.Start(events.Handler) }
