// Command intake is the Lambda function of the intake queue. It reads the large files of
// campaigns and dispatches their parts.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/intake"
)

func main() { app.Start(intake.Handler) }
