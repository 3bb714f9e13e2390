package dashboard

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/releasescheduler"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/brand"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/credentials"
	exportpages "campaign-dispatch/internal/dashboard/exports"
	"campaign-dispatch/internal/dashboard/hours"
	"campaign-dispatch/internal/dashboard/lists"
	mediapages "campaign-dispatch/internal/dashboard/media"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/team"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/dashboard/web/upload"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook"
)

// seenNumbersLimit is the memory in bytes for the numbers of earlier batches.
const seenNumbersLimit = 16 << 20

// parts are what several areas are built of.
type parts struct {
	mediaURL string
	stores   *dynamo.Stores
	auth     *dynamo.AuthStore
	blobs    *s3.Store
	prober   media.Prober
	queries  *query.Service
	optOuts  *optout.Book
	reach    reach.Lookup
	reads    *recent.Reads
	exports  *exports.Service
	settings *settings.Service
	pool     *cognito.Pool
}

func newParts(c app.Config, tables dynamo.Tables) parts {
	s, auth, blobs := dynamo.New(tables), dynamo.NewAuthStore(tables), s3.New(c.AWS, c.Bucket, c.Local)
	pool := &cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(c.AWS), ID: c.UserPoolID}
	tasks, optOuts := sqs.New(c.AWS, c.ExportsQueueURL, time.Now), &optout.Book{Store: s, Now: time.Now}
	return parts{
		mediaURL: tables.MediaURL, stores: s, auth: auth, blobs: blobs, prober: media.NewProber(c.LocalWebhooks),
		queries: wired.Complete(&query.Service{Store: s, Blobs: blobs, Now: time.Now}, "Tokens"),
		optOuts: optOuts,
		reach:   reach.Lookup{OptOuts: optOuts, Lists: &lookup.Cache{Store: s, Blobs: blobs, Now: time.Now}},
		reads:   &recent.Reads{Store: s, Now: time.Now},
		exports: wired.Complete(&exports.Service{
			Store: s, Tasks: tasks, Now: time.Now,
			AtOnce: wired.Complete(&exports.Maker{Store: s, Blobs: blobs, Tasks: tasks, Now: time.Now, PartSize: exports.PartSize}),
		}, "Tokens", "Files"),
		settings: wired.Complete(&settings.Service{
			Store: settingsstore.New(s), Auth: auth, People: pool, Now: time.Now,
			LocalWebhooks: c.LocalWebhooks, LocalPasswords: c.LocalWebhooks,
		}, "Keys", "Simulator", "AgentRate", "SendRate"),
		pool: pool,
	}
}

// campaignRows reads credentials too, for the first steps of a tenant.
type campaignRows struct {
	*dynamo.Stores
	*dynamo.AuthStore
}

// contactRows reads rows, and finds messages.
type contactRows struct {
	*dynamo.Stores
	*query.Service
}

func (a parts) campaignAreas(c app.Config, service *intake.Service) []area {
	controls := wired.Complete(&control.Service{
		Store: a.stores, Revokes: sqs.New(c.AWS, c.RevokeQueueURL, time.Now),
		Events: sqs.New(c.AWS, c.EventsQueueURL, time.Now), Releases: releasescheduler.New(c),
		Now: time.Now, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
	}, "Tokens")
	store, numberFiles := campaignRows{a.stores, a.auth}, &listfile.Store{Blobs: a.blobs, Stat: a.blobs.Stat}
	return []area{
		{overview.Area(), &overview.Pages{Store: store, Reads: a.reads, Now: time.Now}},
		{campaigns.Area(), &campaigns.Pages{
			Store: store, Messages: a.queries, Controls: controls, OptOuts: a.optOuts, Waves: service, Now: time.Now,
		}},
		{exportpages.Area(), &exportpages.Pages{Exports: listRows{a.stores, a.exports}}},
		{lists.Area(), &lists.Pages{
			Book: &book.Book{Store: a.stores, Blobs: a.blobs, Now: time.Now}, Files: numberFiles,
			Campaigns: a.stores, Origin: a.blobs.Origin, Now: time.Now,
		}},
		{people.Area(), &people.Pages{
			Store: contactRows{a.stores, a.queries}, OptOuts: a.optOuts, Files: numberFiles, Reach: a.reach, Shards: optout.Shards, Now: time.Now,
		}},
	}
}

