package main

import (
	"crypto/rand"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/awsconf"
	"campaign-dispatch/internal/dashboard/credentials"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/hookpost"
	"campaign-dispatch/internal/netguard"
	"campaign-dispatch/internal/webui"
)

// settings wires the pages of API credentials and webhooks.
func settings(store *dynamo.Store) []area {
	// LOCAL_WEBHOOKS is set by the local stack alone, whose sink is on this machine.
	local := awsconf.LocalSwitch("LOCAL_WEBHOOKS")
	desk := &admin.Desk{Store: store, Random: rand.Reader, Now: time.Now, LocalWebhooks: local}
	once := webui.Once{Forms: store, Random: rand.Reader}
	poster := hookpost.Poster{HTTP: netguard.Guard{Local: local}.Client(1, hookpost.Timeout), Now: time.Now}
	return []area{
		{credentials.Area(), &credentials.Pages{Store: store, Desk: desk, Once: once, Now: time.Now}},
		{webhooks.Area(), &webhooks.Pages{Store: store, Desk: desk, Poster: poster, Once: once, Now: time.Now}},
	}
}
