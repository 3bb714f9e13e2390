// Command dispatch is the Lambda function of the dispatch endpoint.
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
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
)

const (
	seenNumbersLimit = 128 << 20 // memory in bytes for some 16 million numbers of earlier batches
	// limiterTimeout leaves most of the call's 29 seconds for its other steps.
	limiterTimeout = 5 * time.Second
)

func main() { app.Start(handler) }

func handler(c app.Config) lambda.Handler {
	tables, keys := c.Tables(), kms.New(c.AWS, c.SigningKeyID, c.PreviousSigningKeyID, c.KeysSwitchAt, time.Now)
	rows, blobs := dynamo.New(tables), s3.New(c.AWS, c.Bucket, c.Local)
	lists := &lookup.Cache{Store: rows.RecipientStore, Blobs: blobs, Now: time.Now}
	service := wired.Complete(&dispatch.Service{
		Tokens:      &accesstoken.Verifier{Keys: keys, Now: time.Now},
		Store:       rows.CampaignStore,
		Blobs:       blobs,
		Releases:    releasescheduler.New(c),
		Reach:       reach.Lookup{OptOuts: &optout.Book{Store: rows.RecipientStore, Now: time.Now}, Lists: lists},
		ListNames:   lists.Names,
		SeenNumbers: &dispatch.SeenNumbers{Limit: seenNumbersLimit},
		Limiter:     &dispatch.Limiter{Limit: c.TenantDispatch, Calls: dynamo.NewAuthStore(tables), Timeout: limiterTimeout},
		Now:         time.Now, BaseURL: c.BaseURL, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
	})
	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/external/campaigns/dispatch", httpapi.HandlerFunc(service.ServeDispatch))
	return lambdahttp.NewHandler(mux)
}
