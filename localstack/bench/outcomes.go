package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/ledger"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/privacy/optout"
	rcsevents "campaign-dispatch/internal/rcs/events"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/feed"
	"campaign-dispatch/internal/webhook/netguard"
	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/uuid"
)

// What cannot be seen on this machine is assumed, and what the template says.
const (
	eventsPerCall     = 250 // that outcomes gets at once
	deliveriesPerCall = 10  // that notify gets at once
	callsAtOnce       = 16  // of the events function, to save time

	eventsGB   = 0.25
	outcomesGB = 0.5
	notifyGB   = 0.5
	feedGB     = 0.5
)

// aftermath is what follows the provider's acceptance: its events, the ledger and
// the webhooks.
type aftermath struct {
	store      *dynamo.CampaignStore
	agent      campaign.Agent
	hook       http.Handler
	applier    *outcome.Applier
	notifier   *webhook.Notifier
	feeder     *feed.Feeder
	fed        int // entries of the batch that is followed
	events     *tee
	deliveries *tee
	posts      atomic.Int64
}

func newAftermath(ctx context.Context, store *dynamo.CampaignStore, blobs *s3.Store, events, deliveries *tee, tenant string) (*aftermath, error) {
	t, err := store.Tenant(ctx, tenant)
	if err != nil {
		return nil, err
	}
	a := &aftermath{store: store, events: events, deliveries: deliveries}
	if a.agent, err = store.Agent(ctx, t.AgentID); err != nil {
		return nil, err
	}
	sink, err := a.listen(ctx)
	if err != nil {
		return nil, err
	}
	hook := &rcsevents.Hook{Agents: store, Blobs: blobs, Queue: events, Now: time.Now}
	mux := http.NewServeMux()
	mux.Handle("POST /{agentId}", httpapi.HandlerFunc(hook.ServeEvent))
	a.hook = mux
	a.applier = &outcome.Applier{
		Batches: store, Tenants: store, Contents: blobs, OptOuts: &optout.Book{Store: store, Now: time.Now},
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, Blobs: blobs, Notify: deliveries, MaxAppend: dynamo.MaxAppend, SweepAfter: time.Hour, Now: time.Now,
			Split: store.Split,
		},
	}
	guard := netguard.Guard{Local: true}
	a.notifier = &webhook.Notifier{
		Store: store, Endpoints: store, Posts: &webhook.PostSums{Store: store}, Blobs: blobs, Queue: deliveries,
		HTTP: guard.Client(metering.PostsAtOnce, webhook.Timeout), Now: time.Now, Jitter: func() float64 { return 0 },
	}
	a.feeder = &feed.Feeder{Batches: store, Endpoints: store, Queue: deliveries, Now: time.Now}
	return a, store.SaveEndpoint(ctx, twoKinds(tenant, sink))
}

