package app_test

import (
	"testing"

	"campaign-dispatch/internal/base/wired"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/release"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/feed"
)

// An empty service names all that it needs, so that a field that a main forgets is found when the function starts.
func TestServices_NameWhatTheyLack(t *testing.T) {
	t.Parallel()
	for want, check := range map[string]func(){
		"send.Sender lacks Store, Blobs, Provider, Recorder, Reach.OptOuts, Reach.Lists, Queue, Concurrency, Now, Jitter": checkOf[send.Sender](),
		"release.Releaser lacks Store, Frames, Releases, Now":                                                             checkOf[release.Releaser](),
		"control.Service lacks Tokens, Store, Revokes, Events, Releases, Now":                                             checkOf[control.Service](),
		"control.Canceller lacks Store, Recorder, Tasks, Retries, Blobs, Provider, Concurrency, Now":                      checkOf[control.Canceller](),
		"sweep.Sweeper lacks Store, Recorder, Expire, Recount, Releases, Frames, Queued, Notify, Revokes, Intake, Shards, " +
			"DeliveryShards, Now": checkOf[sweep.Sweeper](),
		"query.Service lacks Tokens, Store, Blobs, Now": checkOf[query.Service](),
		"dispatch.Service lacks Tokens, Store, Blobs, Releases, Reach.OptOuts, Reach.Lists, ListNames, SeenNumbers, Now, " +
			"Limiter": checkOf[dispatch.Service](),
		"intake.Service lacks Store, Uploads, Stat, Tasks, Rules, Now, Worker":               checkOf[intake.Service](),
		"intake.Worker lacks Store, Blobs, Open, Dispatch, Tasks, Now, PartLines, WavesFrom": checkOf[intake.Worker](),
		"outcome.Recorder lacks Store, Blobs, Notify, Days, Now":                             checkOf[outcome.Recorder](),
		"outcome.Applier lacks Store, OptOuts, Contents, Recorder":                           checkOf[outcome.Applier](),
		"webhook.Notifier lacks Store, Endpoints, Blobs, Notify, HTTP, Now, Jitter":          checkOf[webhook.Notifier](),
		"feed.Feeder lacks Store, Queue, Now":                                                checkOf[feed.Feeder](),
		"exports.Service lacks Tokens, Store, Files, Tasks, Now, AtOnce":                     checkOf[exports.Service](),
		"exports.Maker lacks Store, Blobs, Tasks, Now, PartSize":                             checkOf[exports.Maker](),
		"settings.Service lacks Store.Tenants, Store.Webhooks, Auth, Keys, People, Now, AgentRate, SendRate, " +
			"Simulator": checkOf[settings.Service](),
		"privacy.Service lacks Store.Campaigns, Store.Outcomes, Store.Erasure, Blobs, OptOuts, Lists, Now, " +
			"Progress": checkOf[privacy.Service](),
		"media.Library lacks Prober.HTTP, Store, Bucket, Now": checkOf[media.Library](),
		"oauth.Server lacks Store, Signer, Now":               checkOf[oauth.Server](),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := recover(); got != want {
					t.Errorf("the check says %v, want %s", got, want)
				}
			}()
			check()
		})
	}
}

func checkOf[T any]() func() {
	return func() { wired.Complete(new(T)) }
}
