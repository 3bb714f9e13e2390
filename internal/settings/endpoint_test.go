package settings_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

func TestCreateEndpoint(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://hooks.example.com:8443/rcs?x=1", []string{"message.sent", "message.failed", "message.sent"})
	if err != nil {
		t.Fatal(err)
	}
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(made.Secret, "whsec_"))
	if err != nil || len(secret) != 32 {
		t.Errorf("the secret holds %d bytes, %v; want 32", len(secret), err)
	}
	want := delivery.Endpoint{
		ID: made.ID, Tenant: b.tenant, URL: "https://hooks.example.com:8443/rcs?x=1", Secret: made.Secret, Kinds: []string{"message.failed", "message.sent"},
	}
	kept, err := b.store.Endpoints(ctx, b.tenant)
	if diff := cmp.Diff([]delivery.Endpoint{want}, kept); diff != "" || err != nil {
		t.Errorf("endpoints %v (-want +got):\n%s", err, diff)
	}
}

func TestCreateEndpoint_Addresses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for address, says := range map[string]string{
		"https://example.com":                      "",
		"https://93.184.216.34/hook":               "",
		"https://[2606:2800:220:1::1]/hook":        "",
		"https://1e100.net/":                       "",
		"":                                         "malformed",
		"example.com/hook":                         "malformed",
		"https:///hook":                            "malformed",
		"https://exa mple.com":                     "malformed",
		"http://example.com":                       "https://",
		"ftp://example.com":                        "https://",
		"https://SECRET:SECRET@example.com":        "user name",
		"https://example.com/#SECRET":              "#fragment",
		"https://example.com/" + long:              "characters",
		"https://localhost/SECRET":                 "public",
		"https://LOCALHOST./":                      "public",
		"https://api.localhost/":                   "public",
		"https://intranet/":                        "public",
		"https://db.internal/":                     "public",
		"https://printer.local/":                   "public",
		"https://127.0.0.1/":                       "public",
		"https://10.1.2.3/":                        "public",
		"https://172.16.0.1/":                      "public",
		"https://192.168.0.1/":                     "public",
		"https://169.254.169.254/latest/meta-data": "public",
		"https://100.64.0.1/":                      "public",
		"https://0.0.0.0/":                         "public",
		"https://255.255.255.255/":                 "public",
		"https://224.0.0.1/":                       "public",
		"https://2130706433/":                      "public",
		"https://0x7f000001/":                      "public",
		"https://0177.0.0.1/":                      "public",
		"https://127.1/":                           "public",
		"https://[::1]/":                           "public",
		"https://[::]/":                            "public",
		"https://[::ffff:127.0.0.1]/":              "public",
		"https://[::ffff:a9fe:a9fe]/":              "public",
		"https://[fe80::1%25eth0]/":                "public",
		"https://[fd00:ec2::254]/":                 "public",
		"https://[64:ff9b::7f00:1]/":               "public",
		"https://[2002:7f00:1::]/":                 "public",
	} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			_, err := b.CreateEndpoint(t.Context(), b.tenant, address, nil)
			if says == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			refused(t, err, says, "SECRET")
		})
	}
}

var long = strings.Repeat("a", 2000)

func TestCreateEndpoint_LocalWebhooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.LocalWebhooks = true
	for _, address := range []string{"http://127.0.0.1:3002/hook", "https://localhost/", "http://[::1]:3002/", "https://example.com"} {
		if _, err := b.CreateEndpoint(t.Context(), b.tenant, address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"https://192.168.0.1", "https://10.0.0.1/", "https://169.254.169.254/", "https://127.0.0.1.internal/", "https://printer/"} {
		_, err := b.CreateEndpoint(t.Context(), b.tenant, address, nil)
		refused(t, err, "public")
	}
	_, err := b.CreateEndpoint(t.Context(), b.tenant, "http://example.com/", nil)
	refused(t, err, "https://")
	_, err = b.CreateEndpoint(t.Context(), b.tenant, "ftp://127.0.0.1/", nil)
	refused(t, err, "https://")
}

func TestCreateEndpoint_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.CreateEndpoint(t.Context(), b.tenant, "https://example.com", []string{"message.sent", "delivered"})
	refused(t, err, `unknown event kind "delivered"`)
	_, err = b.CreateEndpoint(t.Context(), randomID(), "https://example.com", nil)
	refused(t, err, "does not exist")
}

