package e2e_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/sink"
)

const campaignsPath = "/api/v1/external/campaigns/"

// receiveEvents registers the webhook of the tenant's agent at the provider.
func (c *client) receiveEvents() *client {
	c.t.Helper()
	tenant, err := c.store().Tenant(c.t.Context(), c.env["TENANT"])
	must(c.t, err)
	agent, err := c.store().Agent(c.t.Context(), tenant.AgentID)
	must(c.t, err)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/webhook", map[string]string{
		"agentId": agent.ID, "url": c.env["EVENTS_URL"] + "/" + agent.ID, "clientToken": agent.WebhookToken,
	}, nil)
	return c.with("AGENT_ID", agent.ID)
}

// sendEvent makes the provider send an event.
func (c *client) sendEvent(event fields) {
	c.t.Helper()
	event["agentId"] = c.env["AGENT_ID"]
	c.control(http.MethodPost, c.env["RCS_URL"]+"/_sim/events", event, nil)
}

// receiver is a webhook endpoint of a tenant. By default it receives all kinds except
// campaign.completed.
type receiver struct {
	c       *client
	id      string
	address string
}

func (c *client) receiver(kinds ...string) receiver {
	c.t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	s, err := sink.New(secret, time.Now)
	must(c.t, err)
	server := httptest.NewServer(s)
	c.t.Cleanup(server.Close)
	e := delivery.Endpoint{ID: random.UUID(), Tenant: c.env["TENANT"], URL: server.URL + "/webhooks", Secret: secret, Kinds: kinds}
	must(c.t, c.store().SaveEndpoint(c.t.Context(), e))
	return receiver{c, e.ID, server.URL}
}

// refuse makes the receiver return 503 to everything, or accept everything again.
func (r receiver) refuse(on bool) {
	r.c.t.Helper()
	behaviour := map[string]int{}
	if on {
		behaviour = map[string]int{"failNext": 1 << 30, "status": http.StatusServiceUnavailable}
	}
	r.c.control(http.MethodPut, r.address+"/_sink/behaviour", behaviour, nil)
}

// posts returns all received webhooks, including refused ones.
func (r receiver) posts() []sink.Event {
	r.c.t.Helper()
	var all []sink.Event
	r.c.control(http.MethodGet, r.address+"/_sink/events", nil, &all)
	return all
}

// webhookMessage is the body of a webhook.
type webhookMessage struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      struct {
		CampaignID string `json:"campaignId"`
		Batch      string `json:"batch"`
		UID        string `json:"uid"`
		Phone      string `json:"phone"`
		MessageID  string `json:"messageId"`
		Sequence   int    `json:"sequence"`
		Code       string `json:"code"`
		Reason     string `json:"reason"`
		Text       string `json:"text"`

		Suggestion *campaign.TappedSuggestion `json:"suggestion"`
	} `json:"data"`
}

// accepted returns the accepted webhooks by id. It fails the test if a signature is invalid
// or a repeated webhook has another body.
func (r receiver) accepted() map[string]webhookMessage {
	r.c.t.Helper()
	webhooks, bodies := map[string]webhookMessage{}, map[string]string{}
	for _, post := range r.posts() {
		id := post.Headers["webhook-id"]
		if !post.Verified {
			r.c.t.Fatalf("the signature of webhook %s is invalid", id)
		}
		if before, again := bodies[id]; again && before != post.Body {
			r.c.t.Fatalf("webhook %s has two different bodies:\n%s\n%s", id, before, post.Body)
		}
		bodies[id] = post.Body
		var m webhookMessage
		must(r.c.t, json.Unmarshal([]byte(post.Body), &m))
		if m.ID != id {
			r.c.t.Fatalf("webhook %s has the id %s in its body", id, m.ID)
		}
		if post.Status < http.StatusMultipleChoices {
			webhooks[id] = m
		}
	}
	return webhooks
}

// kinds returns the number of accepted webhooks by kind.
func (r receiver) kinds() map[string]int {
	r.c.t.Helper()
	n := map[string]int{}
	for _, l := range r.accepted() {
		n[l.Type]++
	}
	return n
}

// report is a campaign in the API.
type report struct {
	Status       string
	PausedAt     time.Time
	Accepted     int
	Tapped       int
	Clicked      int
	Counts       map[string]int
	Cancellation struct{ Stopped, Revoked, TooLate int }
	Batches      []struct {
		BatchID  string
		Status   string
		Schedule string
		Accepted int
		Counts   map[string]int
	}
}

