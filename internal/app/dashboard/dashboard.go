// Package dashboard wires the dashboard function.
package dashboard

import (
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/dashboard/audit"
	"campaign-dispatch/internal/dashboard/signin"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/review"
)

// Handler returns the handler of the dashboard function.
func Handler(c app.Config) lambda.Handler {
	_, pages := Site(c)
	return lambdahttp.NewHandler(pages)
}

// Site returns the pages of the dashboard: sign-in, campaigns, templates, settings and the API documentation.
func Site(c app.Config) (*web.UI, http.Handler) {
	tables := c.Tables()
	p := newParts(c, tables)
	ui := &web.UI{
		Sessions: &web.Sessions{
			Signer: kms.New(c.AWS, c.SessionKeyID, c.PreviousSessionKeyID, c.KeysSwitchAt, time.Now),
			Ends:   p.auth, Now: time.Now, Secure: !c.Local,
		},
		Store: p.stores, Now: time.Now, BaseURL: c.BaseURL, SignInOrigin: c.SignInOrigin,
		MediaURL: tables.MediaURL,
	}
	areas := []area{signIn(c, ui), {audit.Area(), &audit.Pages{Log: p.stores}}, {apidocs.Area(), &apidocs.Pages{}}}
	dispatcher := p.dispatcher(c)
	service := p.intake(c, dispatcher)
	return ui, routes(ui, slices.Concat(areas, p.campaignAreas(c, service), p.settingsAreas(c), p.sendingAreas(c, dispatcher, service)))
}

func signIn(c app.Config, ui *web.UI) area {
	return area{signin.Area(), &signin.Pages{
		Provider: &signin.Provider{Issuer: c.SignInIssuer, ClientID: c.SignInClientID, Client: config.WebClient()},
		Sessions: ui.Sessions, Now: time.Now,
	}}
}

// area is a part of the dashboard: its files and its pages.
type area struct {
	files web.Area
	pages web.Pages
}

func routes(ui *web.UI, areas []area) http.Handler {
	mux := http.NewServeMux()
	files := []web.Area{review.Area()}
	for _, a := range areas {
		files = append(files, a.files)
		a.pages.Register(ui, mux)
	}
	if err := ui.Load(files...); err != nil {
		panic(err) // the names of pages are constants
	}
	ui.Register(mux)
	return web.Compress(mux)
}