func TestRotateEndpoint(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	rotated, err := b.RotateEndpoint(ctx, b.tenant, made.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := made
	want.Secret, want.PreviousSecret, want.PreviousUntil = rotated.Secret, made.Secret, now.Add(time.Hour)
	kept, err := b.store.Endpoint(ctx, b.tenant, made.ID)
	if diff := cmp.Diff(want, kept, cmpopts.EquateEmpty()); diff != "" || err != nil || rotated.Secret == made.Secret {
		t.Errorf("endpoint %v (-want +got):\n%s", err, diff)
	}
	_, err = b.RotateEndpoint(ctx, b.tenant, made.ID, -time.Second)
	refused(t, err, "cannot stay valid")
	_, err = b.RotateEndpoint(ctx, b.tenant, "nobody", 0)
	refused(t, err, "no endpoint")
}

func TestEndpoint_DisableAndEnable(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DisableEndpoint(ctx, b.tenant, made.ID); err != nil {
		t.Fatal(err)
	}
	off, err := b.store.Endpoint(ctx, b.tenant, made.ID)
	if err != nil || off.OffReason != "operator" || !off.OffAt.Equal(now) || off.Subscribes(delivery.KindSent) {
		t.Errorf("endpoint %+v, %v; want it disabled without deliveries", off, err)
	}
	_, err = b.ResendDead(ctx, b.tenant, made.ID, time.Time{}, 1000)
	refused(t, err, "enable it first")
	for range 2 {
		if err := b.EnableEndpoint(ctx, b.tenant, made.ID); err != nil {
			t.Fatal(err)
		}
	}
	on, err := b.store.Endpoint(ctx, b.tenant, made.ID)
	if diff := cmp.Diff(made, on, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("endpoint %v (-want +got):\n%s", err, diff)
	}
	refused(t, b.EnableEndpoint(ctx, b.tenant, "nobody"), "no endpoint")
	refused(t, b.DisableEndpoint(ctx, randomID(), made.ID), "no endpoint")
	_, err = b.ResendDead(ctx, b.tenant, "nobody", time.Time{}, 1000)
	refused(t, err, "no endpoint")
}

func TestResendDead(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	dead := delivery.Delivery{
		Tenant: b.tenant, EndpointID: made.ID, Kind: delivery.KindReplied, Blob: "events/a/b", Attempt: 10, Dead: true, Pending: []int{0}, Next: now,
	}.Identified()
	if err := b.store.AddDeliveries(ctx, []delivery.Delivery{dead}); err != nil {
		t.Fatal(err)
	}
	if n, err := b.ResendDead(ctx, b.tenant, made.ID, time.Time{}, 1000); n != 1 || err != nil {
		t.Errorf("resent %d, %v; want 1", n, err)
	}
	want := dead
	want.Dead, want.Attempt = false, 0
	got, err := b.store.Delivery(ctx, dead.Task())
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("notice %v (-want +got):\n%s", err, diff)
	}
	if n, err := b.ResendDead(ctx, b.tenant, made.ID, time.Time{}, 1000); n != 0 || err != nil {
		t.Errorf("resent %d once more, %v", n, err)
	}
}

// twoDead is a store that returns at most two dead deliveries per page.
type twoDead struct{ *dynamotest.Store }

func (s twoDead) DeadDeliveries(ctx context.Context, tenant, endpointID string, since time.Time, limit int) ([]delivery.NotifyTask, error) {
	return s.Store.DeadDeliveries(ctx, tenant, endpointID, since, min(limit, 2))
}

