// Command outcomes is the Lambda function of the events queue. It records the provider's
// events.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/outcomes"
)

func main() { app.Start(outcomes.Handler) }
