package dashboard

import (
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/stores"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/query"
)

// peopleArea returns the pages of people.
func peopleArea(c app.Config, rows *dynamo.Stores) area {
	return area{people.Area(), &people.Pages{
		Store: peopleRows{rows.Campaigns, rows.Ledgers, rows.Replies, rows.Templates}, Messages: &query.Service{Store: stores.NewQuery(rows), Blobs: s3.New(c.AWS, c.Bucket, c.Local)},
		OptOuts: &optout.Book{Store: rows.OptOuts, Now: time.Now}, Shards: optout.Shards, Once: web.SubmitToken{Forms: rows.AuditLogs}, Now: time.Now,
	}}
}
