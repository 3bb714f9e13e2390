// Command send is the Lambda function of the send queue. It sends messages.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/send"
)

func main() { app.Start(send.Handler) }
