// Command exports is the Lambda function of the exports queue. It writes the files of
// exports.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/exports"
)

func main() { app.Start(exports.Handler) }
