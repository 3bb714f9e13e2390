// Command dispatch is the Lambda function of the dispatch endpoint.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dispatch"
)

func main() { app.Start(dispatch.Handler) }
