package sim_test

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/sim"
)

const clientToken = "token-of-the-agent"

// webhook is an agent's webhook: it keeps what it was told.
type webhook struct {
	*httptest.Server

	mu     sync.Mutex
	events []told
	forged int
	fail   int // answers that are still to be a 500
}

type told struct {
	SenderPhoneNumber, PhoneNumber, EventType, MessageID, Text, AgentID string
}

func newWebhook(t *testing.T) *webhook {
	t.Helper()
	h := &webhook{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct {
		ClientToken, Secret string
		Message             struct{ Data []byte }
	}
	_ = json.Unmarshal(body, &request)
	if request.ClientToken == clientToken {
		_, _ = io.WriteString(w, request.Secret)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fail > 0 {
		h.fail--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	mac := hmac.New(sha512.New, []byte(clientToken))
	_, _ = mac.Write(request.Message.Data)
	if r.Header.Get("X-Goog-Signature") != base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		h.forged++
	}
	var e told
	_ = json.Unmarshal(request.Message.Data, &e)
	h.events = append(h.events, e)
}

// provided is a simulator in whose time nothing takes long: what is to happen
// later happens when the test says so.
type provided struct {
	*provider

	hook *webhook

	later []delayed
}

type delayed struct {
	after time.Duration
	what  func()
}

func newProvided(t *testing.T) *provided {
	t.Helper()
	p := &provided{hook: newWebhook(t)}
	p.provider = &provider{now: start, chance: 0.5}
	p.Sim = sim.New(sim.Options{
		URL: address, Key: accountKey(),
		Now: func() time.Time { return p.now }, Random: func() float64 { return p.chance },
		After: func(d time.Duration, f func()) { p.later = append(p.later, delayed{d, f}) },
	})
	p.token = p.login(t)
	p.control(t, "PUT", "/_sim/webhook", `{"agentId":"`+agentID+`","url":"`+p.hook.URL+`","clientToken":"`+clientToken+`"}`)
	return p
}

// pass lets everything happen that is to happen within the time, and returns the
// times that each step of it had to wait.
func (p *provided) pass(limit time.Duration) (waited []time.Duration) {
	for i := 0; i < len(p.later); {
		if p.later[i].after > limit {
			i++
			continue
		}
		next := p.later[i]
		p.later = slices.Delete(p.later, i, i+1)
		waited = append(waited, next.after)
		next.what()
	}
	return waited
}

func TestMessagesAreDeliveredAndRead(t *testing.T) {
	t.Parallel()
	event := func(kind string) told {
		return told{SenderPhoneNumber: phone, EventType: kind, MessageID: id, AgentID: agentID}
	}
	tests := []struct {
		name, behaviour string
		want            []told
		waited          []time.Duration
	}{
		{"at once", `{}`, []told{event("DELIVERED"), event("READ")}, []time.Duration{0, 0, 0, 0}},
		{
			"later", `{"eventDelayMs":100}`,
			[]told{event("DELIVERED"), event("READ")},
			[]time.Duration{100e6, 0, 100e6, 0},
		},
		{
			"twice", `{"duplicateEvents":true}`,
			[]told{event("DELIVERED"), event("DELIVERED"), event("READ"), event("READ")},
			[]time.Duration{0, 0, 0, 0, 0, 0},
		},
		{
			"late at random", `{"eventJitterMs":40,"eventCopies":1}`,
			[]told{event("DELIVERED"), event("READ")},
			[]time.Duration{0, 0, 20e6, 20e6},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProvided(t)
			p.control(t, "PUT", "/_sim/behaviour", test.behaviour)
			p.send(t, phone, id, hello)
			p.send(t, phone, id, hello) // known: no events of its own
			waited := p.pass(time.Minute)
			slices.Sort(waited)
			slices.Sort(test.waited)
			if diff := cmp.Diff(test.waited, waited); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, p.hook.events, cmp.Transformer("sorted", bySubject)); diff != "" || p.hook.forged > 0 {
				t.Errorf("%d forged; events (-want +got):\n%s", p.hook.forged, diff)
			}
		})
	}
}

func bySubject(events []told) []string {
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.EventType+" "+e.SenderPhoneNumber+e.PhoneNumber+" "+e.MessageID+" "+e.AgentID)
	}
	slices.Sort(kinds)
	return kinds
}

func TestEventsAreRepeatedUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	p := newProvided(t)
	p.hook.fail = 3
	p.control(t, "POST", "/_sim/events", `{"agentId":"`+agentID+`","phone":"`+phone+`","text":"começar"}`)
	waited := p.pass(time.Hour)
	if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}, waited); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	if len(p.hook.events) != 1 || p.hook.events[0].Text != "começar" || p.hook.events[0].SenderPhoneNumber != phone {
		t.Errorf("got %+v, want the text once", p.hook.events)
	}
	var hooks []sim.Webhook
	if err := json.Unmarshal(p.control(t, "GET", "/_sim/webhook", ""), &hooks); err != nil {
		t.Fatal(err)
	}
	want := []sim.Webhook{{AgentID: agentID, URL: p.hook.URL, Posts: 4, Refusals: 3}}
	if diff := cmp.Diff(want, hooks); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

func TestTheFateOfEvents(t *testing.T) {
	t.Parallel()
	const ttl = `{"contentMessage":{"text":"a"},"ttl":"60s"}`
	kinds := func(p *provided) (kinds []string) {
		for _, e := range p.hook.events {
			kinds = append(kinds, e.EventType+e.Text)
		}
		return kinds
	}
	t.Run("never delivered", func(t *testing.T) {
		t.Parallel()
		p := newProvided(t)
		p.send(t, "+5511900000003", id, ttl)
		p.pass(time.Second)
		if got := kinds(p); len(got) > 0 {
			t.Errorf("told %v before the ttl, want nothing", got)
		}
		p.pass(time.Minute)
		want := []told{{PhoneNumber: "+5511900000003", EventType: "TTL_EXPIRATION_REVOKED", MessageID: id, AgentID: agentID}}
		if diff := cmp.Diff(want, p.hook.events); diff != "" {
			t.Errorf("events after the ttl (-want +got):\n%s", diff)
		}
	})
	t.Run("opts out", func(t *testing.T) {
		t.Parallel()
		p := newProvided(t)
		p.send(t, "+5511900000005", id, ttl)
		p.pass(time.Minute)
		if diff := cmp.Diff([]string{"DELIVERED", "READ", "PARAR", "UNSUBSCRIBE"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("revoked in time", func(t *testing.T) {
		t.Parallel()
		p := newProvided(t)
		p.send(t, phone, id, hello)
		for range 2 {
			if w := p.call(t, "DELETE", "/v1/phones/"+phone+"/agentMessages/"+id+"?agentId="+agentID, ""); w.Code != http.StatusOK {
				t.Errorf("status %d, want 200", w.Code)
			}
		}
		p.pass(time.Hour)
		if diff := cmp.Diff([]string{"TTL_EXPIRATION_REVOKED"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("revoked too late", func(t *testing.T) {
		t.Parallel()
		p := newProvided(t)
		p.send(t, phone, id, hello)
		p.pass(time.Hour)
		p.call(t, "DELETE", "/v1/phones/"+phone+"/agentMessages/"+id+"?agentId="+agentID, "")
		p.pass(time.Hour)
		if diff := cmp.Diff([]string{"DELIVERED", "READ"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestWebhooksHaveToKnowTheToken(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	hook := newWebhook(t)
	for name, body := range map[string]string{
		"another token": `{"agentId":"` + agentID + `","url":"` + hook.URL + `","clientToken":"x"}`,
		"no address":    `{"agentId":"` + agentID + `","url":"x","clientToken":"` + clientToken + `"}`,
		"nobody there":  `{"agentId":"` + agentID + `","url":"http://127.0.0.1:1","clientToken":"` + clientToken + `"}`,
		"no agent":      `{"url":"` + hook.URL + `","clientToken":"` + clientToken + `"}`,
	} {
		if w := p.request(t, "PUT", "/_sim/webhook", body, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", name, w.Code)
		}
	}
	if w := p.request(t, "POST", "/_sim/events", `{"agentId":"`+agentID+`","phone":"`+phone+`","text":"a"}`, nil); w.Code != http.StatusBadRequest {
		t.Errorf("an event without a webhook: status %d, want 400", w.Code)
	}
}
