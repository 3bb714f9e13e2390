// Command release is the Lambda function of the release queue. It queues the frames of
// batches that are due.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/release"
)

func main() { app.Start(release.Handler) }
