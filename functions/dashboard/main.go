// Command dashboard is the Lambda function of the pages for people.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
)

func main() { app.Start(dashboard.Handler) }
