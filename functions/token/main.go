// Command token is the Lambda function of the OAuth token endpoint, the key set and the
// server metadata.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/token"
)

func main() { app.Start(token.Handler) }
