package main

import (
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/webui"
)

// earlierNumbers is the memory in bytes for the numbers of earlier batches.
const earlierNumbers = 16 << 20

// messages wires the pages of templates and of sending with the rules of the API.
func messages(cfg aws.Config, store *dynamo.Store, base string) []area {
	desk := &admin.Desk{Store: store, Random: rand.Reader, Now: time.Now}
	lead := awsconf.Seconds("MIN_LEAD_SECONDS", 300)
	dispatcher := &dispatch.Service{
		Store: store, Blobs: blobs(cfg), Handoff: releaser(cfg), Earlier: &dispatch.Earlier{Limit: earlierNumbers},
		Now: time.Now, Random: rand.Reader, BaseURL: base,
		Lead:  lead,
		Grace: min(awsconf.Seconds("SWEEP_AFTER_SECONDS", 120), 2*time.Minute),
	}
	return []area{
		{templates.Area(), &templates.Pages{
			Store: store, Keeper: desk, Dispatch: dispatcher, Once: webui.Once{Forms: store, Random: rand.Reader}, Random: rand.Reader, Now: time.Now,
		}},
		{sending.Area(), &sending.Pages{Store: store, Blobs: blobs(cfg), Dispatch: dispatcher, Random: rand.Reader, Now: time.Now, Lead: lead}},
	}
}
