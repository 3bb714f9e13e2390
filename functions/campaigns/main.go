// Command campaigns is the Lambda function that reads campaigns back and controls them.
// It also serves templates, links that count clicks, error files, the OpenAPI document and
// unknown paths.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/campaigns"
)

func main() { app.Start(campaigns.Handler) }