// listen starts a sink of webhooks, which ends with the program, and returns its
// address.
func (a *aftermath) listen(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		a.posts.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// status is an answer of which nothing but that is of interest.
type status struct{ code int }

func (*status) Header() http.Header            { return http.Header{} }
func (*status) Write(body []byte) (int, error) { return len(body), nil }
func (s *status) WriteHeader(code int)         { s.code = code }

// twoKinds is an endpoint that gets two webhooks of a message that is read.
func twoKinds(tenant, address string) campaign.Endpoint {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return campaign.Endpoint{
		ID: uuid.New(), Tenant: tenant, URL: address, Secret: "whsec_" + base64.StdEncoding.EncodeToString(key),
		Kinds: []string{string(campaign.KindDelivered), string(campaign.KindRead)},
	}
}

// follow does for a sent batch what the provider's events ask for, first all
// deliveries and then all readings, and counts what cannot be metered.
func (a *aftermath) follow(ctx context.Context, m *metering.Meter, ref campaign.BatchRef, u *metering.Units) (writes float64, err error) {
	b, err := a.store.Batch(ctx, ref)
	if err != nil {
		return 0, err
	}
	a.fed = b.Accepted // all of them are sent, which the endpoint does not ask for
	m.Take()
	want := a.posts.Load() + int64(2*b.Accepted)
	for _, kind := range []string{"DELIVERED", "READ"} {
		if err := a.tell(ctx, m, b, kind, u); err != nil {
			return 0, err
		}
		w, err := a.apply(ctx, m, u)
		if err != nil {
			return 0, err
		}
		writes += w
		if err := a.feed(ctx, m, b, u); err != nil {
			return 0, err
		}
		if w, err = a.notify(ctx, m, u); err != nil {
			return 0, err
		}
		writes += w
	}
	if a.posts.Load() != want {
		return 0, fmt.Errorf("%d webhooks are missing", want-a.posts.Load())
	}
	return writes, nil
}

// tell gives the events function an event of each message of the batch.
func (a *aftermath) tell(ctx context.Context, m *metering.Meter, b campaign.Batch, kind string, u *metering.Units) error {
	started := cpuTime()
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for index := range b.Accepted {
		calls.Go(func() error { return a.call(ctx, b.Key.MessageID(index), kind) })
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	cpu := (cpuTime() - started) / time.Duration(b.Accepted)
	u.Add(metering.Sum(m.Take()))
	u.Invocations += float64(b.Accepted)
	u.GBSeconds += float64(b.Accepted) * seconds(eventsGB, metering.AWSRoundTrip, cpu)
	return nil
}

func (a *aftermath) call(ctx context.Context, messageID, kind string) error {
	data, err := json.Marshal(map[string]string{
		"senderPhoneNumber": "+5511987654321", "eventType": kind, "eventId": uuid.New(), "messageId": messageID,
		"sendTime": time.Now().UTC().Format(time.RFC3339Nano), "agentId": a.agent.ID,
	})
	if err != nil {
		return err
	}
	mac := hmac.New(sha512.New, []byte(a.agent.WebhookToken))
	_, _ = mac.Write(data)
	body, err := json.Marshal(map[string]any{"message": map[string]string{"data": base64.StdEncoding.EncodeToString(data)}})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/"+a.agent.ID, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Goog-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer := &status{}
	a.hook.ServeHTTP(answer, r)
	if answer.code != http.StatusOK {
		return fmt.Errorf("an event was answered with %d", answer.code)
	}
	return nil
}

// apply gives the outcomes function what is on the events queue.
func (a *aftermath) apply(ctx context.Context, m *metering.Meter, u *metering.Units) (writes float64, err error) {
	tasks, err := take[campaign.EventTask](a.events)
	if err != nil {
		return 0, err
	}
	for group := range slices.Chunk(tasks, eventsPerCall) {
		started := cpuTime()
		if err := errors.Join(a.applier.Handle(ctx, group)...); err != nil {
			return 0, err
		}
		calls := m.Take()
		writes += serve(u, calls, len(group), outcomesGB, time.Duration(metering.Depth(calls))*metering.AWSRoundTrip, cpuTime()-started)
	}
	return writes, nil
}

// feed gives the feed function what is new of the batch, which costs nothing to read from
// a stream.
func (a *aftermath) feed(ctx context.Context, m *metering.Meter, b campaign.Batch, u *metering.Units) error {
	entries, err := a.store.Entries(ctx, b.Key, a.fed, campaign.MaxChanges)
	if err != nil {
		return err
	}
	a.fed += len(entries)
	m.Take()
	for group := range slices.Chunk(entries, eventsPerCall) { // as outcomes recorded them
		started := cpuTime()
		if err := a.feeder.Handle(ctx, []ledger.Fresh{{Key: b.Key, Entries: group}}); err != nil {
			return err
		}
		calls := m.Take()
		u.Add(metering.Sum(calls))
		u.Invocations++
		u.GBSeconds += seconds(feedGB, time.Duration(metering.Depth(calls))*metering.AWSRoundTrip, cpuTime()-started)
	}
	return nil
}

// notify gives the notify function what is on its queue.
func (a *aftermath) notify(ctx context.Context, m *metering.Meter, u *metering.Units) (writes float64, err error) {
	tasks, err := take[campaign.NotifyMessage](a.deliveries)
	if err != nil {
		return 0, err
	}
	for group := range slices.Chunk(tasks, deliveriesPerCall) {
		started, before := cpuTime(), a.posts.Load()
		if err := errors.Join(a.notifier.HandleMessages(ctx, group)...); err != nil {
			return 0, err
		}
		calls := m.Take()
		rounds := (a.posts.Load() - before + metering.PostsAtOnce - 1) / metering.PostsAtOnce
		waited := time.Duration(metering.Depth(calls))*metering.AWSRoundTrip + time.Duration(rounds)*metering.WebhookRoundTrip
		writes += serve(u, calls, len(group), notifyGB, waited, cpuTime()-started)
	}
	return writes, nil
}

// serve counts a function call by a queue that brings so many messages.
func serve(u *metering.Units, calls []metering.Call, messages int, gigabytes float64, waited, cpu time.Duration) (writes float64) {
	before := u.AllWrites()
	u.Add(metering.Sum(calls))
	u.Invocations++
	u.SQSRequests += metering.Polling(1, float64(messages))
	u.GBSeconds += seconds(gigabytes, waited, cpu)
	return u.AllWrites() - before
}

// seconds are the gigabyte-seconds of a call that waits and computes, the latter
// with the share of a processor that its memory gives it.
func seconds(gigabytes float64, waited, cpu time.Duration) float64 {
	return metering.GBSeconds(gigabytes, waited.Seconds(), cpu.Seconds())
}
