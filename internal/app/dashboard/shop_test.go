package dashboard_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/sns"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/send/release"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
)

// shop is a company with the functions from the release of a batch to the posts of its webhooks. The
// provider and the endpoint are the shop.
type shop struct {
	*company

	releaser release.Releaser
	sender   *send.Sender
	sweeper  *sweep.Sweeper
	applier  *outcome.Applier
	feeder   *feed.Feeder
	notifier *webhook.Notifier

	releases queue[campaign.ReleaseTask]
	frames   queue[outgoing.SendTask]
	released int // of the accepted batches

	mu     sync.Mutex
	taken  map[string]int  // messages that the provider has taken, by phone
	posts  map[string]post // by the ID of the webhook
	onSend func()          // when the provider takes a message, nil for nothing
}

// post is a webhook.
type post struct {
	Type delivery.Kind
	Data webhook.Data
}

const sweepAfter = time.Minute

func newShop(t *testing.T, partLines int, now time.Time) *shop {
	t.Helper()
	s := &shop{company: newCompany(t, partLines, time.Minute), taken: map[string]int{}, posts: map[string]post{}}
	s.now = now
	s.must(s.store.SaveAgent(t.Context(), campaign.Agent{ID: "agent"}))
	s.wireSending()
	s.wireWebhooks()
	hash := sha256.Sum256([]byte("secret"))
	s.must(dynamo.NewAuthStore(s.store.Tables()).CreateCredential(t.Context(), account.Credential{
		ClientID: "rcs_1", Tenant: s.tenant, SecretHash: hash[:], Scope: account.ScopeDispatch, CreatedAt: now,
	}))
	return s
}

// wireSending makes the functions that send, as they do.
func (s *shop) wireSending() {
	s.releaser = release.Releaser{Store: s.store, Frames: &s.frames, Releases: &s.releases, SweepAfter: sweepAfter, Now: s.clock}
	s.sender = &send.Sender{
		Store: s.store, Blobs: s.blobs, Provider: s, Recorder: s.recorder, Reach: s.dispatch.Reach, Queue: &s.frames,
		Concurrency: 8, SweepAfter: sweepAfter, Now: s.clock, Jitter: rand.Float64,
	}
	s.sweeper = &sweep.Sweeper{
		Store: s.store, Recorder: s.recorder, Expire: s.expirer.ExpireIfDue, Releases: &s.releases, Frames: &s.frames,
		Queued: func(context.Context) (int, error) { return 0, nil },
		Notify: &s.notify, Revokes: &s.revokes, Intake: &s.tasks, Shards: dynamo.DueShards, SweepAfter: sweepAfter, SweepDelay: sweepAfter, Now: s.clock,
	}
	s.applier = &outcome.Applier{Store: s.store, OptOuts: s.book, Contents: s.blobs, Recorder: s.recorder}
}

// endpoints are rows, with the sums of posts.
type endpoints struct {
	*dynamotest.Store
	*webhook.PostSums
}

// wireWebhooks makes the functions that post webhooks, and an endpoint for all of them.
func (s *shop) wireWebhooks() {
	s.feeder = &feed.Feeder{Store: s.store, Queue: &s.notify, Now: s.clock}
	s.notifier = &webhook.Notifier{
		Store: s.store, Endpoints: endpoints{s.store, &webhook.PostSums{Store: s.store}}, Blobs: s.blobs, Notify: &s.notify,
		Tickets: &sns.Topic{}, HTTP: &http.Client{Transport: s}, Now: s.clock, Jitter: func() float64 { return 0 },
	}
	kinds := []delivery.Kind{
		delivery.KindSent, delivery.KindDelivered, delivery.KindRead, delivery.KindFailed, delivery.KindExpired,
		delivery.KindCompleted, delivery.KindPaused, delivery.KindResumed,
	}
	e := delivery.Endpoint{
		ID: "endpoint", Tenant: s.tenant, URL: "https://shop.example/hook",
		Secret: delivery.SecretPrefix + base64.StdEncoding.EncodeToString([]byte("secret of the endpoint")),
	}
	for _, kind := range kinds {
		e.Kinds = append(e.Kinds, string(kind))
	}
	s.must(s.store.SaveEndpoint(s.t.Context(), e))
}

// SendGroups queues bodies.
func (q *queue[T]) SendGroups(ctx context.Context, _ []string, bodies [][]byte) error {
	return q.SendAll(ctx, "", bodies)
}

// Send takes a message, as the provider.
func (s *shop) Send(_ context.Context, _ campaign.Agent, m outgoing.Message) error {
	s.mu.Lock()
	s.taken[m.Phone]++
	first := s.onSend
	s.onSend = nil
	s.mu.Unlock()
	if first != nil {
		first()
	}
	return nil
}

// RoundTrip takes a webhook, as the endpoint.
func (s *shop) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var p post
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posts[r.Header.Get("Webhook-Id")] = p
	return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// release releases a further batch, if there is one, and sends what can be sent now.
func (s *shop) release() {
	s.t.Helper()
	if s.released < len(s.accepted) {
		s.releases.tasks = append(s.releases.tasks, campaign.ReleaseTask{BatchRef: s.accepted[s.released].BatchRef})
		s.released++
	}
	s.work()
}

// work does what is queued.
func (s *shop) work() {
	s.t.Helper()
	run(s.company, &s.releases, s.releaser.Handle)
	run(s.company, &s.frames, s.sender.Handle)
	run(s.company, &s.events, s.applier.Handle)
	run(s.company, &s.revokes, s.canceller.Handle)
	run(s.company, &s.tasks, s.worker.Handle)
}

// wait lets time pass, and does what is due then.
func (s *shop) wait(until time.Time) {
	s.t.Helper()
	s.now = until
	shard := s.store.DueShard(campaign.BatchRef{ID: campaign.ID{Tenant: s.tenant}}) // all of a tenant's are in one part
	s.must(s.sweeper.Sweep(s.t.Context(), sweep.Section{Number: shard % dynamo.DueSections, Of: dynamo.DueSections}))
	s.work()
}

// record records what became of messages that were sent. next returns the outcome of a phone's message, or
// "" for none.
func (s *shop) record(next func(phone string) campaign.Outcome) {
	s.t.Helper()
	for _, accepted := range s.accepted {
		b, err := s.store.Batch(s.t.Context(), accepted.BatchRef)
		s.must(err)
		var changes []campaign.Change
		for index, m := range s.messages(b) {
			if o := next(m.Phone.String()); o != "" {
				changes = append(changes, campaign.Change{Index: index, Outcome: o, At: s.now})
			}
		}
		if len(changes) > 0 {
			s.must(s.recorder.Record(s.t.Context(), b, changes))
		}
	}
}

// webhooks posts all webhooks, and returns them in the order of their messages' logs, by phone.
// Those about the campaign have the phone "".
func (s *shop) webhooks() map[string][]post {
	s.t.Helper()
	all := feed.Replayer{Logs: s.store, Feeder: s.feeder}
	_, err := all.Replay(s.t.Context(), s.now.Add(-30*24*time.Hour), func(feed.Replayed) {})
	s.must(err)
	run(s.company, &s.notify, s.notifier.HandleMessages)
	byPhone := map[string][]post{}
	for _, p := range s.posts {
		byPhone[p.Data.Phone] = append(byPhone[p.Data.Phone], p)
	}
	for _, posts := range byPhone {
		slices.SortFunc(posts, func(a, b post) int { return a.Data.Sequence - b.Data.Sequence })
	}
	return byPhone
}
