// Command revoke is the Lambda function of the revoke queue. It finishes cancellations.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/revoke"
)

func main() { app.Start(revoke.Handler) }