// fetch decodes a resource of the API.
func (c *client) fetch(path string, into any) {
	c.t.Helper()
	got := c.do(http.MethodGet, path, nil, "Authorization", "Bearer "+c.token())
	if got.status != http.StatusOK {
		c.t.Fatalf("GET %s: %d %s", path, got.status, got.body)
	}
	must(c.t, json.Unmarshal(got.body, into))
}

func campaignPath(call fields) string { return campaignsPath + call["campaignId"].(string) }

// read returns the campaign of a call. It fails the test if the counts do not add up to the
// accepted messages.
func (c *client) read(call fields) report {
	c.t.Helper()
	var r report
	c.fetch(campaignPath(call), &r)
	sum := 0
	for _, n := range r.Counts {
		sum += n
	}
	if sum != r.Accepted {
		c.t.Fatalf("%d messages accepted, and the counts add up to %d: %v", r.Accepted, sum, r.Counts)
	}
	for state, n := range r.Counts {
		if n == 0 {
			delete(r.Counts, state)
		}
	}
	return r
}

// fate is a message in the API.
type fate struct{ MessageID, UID, Phone, Status, Code string }

// fates returns the campaign's messages by uid.
func (c *client) fates(call fields, query string) map[string]fate {
	c.t.Helper()
	all := map[string]fate{}
	for next := ""; ; {
		var page struct {
			Messages   []fate
			NextCursor string
		}
		c.fetch(campaignPath(call)+"/messages?limit=200"+query+next, &page)
		for _, m := range page.Messages {
			all[m.UID] = m
		}
		if page.NextCursor == "" {
			return all
		}
		next = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
}

// change is an entry of a batch's log.
type change struct {
	ID       string
	Sequence int
	Type     string
	UID      string
	Status   string
}

// log returns the concatenated logs of the campaign's batches.
func (c *client) log(call fields) []change {
	c.t.Helper()
	var all []change
	for _, b := range c.read(call).Batches {
		all = append(all, c.batchLog(call, b.BatchID)...)
	}
	return all
}

// batchLog returns the log of a batch. It fails the test if the sequence has a gap.
func (c *client) batchLog(call fields, batch string) []change {
	c.t.Helper()
	var all []change
	for after, more := 0, true; more; {
		var page struct {
			Events    []change
			NextAfter int
			More      bool
		}
		c.fetch(fmt.Sprintf("%s/batches/%s/events?limit=300&after=%d", campaignPath(call), url.PathEscape(batch), after), &page)
		all = append(all, page.Events...)
		after, more = page.NextAfter, page.More
	}
	for i, e := range all {
		if e.Sequence != i+1 {
			c.t.Fatalf("entry %d of the log has sequence %d", i+1, e.Sequence)
		}
	}
	return all
}

// awaitAll waits until the receiver has accepted a webhook for every change of the campaign. It reads the campaign's log
// again once the webhooks of the changes that it knows are there.
func (r receiver) awaitAll(within time.Duration, call fields) {
	r.c.t.Helper()
	var log []change
	sweeps := pace{time.Now()}
	r.c.eventually(within, "webhooks received", func() bool {
		if r.receivedAll(log) {
			if log = r.c.log(call); r.receivedAll(log) {
				return true
			}
		}
		if sweeps.due() {
			r.c.sweepAll()
		}
		return false
	})
}

// receivedAll reports whether the receiver has accepted a webhook for every change.
func (r receiver) receivedAll(log []change) bool {
	r.c.t.Helper()
	webhooks := r.accepted()
	for _, e := range log {
		if _, ok := webhooks[e.ID]; !ok {
			return false
		}
	}
	return true
}

// checkReceived fails the test unless the receiver has one webhook for each change, with the
// same content.
func (r receiver) checkReceived(log []change) {
	r.c.t.Helper()
	webhooks := r.accepted()
	for _, e := range log {
		l := webhooks[e.ID]
		if l.Type != e.Type || l.Data.Sequence != e.Sequence || l.Data.UID != e.UID {
			r.c.t.Errorf("the log has %+v, the webhook %+v", e, l)
		}
	}
	if len(webhooks) != len(log) {
		r.c.t.Errorf("%d webhooks for %d changes", len(webhooks), len(log))
	}
}

// withFate returns a fate for the numbers of all messages.
func withFate(messages []fields, fate string) map[string]string {
	fates := map[string]string{}
	for _, m := range messages {
		fates[m["phone"].(string)] = fate
	}
	return fates
}

// command posts to a resource of the API.
func (c *client) command(path string, body fields) reply {
	c.t.Helper()
	text, err := json.Marshal(body)
	must(c.t, err)
	return c.do(http.MethodPost, path, text, "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
}
