// Command dashboard is the Lambda function of the dashboard.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
)

func main() { app.Start(dashboard.Handler) }
