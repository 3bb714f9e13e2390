package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/reach/optout"
)

// Events signed with one agent's token must not change the data of another agent's tenant.
func TestEvents_SignedForAnotherAgent(t *testing.T) {
	t.Parallel()
	c, attacker := newClient(t).ownTenant().receiveEvents(), newClient(t).ownTenant().receiveEvents()
	all := messages(2)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all, "undelivered"), nil)
	call := c.call(all)
	c.accept(call)
	c.eventually(5*time.Minute, "sent", func() bool { return c.read(call).Counts["sent"] == len(all) })
	sent := c.fates(call, "")
	for _, kind := range []string{"READ", "DELIVERED", "TTL_EXPIRATION_REVOKED", "UNSUBSCRIBE"} {
		attacker.sendEvent(fields{"phone": sent["u-0"].Phone, "eventType": kind, "messageId": sent["u-0"].MessageID})
	}
	attacker.eventually(5*time.Minute, "events accepted", func() bool { return attacker.eventsAccepted() })
	c.sendEvent(fields{"phone": sent["u-1"].Phone, "eventType": "READ", "messageId": sent["u-1"].MessageID})
	c.sendEvent(fields{"phone": sent["u-1"].Phone, "eventType": "UNSUBSCRIBE", "messageId": sent["u-1"].MessageID})
	optOuts := optout.Book{Store: c.store(), Now: time.Now}
	out := func(uid string) bool {
		t.Helper()
		is, _, err := optOuts.Since(t.Context(), c.env["TENANT"], sent[uid].Phone)
		must(t, err)
		return is
	}
	c.eventually(5*time.Minute, "read, and opted out, by its own agent's events", func() bool {
		return c.read(call).Counts["read"] == 1 && out("u-1")
	})
	// The outcomes function has processed the attacker's events, or does so with this task.
	c.runTask("outcomes", reaction.EventTask{
		Kind: reaction.EventRead, EventID: "e", AgentID: attacker.env["AGENT_ID"], MessageID: sent["u-0"].MessageID, At: time.Now(),
	})
	if diff := cmp.Diff(map[string]int{"sent": 1, "read": 1}, c.read(call).Counts); diff != "" || out("u-0") {
		t.Errorf("opted out: %v, want false; counts (-want +got):\n%s", out("u-0"), diff)
	}
}

// eventsAccepted reports whether the service has accepted all events of the tenant's agent.
func (c *client) eventsAccepted() bool {
	c.t.Helper()
	var hooks []struct {
		AgentID        string
		Pending, Posts int
	}
	c.control(http.MethodGet, c.env["RCS_URL"]+"/_sim/webhook", nil, &hooks)
	for _, h := range hooks {
		if h.AgentID == c.env["AGENT_ID"] {
			return h.Posts > 0 && h.Pending == 0
		}
	}
	return false
}

// After a tenant changes its agent, its earlier batches keep the former agent. The
// service still processes that agent's events and replies.
func TestEvents_TenantChangesAgent(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	hook := c.receiver()
	all := messages(1)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(all, "undelivered"), nil)
	call := c.call(all)
	c.accept(call)
	c.eventually(5*time.Minute, "sent", func() bool { return c.read(call).Counts["sent"] == 1 })
	former := c.env["AGENT_ID"]
	must(t, c.store().SaveAgent(t.Context(), campaign.Agent{ID: former + "-2", WebhookToken: "t"}))
	must(t, c.store().SaveTenant(t.Context(), campaign.Tenant{ID: c.env["TENANT"], AgentID: former + "-2"}, nil))
	sent := c.fates(call, "")["u-0"]
	c.sendEvent(fields{"phone": sent.Phone, "eventType": "READ", "messageId": sent.MessageID})
	c.sendEvent(fields{"phone": sent.Phone, "text": "Oi"})
	c.eventually(5*time.Minute, "read", func() bool { return c.read(call).Counts["read"] == 1 })
	c.eventually(5*time.Minute, "webhook of the reply received", func() bool { return hook.kinds()["message.replied"] == 1 })
	if got := c.batch(c.ref(call)).AgentID; got != former {
		t.Errorf("the batch has agent %q, want %q", got, former)
	}
}
