// Command sweep is the Lambda function that runs every minute and repeats lost steps.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/sweep"
)

func main() { app.Start(sweep.Handler) }
