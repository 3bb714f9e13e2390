// Command campaigns is the Lambda function behind error files, the OpenAPI
// document and whatever path the API does not have.
package main

import (
	"log/slog"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/apidoc"
	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/blob"
	"campaign-dispatch/internal/errorfile"
	"campaign-dispatch/internal/gateway"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	client := s3.NewFromConfig(awsconf.FromEnv(), func(o *s3.Options) { o.UsePathStyle = awsconf.Local() })
	files := &errorfile.Files{Blobs: &blob.Store{Client: client, Bucket: os.Getenv("BUCKET"), MayNotList: true}}
	api := &apidoc.Service{BaseURL: os.Getenv("BASE_URL")}
	unknown := gateway.HandlerFunc(api.ServeUnknown)
	mux := http.NewServeMux()
	mux.Handle("GET /api/v1/error-files/{name}", gateway.HandlerFunc(files.ServeFile))
	mux.Handle("GET /api/v1/openapi.json", gateway.HandlerFunc(api.ServeDocument))
	mux.Handle("/", unknown)
	lambda.Start(gateway.Lambda(gateway.Exact(mux, unknown)))
}
