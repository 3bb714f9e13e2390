package dynamo_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/webhook/delivery"
)

func TestAddPosts(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminStore(t), t.Context(), randomID()
	for _, c := range []struct {
		at            time.Duration
		taken, failed int
	}{{0, 250, 0}, {59 * time.Minute, 3, 2}, {-time.Minute, 7, 0}, {-25 * time.Hour, 9, 9}} {
		if err := store.AddPosts(ctx, tenant, adminNow.Add(c.at), map[string]delivery.PostCount{"a": {Accepted: c.taken, Failed: c.failed}}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.HourlyPosts(ctx, tenant, "a", adminNow.Add(-24*time.Hour))
	want := []delivery.HourlyPosts{{Hour: adminNow.Add(-time.Hour), Accepted: 7}, {Hour: adminNow, Accepted: 253, Failed: 2}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("posts %v (-want +got):\n%s", err, diff)
	}
	if other, err := store.HourlyPosts(ctx, tenant, "b", time.Time{}); len(other) > 0 || err != nil {
		t.Errorf("another endpoint has %v, %v", other, err)
	}
}

func TestRecordFailure(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminStore(t), t.Context(), randomID()
	entry := delivery.Failure{
		Tenant: tenant, EndpointID: "e", WebhookID: "msg_a", Kind: delivery.KindRead, MessageID: "m", Status: 500, Code: "status_500",
		Attempt: 2, At: adminNow, Took: 1200 * time.Millisecond, Entry: []byte("entry"),
		Task: delivery.NotifyTask{Tenant: tenant, EndpointID: "e", DeliveryID: "n"},
	}
	reply := delivery.Failure{
		Tenant: tenant, EndpointID: "e", WebhookID: "msg_b", Kind: delivery.KindReplied, Code: "timeout", At: adminNow.Add(time.Second),
		Task: delivery.NotifyTask{Tenant: tenant, EndpointID: "e", DeliveryID: "m"}, Blob: "events/x", Kept: true,
	}
	for _, f := range []delivery.Failure{entry, reply} {
		if err := store.RecordFailure(ctx, f); err != nil {
			t.Fatal(err)
		}
	}
	all, err := store.Failures(ctx, tenant, "e", 10)
	if diff := cmp.Diff([]delivery.Failure{reply, entry}, all); diff != "" || err != nil {
		t.Errorf("failures %v (-want +got):\n%s", err, diff)
	}
	one, err := store.Failure(ctx, tenant, "e", "msg_a", adminNow)
	if diff := cmp.Diff(entry, one); diff != "" || err != nil {
		t.Errorf("failure %v (-want +got):\n%s", err, diff)
	}
	if _, err := store.Failure(ctx, tenant, "e", "msg_a", adminNow.Add(time.Second)); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a failure of another time: %v, want not found", err)
	}
}

// A failure has the ID of its message as text, a kept post has it packed. Both are found.
func TestAboutAMessage(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminStore(t), t.Context(), randomID()
	for i := range 2 {
		id, at := campaign.BatchKey{1}.MessageID(i), adminNow.Add(time.Duration(i)*time.Second)
		must(t, store.RecordFailure(ctx, delivery.Failure{Tenant: tenant, EndpointID: "e", WebhookID: "msg_a", Kind: delivery.KindRead, MessageID: id, At: at}))
		must(t, store.KeepPost(ctx, delivery.KeptPost{Tenant: tenant, EndpointID: "e", WebhookID: "msg_b", Kind: delivery.KindRead, MessageID: id, At: at}))
	}
	id := campaign.BatchKey{1}.MessageID(1)
	failures, _, err := store.FailuresAbout(ctx, tenant, "e", id, adminNow.Add(-time.Hour), 10)
	if err != nil || len(failures) != 1 || failures[0].MessageID != id {
		t.Errorf("failures %+v, error %v", failures, err)
	}
	posts, _, err := store.KeptPostsAbout(ctx, tenant, "e", id, adminNow.Add(-time.Hour), 10)
	if err != nil || len(posts) != 1 || posts[0].MessageID != id {
		t.Errorf("posts %+v, error %v", posts, err)
	}
}

func TestUseForm(t *testing.T) {
	t.Parallel()
	store, tenant, token := adminStore(t), randomID(), rand.Text()
	for i, want := range []bool{true, false} {
		if fresh, err := store.UseForm(t.Context(), tenant, token); fresh != want || err != nil {
			t.Errorf("use %d: %t, %v; want %t", i+1, fresh, err, want)
		}
	}
	if fresh, err := store.UseForm(t.Context(), randomID(), token); !fresh || err != nil {
		t.Errorf("another tenant's form: %t, %v; want its own", fresh, err)
	}
}

func TestLastUsed(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminAuth(adminStore(t)), t.Context(), randomID()
	var ids []string
	for range 130 { // more rows than one read returns
		c := account.Credential{ClientID: "rcs_" + randomID(), Tenant: tenant, Name: "crm", SecretHash: []byte("hash"), CreatedAt: adminNow, CreatedBy: "a@example.com"}
		if err := store.CreateCredential(ctx, c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ClientID)
	}
	window := authrow.Window{{At: adminNow.Add(-time.Hour), ID: 1}, {At: adminNow, ID: 2}}
	if _, ok, err := store.SwapWindow(ctx, authrow.ClientWindow(ids[7]), nil, window); !ok || err != nil {
		t.Fatal(ok, err)
	}
	used, err := store.LastUsed(ctx, ids)
	if diff := cmp.Diff(map[string]time.Time{ids[7]: adminNow}, used); diff != "" || err != nil {
		t.Errorf("used %v (-want +got):\n%s", err, diff)
	}
	all, err := store.Credentials(ctx, tenant)
	if len(all) != 130 || err != nil || all[0].CreatedBy != "a@example.com" {
		t.Errorf("%d credentials, %v; want 130", len(all), err)
	}
}

func TestSetKinds(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminStore(t), t.Context(), randomID()
	e := delivery.Endpoint{ID: "a", Tenant: tenant, URL: "https://a.example", Secret: "whsec_x", Kinds: []string{"message.read"}}
	if err := store.SaveEndpoint(ctx, e); err != nil {
		t.Fatal(err)
	}
	e.Kinds = []string{"message.failed", "message.sent"}
	if ok, err := store.SetKinds(ctx, tenant, "a", e.Kinds); !ok || err != nil {
		t.Fatal(ok, err)
	}
	got, err := store.Endpoint(ctx, tenant, "a")
	equal(t, "endpoint", got, err, e)
	if ok, err := store.SetKinds(ctx, tenant, "b", nil); ok || err != nil {
		t.Errorf("kinds of no endpoint: %t, %v", ok, err)
	}
}