func TestResendDead_ManyPages(t *testing.T) {
	t.Parallel()
	const all = 7
	b, ctx := newBench(t), t.Context()
	b.Store.Webhooks = twoDead{b.store}
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		n := delivery.Delivery{
			Tenant: b.tenant, EndpointID: made.ID, Kind: delivery.KindReplied, Blob: fmt.Sprintf("events/a/%03d", i),
			Attempt: 10, Dead: true, Pending: []int{0}, Next: now.Add(time.Duration(i/3) * time.Second), // several at the same time
		}.Identified()
		if err := b.store.AddDeliveries(ctx, []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.ResendDead(ctx, b.tenant, made.ID, time.Time{}, 1000); n != all || err != nil {
		t.Errorf("resent %d, %v; want %d", n, err, all)
	}
	if left, err := b.store.DeadDeliveries(ctx, b.tenant, made.ID, time.Time{}, 1000); len(left) > 0 || err != nil {
		t.Errorf("%d are left, %v", len(left), err)
	}
}

// dying marks each delivery dead again immediately, as notify does when its batch is
// gone.
type dying struct{ *dynamotest.Store }

func (s dying) SaveDelivery(ctx context.Context, read, n delivery.Delivery) (bool, error) {
	if ok, err := s.Store.SaveDelivery(ctx, read, n); !ok || err != nil {
		return ok, err
	}
	dead := n
	dead.Dead, dead.Next = true, read.Next.Add(time.Hour)
	return s.Store.SaveDelivery(ctx, n, dead)
}

func TestResendDead_DeadAgain(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	b.Store.Webhooks = dying{b.store}
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		n := delivery.Delivery{
			Tenant: b.tenant, EndpointID: made.ID, Kind: delivery.KindReplied, Blob: fmt.Sprintf("events/a/%03d", i),
			Attempt: 10, Dead: true, Pending: []int{0}, Next: now.Add(time.Duration(i) * time.Second),
		}.Identified()
		if err := b.store.AddDeliveries(ctx, []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := b.ResendDead(ctx, b.tenant, made.ID, time.Time{}, 1000); n != 3 || err != nil {
		t.Errorf("resent %d, %v; want 3", n, err)
	}
}

func TestResendDead_Since(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, died := range []time.Duration{-3 * time.Hour, -2 * time.Hour, -time.Hour, 0} {
		n := delivery.Delivery{
			Tenant: b.tenant, EndpointID: made.ID, Kind: delivery.KindReplied, Blob: "events/a/" + string(rune('a'+i)),
			Attempt: 10, Dead: true, Next: now.Add(died),
		}.Identified()
		if err := b.store.AddDeliveries(ctx, []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		since time.Duration
		most  int
		want  int
	}{{-2 * time.Hour, 1, 1}, {-2 * time.Hour, 1000, 2}, {-2 * time.Hour, 1000, 0}, {-24 * time.Hour, 1000, 1}} {
		if n, err := b.ResendDead(ctx, b.tenant, made.ID, now.Add(step.since), step.most); n != step.want || err != nil {
			t.Errorf("since %s, %d at most: resent %d, %v; want %d", step.since, step.most, n, err, step.want)
		}
	}
}

func TestResendOne(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	fresh := delivery.Delivery{
		Tenant: b.tenant, EndpointID: made.ID, Kind: delivery.KindReplied, Blob: "events/a/b", Next: now, ExpiresAt: now.Add(campaign.FailureLife),
	}.Identified()
	f := delivery.Failure{Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_a", Kind: fresh.Kind, Blob: fresh.Blob, At: now, Task: fresh.Task()}
	if err := b.store.RecordFailure(ctx, f); err != nil {
		t.Fatal(err)
	}
	again := func() delivery.Delivery {
		t.Helper()
		if waiting, err := b.ResendOne(ctx, b.tenant, made.ID, "msg_a", now); err != nil || waiting {
			t.Fatal(waiting, err)
		}
		n, err := b.store.Delivery(ctx, fresh.Task())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if diff := cmp.Diff(fresh, again()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	dead, parked := fresh, fresh
	dead.Dead, dead.Attempt = true, 10
	parked.Parked, parked.Next = true, now.Add(-time.Minute)
	for _, step := range []struct{ was, want delivery.Delivery }{{dead, fresh}, {parked, parked}} {
		if ok, err := b.store.SaveDelivery(ctx, fresh, step.was); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if diff := cmp.Diff(step.want, again()); diff != "" {
			t.Errorf("after %+v (-want +got):\n%s", step.was, diff)
		}
	}
	if _, err := b.ResendOne(ctx, b.tenant, made.ID, "msg_b", now); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a webhook that never failed: %v, want not found", err)
	}
	if err := b.DisableEndpoint(ctx, b.tenant, made.ID); err != nil {
		t.Fatal(err)
	}
	_, err = b.ResendOne(ctx, b.tenant, made.ID, "msg_a", now)
	refused(t, err, "disabled")
}

func TestCreateEndpoint_Limit(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	for range settings.MaxEndpoints {
		if _, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	refused(t, err, "20 endpoints, the maximum")
}

func TestCreateEndpoint_ConcurrentCalls(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	errs := make([]error, 60)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil) })
	}
	all.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
			continue
		}
		refused(t, err, "the tenant has 20 endpoints, the maximum: disabled endpoints count too")
	}
	kept, err := b.store.Endpoints(ctx, b.tenant)
	if err != nil || made != settings.MaxEndpoints || len(kept) != made {
		t.Errorf("%d calls created an endpoint, %d exist, %v; want %d", made, len(kept), err, settings.MaxEndpoints)
	}
}

