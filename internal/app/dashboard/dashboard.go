// Package dashboard wires the dashboard function.
package dashboard

import (
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/dashboard/apidocs"
	"campaign-dispatch/internal/dashboard/audit"
	"campaign-dispatch/internal/dashboard/signin"
	"campaign-dispatch/internal/dashboard/web"
)

// Handler returns the handler of the dashboard function.
func Handler(c app.Config) lambda.Handler {
	_, pages := Site(c)
	return lambdahttp.NewHandler(pages)
}

// Site returns the pages of the dashboard: sign-in, campaigns, templates, settings and the
// API documentation.
func Site(c app.Config) (*web.UI, http.Handler) {
	tables := c.Tables()
	rows, auth := dynamo.New(tables), dynamo.NewAuthStore(tables)
	ui := &web.UI{
		Sessions: &web.Sessions{
			Signer: kms.New(c.AWS, c.SessionKeyID, c.PreviousSessionKeyID, c.KeysSwitchAt, time.Now),
			Ends:   auth, Now: time.Now, Secure: !c.Local,
		},
		Auditor: rows.AuditLogs, Now: time.Now, BaseURL: c.BaseURL, SignInOrigin: c.SignInOrigin, MediaURL: tables.MediaURL, Brands: rows.Settings,
	}
	areas := []area{
		signIn(c, ui),
		{audit.Area(), &audit.Pages{Log: rows.AuditLogs}},
		{apidocs.Area(), &apidocs.Pages{}},
		overviewPages(rows, auth),
		campaignPages(c, rows, auth),
		exportArea(c, rows),
		peopleArea(c, rows),
		teamArea(c, rows, auth),
	}
	areas = append(areas, settingsAreas(c, rows, auth)...)
	areas = append(areas, sendingAreas(c, rows)...)
	return ui, routes(ui, areas)
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
	pages interface {
		Register(ui *web.UI, mux *http.ServeMux)
	}
}

func routes(ui *web.UI, areas []area) http.Handler {
	mux := http.NewServeMux()
	var files []web.Area
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

// campaignRows has the rows of the pages of campaigns.
type campaignRows struct {
	*dynamo.CampaignStore
	*dynamo.ReplyStore
	*dynamo.TemplateStore
}

// overviewRows has the rows of the overview.
type overviewRows struct {
	*dynamo.AttentionStore
	*dynamo.CampaignStore
	*dynamo.DayStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
}

// webhookRows has the rows of the pages of webhooks.
type webhookRows struct {
	*dynamo.CircuitStore
	*dynamo.DayStore
	*dynamo.EndpointStore
	*dynamo.FailureStore
	*dynamo.KeptPostStore
}

// brandRows has the rows of the pages of the brand.
type brandRows struct {
	*dynamo.MediaStore
	*dynamo.SettingStore
}

// libraryRows has the rows of the files that messages show.
type libraryRows struct {
	*dynamo.MediaStore
	*dynamo.TemplateStore
}

// intakeRows has the rows of the service of submissions.
type intakeRows struct {
	*dynamo.DayStore
	*dynamo.SubmissionStore
	*dynamo.MoveStore
	*dynamo.TemplateStore
}

// sendingRows has the rows of the pages that make a campaign.
type sendingRows struct {
	*dynamo.CampaignStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

// templateRows has the rows of the pages of templates.
type templateRows struct {
	*dynamo.CampaignStore
	*dynamo.MediaStore
	*dynamo.SettingStore
	*dynamo.TemplateStore
}

// peopleRows has the rows of the pages of a person.
type peopleRows struct {
	*dynamo.CampaignStore
	*dynamo.LedgerStore
	*dynamo.ReplyStore
	*dynamo.TemplateStore
}
