package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/releasescheduler"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/app/stores"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/brand"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/contacts"
	"campaign-dispatch/internal/dashboard/credentials"
	exportpages "campaign-dispatch/internal/dashboard/exports"
	mediapages "campaign-dispatch/internal/dashboard/media"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/team"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/settings/account"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/netguard"
)

// seenNumbersLimit is the memory in bytes for the numbers of earlier batches.
const seenNumbersLimit = 16 << 20

// campaignRows reads credentials too, for the first steps of a tenant.
type campaignRows struct {
	rows
	*dynamo.AuthStore
}

func campaignPages(c app.Config, rows *dynamo.Stores, auth *dynamo.AuthStore) area {
	return area{campaigns.Area(), &campaigns.Pages{
		Store:    campaignRows{newRows(rows), auth},
		Messages: &query.Service{Store: stores.NewQuery(rows), Blobs: s3.New(c.AWS, c.Bucket, c.Local)},
		Controls: &control.Service{
			Store: stores.NewControl(rows), Revokes: sqs.New(c.AWS, c.RevokeQueueURL), Releases: releasescheduler.New(c),
			Now: time.Now, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
		},
		OptOuts: &optout.Book{Store: rows.OptOuts, Now: time.Now}, Now: time.Now,
	}}
}

func overviewPages(rows *dynamo.Stores, auth *dynamo.AuthStore) area {
	return area{overview.Area(), &overview.Pages{Store: campaignRows{newRows(rows), auth}, Now: time.Now}}
}

type exported struct {
	*dynamo.CampaignStore
	*exports.Service
}

func exportArea(c app.Config, rows *dynamo.Stores) area {
	return area{exportpages.Area(), &exportpages.Pages{Exports: exported{rows.Campaigns, exportService(c, rows)}}}
}

func settingsAreas(c app.Config, rows *dynamo.Stores, auth *dynamo.AuthStore) []area {
	service := &settings.Service{Store: settingsstore.New(rows), Auth: auth, Now: time.Now, LocalWebhooks: c.LocalWebhooks}
	poster := webhook.Poster{HTTP: netguard.Guard{Local: c.LocalWebhooks}.Client(1, webhook.Timeout), Now: time.Now}
	return []area{
		{credentials.Area(), &credentials.Pages{Store: auth, Admin: service, Now: time.Now}},
		{webhooks.Area(), &webhooks.Pages{Store: newRows(rows), Admin: service, Poster: poster, Now: time.Now}},
		{billing.Area(), &billing.Pages{Store: rows.Budgets, Admin: service, Now: time.Now}},
		{brand.Area(), &brand.Pages{Store: newRows(rows), MediaURL: c.Tables().MediaURL}},
	}
}

func mediaPages(c app.Config, rows *dynamo.Stores) *mediapages.Pages {
	bucket := s3.New(c.AWS, c.MediaBucket, c.Local)
	library := &media.Library{Store: newRows(rows), Bucket: bucket, Prober: media.NewProber(c.LocalWebhooks), Now: time.Now}
	return &mediapages.Pages{Store: rows.Media, Library: library, Origin: bucket.Origin, URL: c.Tables().MediaURL}
}

type rules struct {
	*dynamo.BudgetStore
	*dynamo.TenantStore
}

// listRows makes and finds lists of recipients too.
type listRows struct {
	rows
	*exports.Service
}

func sendingPages(c app.Config, rows *dynamo.Stores, dispatcher *dispatch.Service) *sending.Pages {
	blobs, tasks := s3.New(c.AWS, c.Bucket, c.Local), sqs.New(c.AWS, c.IntakeQueueURL)
	store := stores.NewIntake(rows)
	service := &intake.Service{
		Store: store, Uploads: blobs, Tasks: tasks, Now: time.Now, Lead: c.MinLead, Stat: blobs.Stat,
		Rules: rules{rows.Budgets, rows.Tenants}, AtOnce: intake.AtOnce,
		Worker: &intake.Worker{
			Store: store, Blobs: blobs, Open: blobs.OpenFile, Tasks: tasks, Now: time.Now, PartLines: campaign.MaxMessages,
			OptOuts: &optout.Book{Store: rows.OptOuts, Now: time.Now}, Dispatch: dispatcher,
		},
	}
	return &sending.Pages{
		Store: listRows{newRows(rows), exportService(c, rows)}, Intake: service, Now: time.Now, Lead: c.MinLead, Origin: blobs.Origin,
	}
}

func exportService(c app.Config, rows *dynamo.Stores) *exports.Service {
	return &exports.Service{Store: stores.NewExports(rows), Tasks: sqs.New(c.AWS, c.ExportsQueueURL), Now: time.Now}
}

func sendingAreas(c app.Config, rows *dynamo.Stores) []area {
	dispatcher := &dispatch.Service{
		Store: rows.Acceptance, Blobs: s3.New(c.AWS, c.Bucket, c.Local), Releases: releasescheduler.New(c),
		SeenNumbers: &dispatch.SeenNumbers{Limit: seenNumbersLimit}, Now: time.Now, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
	}
	files := mediaPages(c, rows)
	return []area{
		{upload.Area(), upload.Script{}},
		{mediapages.Area(), files},
		{templates.Area(), &templates.Pages{
			Media:  media.Checker{Prober: media.NewProber(c.LocalWebhooks), URL: c.Tables().MediaURL},
			Upload: files.Upload, Store: newRows(rows), Keeper: &settings.Service{Store: settingsstore.New(rows), Now: time.Now},
			Dispatch: dispatcher, Now: time.Now, LinkURL: c.LinkURL, MediaURL: c.Tables().MediaURL,
		}},
		{sending.Area(), sendingPages(c, rows, dispatcher)},
	}
}

// contactRows reads rows, and finds messages.
type contactRows struct {
	rows
	*query.Service
}

func contactArea(c app.Config, rows *dynamo.Stores) area {
	return area{contacts.Area(), &contacts.Pages{
		Store:   contactRows{newRows(rows), &query.Service{Store: stores.NewQuery(rows), Blobs: s3.New(c.AWS, c.Bucket, c.Local)}},
		OptOuts: &optout.Book{Store: rows.OptOuts, Now: time.Now}, Shards: optout.Shards,
		Now: time.Now,
	}}
}

func teamArea(c app.Config, rows *dynamo.Stores, auth *dynamo.AuthStore) area {
	pool := &cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(c.AWS), ID: c.UserPoolID}
	service := &settings.Service{Store: settingsstore.New(rows), Auth: auth, People: pool, Now: time.Now, LocalPasswords: c.LocalWebhooks}
	return area{team.Area(), &team.Pages{Users: users{service, pool}}}
}

type users struct {
	*settings.Service

	pool *cognito.Pool
}

// People returns the users of a tenant.
func (u users) People(ctx context.Context, tenant string) (people []account.Person, complete bool, err error) {
	return u.pool.People(ctx, tenant)
}

// Invite refuses the address of another tenant's user like other input.
func (u users) Invite(ctx context.Context, who account.Person) (password string, err error) {
	invited, err := u.InvitePerson(ctx, who)
	if errors.Is(err, cognito.ErrOtherTenant) {
		err = &inputerr.Error{Code: "email_taken", Detail: "the address cannot be used"}
	}
	return invited.Password, err
}
