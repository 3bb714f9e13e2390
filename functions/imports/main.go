// Command imports is the Lambda function of the imports queue. It reads the large files of
// campaigns and dispatches their parts.
package main

import (
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/imports"
)

func main() { app.Start(imports.Handler) }