// The limit counts endpoints that were saved without the row for which concurrent calls
// compete.
func TestCreateEndpoint_SavedEndpoints(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	addAsBefore := func() {
		t.Helper()
		if err := b.store.SaveEndpoint(ctx, delivery.Endpoint{ID: randomID(), Tenant: b.tenant, URL: "https://example.com", Secret: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	for range settings.MaxEndpoints - 3 {
		addAsBefore()
	}
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	addAsBefore()
	if _, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.DisableEndpoint(ctx, b.tenant, made.ID); err != nil {
		t.Fatal(err)
	}
	_, err = b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	refused(t, err, "20 endpoints, the maximum")
}

func TestChangeKinds(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.ChangeKinds(ctx, b.tenant, made.ID, []string{"message.sent", "message.failed", "message.sent"}); err != nil {
		t.Fatal(err)
	}
	got, err := b.store.Endpoint(ctx, b.tenant, made.ID)
	if diff := cmp.Diff([]string{"message.failed", "message.sent"}, got.Kinds); diff != "" || err != nil {
		t.Errorf("kinds %v (-want +got):\n%s", err, diff)
	}
	refused(t, b.ChangeKinds(ctx, b.tenant, made.ID, []string{"sent"}), "unknown event kind")
	refused(t, b.ChangeKinds(ctx, randomID(), made.ID, nil), "no endpoint")
}

// A failing endpoint receives only probes. Resent deliveries wait for a probe, which is
// scheduled soon.
func TestResend_FailingEndpoint(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	made, err := b.CreateEndpoint(ctx, b.tenant, "https://example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	f := delivery.Failure{Tenant: b.tenant, EndpointID: made.ID, WebhookID: "msg_a", Kind: delivery.KindReplied, At: now}
	for i, n := range []delivery.Delivery{{Parked: true, Next: now}, {Parked: true, Next: now}, {Dead: true, Attempt: 9, Next: now}} {
		n.Tenant, n.EndpointID, n.Kind, n.Blob = b.tenant, made.ID, delivery.KindReplied, "events/a/"+string(rune('a'+i))
		n = n.Identified()
		f.Task = n.Task()
		if err := b.store.AddDeliveries(ctx, []delivery.Delivery{n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.RecordFailure(ctx, f); err != nil {
		t.Fatal(err)
	}
	opened := delivery.Circuit{Tenant: b.tenant, EndpointID: made.ID, Since: now.Add(-time.Hour), Probes: 7, Next: now.Add(2 * time.Hour)}
	if ok, err := b.store.SaveCircuit(ctx, opened); !ok || err != nil {
		t.Fatal(ok, err)
	}
	sent, err := b.ResendFailed(ctx, b.tenant, made.ID, now.Add(-time.Hour), 100)
	if diff := cmp.Diff(delivery.Resent{Parked: 3}, sent); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	want := opened
	want.Next, want.Version = now, 2
	if c, err := b.store.Circuit(ctx, b.tenant, made.ID); !cmp.Equal(want, c) || err != nil {
		t.Errorf("the circuit is %+v, %v", c, err)
	}
	if waiting, err := b.ResendOne(ctx, b.tenant, made.ID, "msg_a", now); !waiting || err != nil {
		t.Errorf("one waits: %v, %v", waiting, err)
	}
	if c, err := b.store.Circuit(ctx, b.tenant, made.ID); c.Version != 2 || err != nil {
		t.Errorf("a probe that is due was written again: %+v, %v", c, err)
	}
}
