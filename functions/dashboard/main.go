// Command dashboard is the Lambda function behind the pages for people: sign-in,
// campaigns, templates, settings and the API's documentation.
package main

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/dashboard/audit"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/docs"
	"campaign-dispatch/internal/dashboard/signin"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/signer"
	"campaign-dispatch/internal/webui"
)

func main() {
	slog.SetDefault(awsconf.Logger(os.Stderr, os.Getenv("AWS_LAMBDA_LOG_LEVEL")))
	cfg, base := awsconf.FromEnv(), os.Getenv("BASE_URL")
	store := dynamo.FromEnv(dynamodb.NewFromConfig(cfg), os.Getenv, time.Now)
	ui := &webui.UI{
		Sessions: &webui.Sessions{
			Signer: &signer.Signer{
				Client: kms.NewFromConfig(cfg), KeyID: os.Getenv("SESSION_KEY_ID"), PreviousID: os.Getenv("PREVIOUS_SESSION_KEY_ID"),
				SwitchAt: awsconf.Instant("SIGNING_KEYS_SWITCH_AT"), Now: time.Now,
			}, Ends: store, Now: time.Now, Secure: !awsconf.Local(),
		},
		Auditor: store, Now: time.Now, BaseURL: base, SignInOrigin: os.Getenv("SIGN_IN_ORIGIN"),
	}
	areas := []area{
		{signin.Area(), &signin.Pages{
			Provider: &signin.Provider{
				Issuer: os.Getenv("SIGN_IN_ISSUER"), ClientID: os.Getenv("SIGN_IN_CLIENT_ID"), Client: awsconf.WebClient(),
			},
			Sessions: ui.Sessions, Random: rand.Reader, Now: time.Now,
		}},
		{audit.Area(), &audit.Pages{Log: store}},
		{docs.Area(), &docs.Pages{}},
		{campaigns.Area(), campaignPages(cfg, store)},
	}
	areas = append(areas, settings(store)...)
	areas = append(areas, messages(cfg, store, base)...)
	lambda.Start(metrics.Of(gateway.Lambda(routes(ui, areas)), os.Stdout, time.Now))
}

// area is a part of the dashboard: its files, and who serves its pages.
type area struct {
	files webui.Area
	pages interface {
		Register(ui *webui.UI, mux *http.ServeMux)
	}
}

func routes(ui *webui.UI, areas []area) http.Handler {
	mux := http.NewServeMux()
	var files []webui.Area
	for _, a := range areas {
		files = append(files, a.files)
		a.pages.Register(ui, mux)
	}
	if err := ui.Load(files...); err != nil {
		panic(err) // pages and texts are part of the binary
	}
	ui.Register(mux)
	return mux
}
