package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/testsize"
)

// Messages reach their outcomes in any order of the provider's events.
func TestOutcomes_AnyOrder(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	sink := c.receiver()
	all := messages(6)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all, "undelivered"), nil)
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != len(all) {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "sent", func() bool { return c.read(call).Counts["sent"] == len(all) })
	orders := map[string]struct {
		events []string
		ends   string
	}{
		"u-0": {[]string{"READ"}, "read"},
		"u-1": {[]string{"READ", "DELIVERED"}, "read"},
		"u-2": {[]string{"TTL_EXPIRATION_REVOKED"}, "expired"},
		"u-3": {[]string{"TTL_EXPIRATION_REVOKED", "DELIVERED"}, "delivered"},
		"u-4": {[]string{"DELIVERED", "TTL_EXPIRATION_REVOKED", "DELIVERED"}, "delivered"},
		"u-5": {[]string{"TTL_EXPIRATION_REVOKE_FAILED", "DELIVERED", "IS_TYPING"}, "delivered"},
	}
	messages := c.fates(call, "")

	for round := range 3 {
		want := map[string]string{}
		for uid, order := range orders {
			if round < len(order.events) {
				m := messages[uid]
				c.sendEvent(fields{"phone": m.Phone, "eventType": order.events[round], "messageId": m.MessageID})
			}
			if round+1 >= len(order.events) {
				want[uid] = order.ends
			}
		}
		c.eventually(5*time.Minute, "outcomes as in the events", func() bool {
			now := c.fates(call, "")
			for uid, status := range want {
				if now[uid].Status != status {
					return false
				}
			}
			return true
		})
	}

	sink.awaitAll(5*time.Minute, call)
	sink.checkReceived(c.log(call))
	if diff := cmp.Diff(map[string]int{"read": 2, "expired": 1, "delivered": 3}, c.read(call).Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// expected returns the status of the message with the uid. The first messages fail and the
// next ones are not delivered.
func expected(uid string, failing, silent int) string {
	var i int
	if _, err := fmt.Sscanf(uid, "u-%d", &i); err != nil {
		return ""
	}
	switch {
	case i < failing:
		return "failed"
	case i < failing+silent:
		return "sent"
	}
	return "read"
}

// A campaign without reachable numbers is completed after the last failure.
func TestOutcomes_AllUnreachable(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	hook := c.receiver("campaign.completed")
	all := messages(3)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all, "unreachable"), nil)
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != len(all) {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "webhook received", func() bool { return len(hook.accepted()) > 0 })
	for _, m := range hook.accepted() {
		if m.Type != "campaign.completed" || m.Data.CampaignID != call["campaignId"] {
			t.Errorf("webhook %+v, want campaign.completed of the campaign", m)
		}
	}
}

