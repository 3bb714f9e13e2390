// Command campaigns is the Lambda function that reads campaigns back and controls them.
// It also serves templates, links that count clicks, error files, the OpenAPI document and
// unknown paths.
package main

import (
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/releasescheduler"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/openapi"
	"campaign-dispatch/internal/link"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/listapi"
	"campaign-dispatch/internal/templates"
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	tables := c.Tables()
	rows, blobs := dynamo.New(tables), s3.New(c.AWS, c.Bucket, c.Local)
	tokens := &accesstoken.Verifier{Keys: kms.New(c.AWS, c.SigningKeyID, c.PreviousSigningKeyID, c.KeysSwitchAt, time.Now), Now: time.Now}
	verifier := &query.ReadLimit{
		Tokens: &accesstoken.ActiveVerifier{Tokens: tokens, Credentials: dynamo.NewAuthStore(tables)}, Limit: c.TenantRead, Now: time.Now,
	}
	mux, events := http.NewServeMux(), sqs.New(c.AWS, c.EventsQueueURL, time.Now)
	wired.Complete(&query.Service{Tokens: verifier, Store: rows, Blobs: blobs, BaseURL: c.BaseURL, Now: time.Now}).Register(mux)
	wired.Complete(&control.Service{
		Tokens: verifier, Store: rows, Revokes: sqs.New(c.AWS, c.RevokeQueueURL, time.Now), Events: events,
		Releases: releasescheduler.New(c),
		Now:      time.Now, BaseURL: c.BaseURL, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
	}).Register(mux)
	wired.Complete(&templates.Service{
		Tokens: verifier, Media: media.Checker{Prober: media.NewProber(c.Local), URL: tables.MediaURL}, Store: rows,
		Now: time.Now, BaseURL: c.BaseURL,
	}).Register(mux)
	wired.Complete(&exports.Service{
		Tokens: verifier, Store: rows, Files: blobs, Tasks: sqs.New(c.AWS, c.ExportsQueueURL, time.Now),
		Now: time.Now, BaseURL: c.BaseURL,
	}, "AtOnce").Register(mux)
	wired.Complete(&listapi.Service{
		Tokens: verifier, Lists: &book.Book{Store: rows, Blobs: blobs, Now: time.Now}, Store: rows,
		Now: time.Now, BaseURL: c.BaseURL,
	}).Register(mux)
	files := wired.Complete(&query.ErrorFiles{Blobs: blobs, Now: time.Now})
	mux.Handle("GET /api/v1/error-files/{name}", httpapi.HandlerFunc(files.ServeFile))
	links := wired.Complete(&link.Service{Store: rows, Blobs: blobs, Events: events, Now: time.Now})
	mux.Handle("GET "+reaction.LinkPath+"{token}", httpapi.HandlerFunc(links.ServeLink))
	return lambdahttp.NewHandler(withDocument(mux, &openapi.Service{BaseURL: c.BaseURL}))
}

// withDocument adds the OpenAPI document and the answer to unknown paths.
func withDocument(mux *http.ServeMux, api *openapi.Service) http.Handler {
	unknown := httpapi.HandlerFunc(api.ServeUnknown)
	mux.Handle("GET /api/v1/openapi.json", httpapi.HandlerFunc(api.ServeDocument))
	mux.Handle("GET /api/v1/external/campaigns/dispatch", unknown) // no campaign has that id
	mux.Handle("GET "+templates.Path+"/preview", unknown)          // no template either
	mux.Handle("/", unknown)
	return httpapi.Exact(mux, unknown)
}