func (a parts) settingsAreas(c app.Config) []area {
	poster := webhook.Poster{HTTP: netguard.Guard{Local: c.LocalWebhooks}.Client(1, webhook.Timeout), Now: time.Now}
	return []area{
		{credentials.Area(), &credentials.Pages{Store: a.auth, Admin: a.settings, Now: time.Now}},
		{webhooks.Area(), &webhooks.Pages{
			Store: a.stores, Messages: a.queries, Admin: a.settings, Poster: poster, Now: time.Now,
		}},
		{billing.Area(), &billing.Pages{Store: a.stores, Admin: a.settings, Now: time.Now}},
		{hours.Area(), &hours.Pages{Store: a.stores, Campaigns: a.stores, Now: time.Now}},
		{brand.Area(), &brand.Pages{Store: a.stores, MediaURL: a.mediaURL}},
		{team.Area(), &team.Pages{Users: users{a.settings, a.pool}}},
	}
}

func (a parts) media(c app.Config) *mediapages.Pages {
	bucket := s3.New(c.AWS, c.MediaBucket, c.Local)
	library := wired.Complete(&media.Library{Store: a.stores, Bucket: bucket, Prober: a.prober, Now: time.Now})
	return &mediapages.Pages{Store: a.stores, Library: library, Origin: bucket.Origin, URL: a.mediaURL}
}

// listRows makes and finds exports and lists of recipients too.
type listRows struct {
	*dynamo.Stores
	*exports.Service
}

// intake makes the service that takes files.
func (a parts) intake(c app.Config, dispatcher *dispatch.Service) *intake.Service {
	tasks, store := sqs.New(c.AWS, c.IntakeQueueURL, time.Now), a.stores
	return wired.Complete(&intake.Service{
		Store: store, Uploads: a.blobs, Tasks: tasks, Now: time.Now, Lead: c.MinLead, Stat: a.blobs.Stat,
		Rules: a.stores, AtOnce: intake.AtOnce,
		Worker: wired.Complete(&intake.Worker{
			Store: store, Blobs: a.blobs, Open: a.blobs.OpenFile, Tasks: tasks, Now: time.Now, PartLines: campaign.MaxMessages,
			WavesFrom: c.WavesFrom, Dispatch: dispatcher,
		}, "WavesFrom"),
	})
}

func (a parts) sending(c app.Config, service *intake.Service) *sending.Pages {
	return &sending.Pages{
		Store: listRows{a.stores, a.exports}, Intake: service, Now: time.Now, Lead: c.MinLead, Origin: a.blobs.Origin, Reads: a.reads,
	}
}

func (a parts) dispatcher(c app.Config) *dispatch.Service {
	return wired.Complete(&dispatch.Service{
		Store: a.stores, Blobs: a.blobs, Releases: releasescheduler.New(c),
		SeenNumbers: &dispatch.SeenNumbers{Limit: seenNumbersLimit}, Now: time.Now, Lead: c.MinLead, SweepDelay: c.SweepDelay(),
		Reach: a.reach,
	}, "Tokens", "ListNames", "Limiter")
}

func (a parts) sendingAreas(c app.Config, dispatcher *dispatch.Service, service *intake.Service) []area {
	files := a.media(c)
	return []area{
		{upload.Area(), upload.Script{}},
		{mediapages.Area(), files},
		{templates.Area(), &templates.Pages{
			Media: media.Checker{Prober: a.prober, URL: a.mediaURL}, Upload: files.Upload, Store: a.stores,
			Dispatch: dispatcher, Now: time.Now, LinkURL: c.LinkURL, MediaURL: a.mediaURL,
		}},
		{sending.Area(), a.sending(c, service)},
	}
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