// An endpoint that is down receives only probes and does not delay others. After its
// recovery it receives all webhooks.
func TestWebhooks_EndpointOutage(t *testing.T) {
	t.Parallel()
	total := testsize.Of(40, 100)
	down, other := newClient(t).ownTenant().receiveEvents(), newClient(t).ownTenant().receiveEvents()
	failing, healthy := down.receiver(), other.receiver()
	failing.refuse(true)
	call := down.call(messages(total))
	if got := down.dispatch(call); got.Accepted != total {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	circuit := func() delivery.Circuit {
		state, err := down.store().Circuit(t.Context(), down.env["TENANT"], failing.id)
		must(t, err)
		return state
	}
	down.eventually(5*time.Minute, "circuit open", func() bool { return circuit().Open() })

	down.eventually(5*time.Minute, "read", func() bool { return down.read(call).Counts["read"] == total })
	opened := circuit().Probes
	down.eventually(5*time.Minute, "a probe after the calls that had read the circuit before it opened", func() bool { return circuit().Probes > opened })
	before, probes := len(failing.posts()), circuit().Probes
	others := other.call(messages(total))
	start := time.Now()
	if got := other.dispatch(others); got.Accepted != total {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	other.eventually(5*time.Minute, "the other tenant's read", func() bool { return other.read(others).Counts["read"] == total })
	healthy.awaitAll(5*time.Minute, others)
	waited := time.Since(start)
	posts := len(failing.posts()) - before
	if most := circuit().Probes - probes + 1; posts > most {
		t.Errorf("%d posts to the failing endpoint, want at most %d probes", posts, most)
	}
	t.Logf("%d posts while %d changes were pending; the other tenant had its webhooks after %v", len(failing.posts()), len(down.log(call)), waited)

	failing.refuse(false)

	failing.awaitAll(3*time.Minute, call)
	failing.checkReceived(down.log(call))
}

// The service does not post webhooks to private addresses and does not follow redirects.
func TestWebhooks_RefusedAddresses(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	for _, address := range []string{
		"https://127.0.0.1/", "https://169.254.169.254/latest/meta-data", "https://[::ffff:10.0.0.1]/", "https://2130706433/",
		"https://0x7f.1/", "https://10.0.0.1/", "https://100.64.0.1/", "https://localhost/", "https://[::1]/", "https://[fe80::1]/",
		"http://example.com/", c.env["WEBHOOK_SINK_URL"],
	} {
		if _, err := c.service().CreateEndpoint(t.Context(), c.env["TENANT"], address, nil); err == nil {
			t.Errorf("%s was registered, want an error", address)
		}
	}

	elsewhere := c.receiver("message.replied") // never sent in this test
	moved := redirector(t, elsewhere.address+"/webhooks")
	endpoints := map[string]string{ // stored without the check at registration, as if a DNS name changed its address
		random.UUID(): "http://169.254.169.254/latest/meta-data", random.UUID(): "http://[::ffff:10.0.0.1]/", random.UUID(): "http://0.0.0.0:80/", random.UUID(): moved,
	}
	for id, address := range endpoints {
		e := delivery.Endpoint{ID: id, Tenant: c.env["TENANT"], URL: address, Secret: "whsec_c2VjcmV0"}
		must(t, c.store().SaveEndpoint(t.Context(), e))
	}
	if got := c.dispatch(c.call(messages(1))); got.Accepted != 1 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	for id, address := range endpoints {
		want := "address_refused"
		if address == moved {
			want = "status_307"
		}
		var failures []delivery.Failure
		c.eventually(5*time.Minute, "a failure of "+address, func() bool {
			var err error
			failures, err = c.store().Failures(t.Context(), c.env["TENANT"], id, 10)
			must(t, err)
			return len(failures) > 0
		})
		if failures[0].Code != want {
			t.Errorf("the post to %s failed with %s, want %s", address, failures[0].Code, want)
		}
	}
	if n := len(elsewhere.posts()); n > 0 {
		t.Errorf("%d redirects were followed, want none", n)
	}
}

// redirector returns the address of a server that redirects every request to target.
func redirector(t *testing.T, target string) string {
	t.Helper()
	server := httptest.NewServer(http.RedirectHandler(target, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	return server.URL
}

// A batch that has failed for almost 72 hours expires at the provider's next error.
func TestSend_ProviderRefusesUntilExpiry(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	hook := c.receiver("message.failed", "campaign.completed")
	all := messages(3)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all, "down"), nil)
	call := c.call(all)
	b := c.acceptWithoutRelease(call)
	almost := campaign.FailingTime{For: campaign.MaxFailingTime - time.Second, At: time.Now().Add(-10 * time.Second)}
	counted, err := c.store().SetFailingTime(t.Context(), b, almost)
	must(t, err)
	if !counted {
		t.Fatal("the batch has a failure time already")
	}
	c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: b.BatchRef})

	c.eventually(5*time.Minute, "webhooks received", func() bool {
		c.sweep(b.BatchRef)
		kinds := hook.kinds()
		return kinds["message.failed"] == len(all) && kinds["campaign.completed"] == 1
	})

	for _, l := range hook.accepted() {
		if l.Type == "message.failed" && (l.Data.Code != "not_sent_in_time" || l.Data.Reason == "") {
			t.Errorf("webhook %+v, want code not_sent_in_time and a reason", l.Data)
		}
	}
	if got := c.read(call); got.Status != "completed" || got.Counts["failed"] != len(all) {
		t.Errorf("campaign %+v, want completed with all messages failed", got)
	}
}
