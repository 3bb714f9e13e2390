package dashboard

import (
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/releasescheduler"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/brand"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/campaignupload"
	"campaign-dispatch/internal/dashboard/credentials"
	exportpages "campaign-dispatch/internal/dashboard/exports"
	"campaign-dispatch/internal/dashboard/followup"
	importpages "campaign-dispatch/internal/dashboard/imports"
	mediapages "campaign-dispatch/internal/dashboard/media"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/imports"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/netguard"
)

// seenNumbersLimit is the memory in bytes for the numbers of earlier batches.
const seenNumbersLimit = 16 << 20

// campaignPages returns the pages of campaigns, on the API's services.
func campaignPages(c app.Config, store *dynamo.CampaignStore, auth *dynamo.AuthStore) area {
	return area{campaigns.Area(), &campaigns.Pages{
		Store: store, Credentials: auth,
		Messages: &query.Service{Store: store, Blobs: s3.New(c.AWS, c.Bucket, c.Local)},
		Controls: &control.Service{
			Store: store, Queue: sqs.New(c.AWS, c.RevokeQueueURL), Releases: releasescheduler.New(c), Now: time.Now, Lead: c.MinLead, Grace: c.Grace(),
		},
		OptOuts: &optout.Book{Store: store, Now: time.Now},
		Now:     time.Now,
	}}
}

// overviewPages returns the page of the overview.
func overviewPages(store *dynamo.CampaignStore, auth *dynamo.AuthStore) area {
	return area{overview.Area(), &overview.Pages{Store: store, Credentials: auth, Now: time.Now}}
}

// exportArea returns the pages of exports.
func exportArea(c app.Config, store *dynamo.CampaignStore) area {
	return area{exportpages.Area(), &exportpages.Pages{
		Store: store, Exports: &exports.Service{Store: store, Queue: sqs.New(c.AWS, c.ExportsQueueURL), Now: time.Now},
	}}
}

// settingsAreas returns the pages of API credentials, webhooks and prices.
func settingsAreas(c app.Config, store *dynamo.CampaignStore, auth *dynamo.AuthStore) []area {
	service := &admin.Service{Store: store, Auth: auth, Now: time.Now, LocalWebhooks: c.LocalWebhooks}
	once := web.SubmitToken{Forms: store}
	poster := webhook.Poster{HTTP: netguard.Guard{Local: c.LocalWebhooks}.Client(1, webhook.Timeout), Now: time.Now}
	return []area{
		{credentials.Area(), &credentials.Pages{Store: auth, Admin: service, Once: once, Now: time.Now}},
		{webhooks.Area(), &webhooks.Pages{Store: store, Admin: service, Poster: poster, Once: once, Now: time.Now}},
		{billing.Area(), &billing.Pages{Store: store, Admin: service, Now: time.Now}},
		{brand.Area(), &brand.Pages{Store: store, MediaURL: store.MediaURL}},
	}
}

// mediaPages returns the pages of the files that messages show.
func mediaPages(c app.Config, store *dynamo.CampaignStore) *mediapages.Pages {
	bucket := s3.New(c.AWS, c.MediaBucket, c.Local)
	library := &media.Library{
		Store: store, Bucket: bucket, Prober: media.NewProber(c.LocalWebhooks),
		Now: time.Now,
	}
	return &mediapages.Pages{
		Store: store, Uploads: library, Files: library, Origin: bucket.Origin, URL: store.MediaURL, PartSize: media.PartSize,
	}
}

// importPages returns the pages of campaigns from large files.
func importPages(c app.Config, store *dynamo.CampaignStore, blobs *s3.Store) *importpages.Pages {
	service := &imports.Service{
		Store: store, Uploads: blobs, Queue: sqs.New(c.AWS, c.ImportsQueueURL), Now: time.Now, Lead: c.MinLead, Stat: blobs.Stat,
	}
	return &importpages.Pages{Store: store, Imports: service, Origin: blobs.Origin, PartSize: imports.PartSize, Now: time.Now}
}

// sendingAreas returns the pages of media, of templates, and of sending a campaign and its
// follow-up.
func sendingAreas(c app.Config, store *dynamo.CampaignStore) []area {
	blobs := s3.New(c.AWS, c.Bucket, c.Local)
	dispatcher := &dispatch.Service{
		Store: store, Blobs: blobs, Releases: releasescheduler.New(c), SeenNumbers: &dispatch.SeenNumbers{Limit: seenNumbersLimit},
		Now: time.Now, BaseURL: c.BaseURL, Lead: c.MinLead, Grace: c.Grace(),
	}
	files := mediaPages(c, store)
	large := importPages(c, store, blobs)
	uploads := &campaignupload.Pages{
		Store: store, Blobs: blobs, Dispatch: dispatcher, OptOuts: &optout.Book{Store: store, Now: time.Now}, Now: time.Now, Lead: c.MinLead, Upload: large.Upload, Import: large.Import,
	}
	return []area{
		{mediapages.Area(), files},
		{templates.Area(), &templates.Pages{
			Media: media.Checker{Prober: media.NewProber(c.LocalWebhooks), URL: store.MediaURL}, Upload: files.Upload, Store: store, Keeper: &admin.Service{Store: store, Now: time.Now}, Dispatch: dispatcher,
			Once: web.SubmitToken{Forms: store}, Now: time.Now, LinkURL: c.LinkURL, MediaURL: store.MediaURL,
		}},
		{campaignupload.Area(), uploads},
		{importpages.Area(), large},
		{followup.Area(), &followup.Pages{
			Store: store, Files: blobs, Uploads: uploads,
			Exports: &exports.Service{Store: store, Queue: sqs.New(c.AWS, c.ExportsQueueURL), Now: time.Now},
		}},
	}
}
