package dashboard

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/query"
)

// peopleArea returns the pages of people.
func peopleArea(c app.Config, store *dynamo.CampaignStore) area {
	return area{people.Area(), &people.Pages{
		Store: store, Messages: &query.Service{Store: store, Blobs: s3.New(c.AWS, c.Bucket, c.Local)},
		OptOuts: &optout.Book{Store: store, Now: time.Now}, Shards: optout.Shards, Once: web.SubmitToken{Forms: store}, Now: time.Now,
	}}
}
