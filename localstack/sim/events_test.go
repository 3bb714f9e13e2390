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
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/sim"
)

const clientToken = "token-of-the-agent"

// webhook is an agent's webhook that records the events.
type webhook struct {
	*httptest.Server

	mu     sync.Mutex
	events []receivedEvent
	forged int // events with a wrong signature
	fail   int // remaining requests that return 500
}

type receivedEvent struct {
	SenderPhoneNumber, PhoneNumber, EventType, MessageID, Text, AgentID string

	SuggestionResponse struct{ Text, PostbackData, Type string }
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
	var e receivedEvent
	_ = json.Unmarshal(request.Message.Data, &e)
	h.events = append(h.events, e)
}

// eventProvider is a provider with a webhook. Its scheduled calls run in runWithin.
type eventProvider struct {
	*provider

	hook *webhook

	scheduled []scheduledCall
}

type scheduledCall struct {
	after time.Duration
	call  func()
}

func newEventProvider(t *testing.T) *eventProvider {
	t.Helper()
	p := &eventProvider{hook: newWebhook(t)}
	p.provider = &provider{now: start, chance: 0.5}
	p.Sim = sim.New(sim.Options{
		URL: address, Key: accountKey(),
		Now: func() time.Time { return p.now }, Random: func() float64 { return p.chance },
		After: func(d time.Duration, f func()) { p.scheduled = append(p.scheduled, scheduledCall{d, f}) },
	})
	p.token = p.login(t)
	p.control(t, "PUT", "/_sim/webhook", `{"agentId":"`+agentID+`","url":"`+p.hook.URL+`","clientToken":"`+clientToken+`"}`)
	return p
}

// runWithin runs the scheduled calls with a delay of at most limit, including those
// that they schedule, and returns their delays.
func (p *eventProvider) runWithin(limit time.Duration) (delays []time.Duration) {
	for i := 0; i < len(p.scheduled); {
		if p.scheduled[i].after > limit {
			i++
			continue
		}
		next := p.scheduled[i]
		p.scheduled = slices.Delete(p.scheduled, i, i+1)
		delays = append(delays, next.after)
		next.call()
	}
	return delays
}

func TestEvents_DeliveredAndRead(t *testing.T) {
	t.Parallel()
	event := func(kind string) receivedEvent {
		return receivedEvent{SenderPhoneNumber: phone, EventType: kind, MessageID: id, AgentID: agentID}
	}
	tests := []struct {
		name, behaviour string
		want            []receivedEvent
		delays          []time.Duration
	}{
		{"immediate", `{}`, []receivedEvent{event("DELIVERED"), event("READ")}, []time.Duration{0, 0, 0, 0}},
		{
			"delayed", `{"eventDelayMs":100}`,
			[]receivedEvent{event("DELIVERED"), event("READ")},
			[]time.Duration{100e6, 0, 100e6, 0},
		},
		{
			"duplicated", `{"eventCopies":2}`,
			[]receivedEvent{event("DELIVERED"), event("DELIVERED"), event("READ"), event("READ")},
			[]time.Duration{0, 0, 0, 0, 0, 0},
		},
		{
			"random delay", `{"eventJitterMs":40,"eventCopies":1}`,
			[]receivedEvent{event("DELIVERED"), event("READ")},
			[]time.Duration{0, 0, 20e6, 20e6},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newEventProvider(t)
			p.control(t, "PUT", "/_sim/behaviour", test.behaviour)
			p.send(t, phone, id, hello)
			p.send(t, phone, id, hello) // a repeated message has no events
			delays := p.runWithin(time.Minute)
			slices.Sort(delays)
			slices.Sort(test.delays)
			if diff := cmp.Diff(test.delays, delays); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, p.hook.events, cmp.Transformer("sorted", sortedEvents)); diff != "" || p.hook.forged > 0 {
				t.Errorf("%d wrong signatures; events (-want +got):\n%s", p.hook.forged, diff)
			}
		})
	}
}

func sortedEvents(events []receivedEvent) []string {
	var lines []string
	for _, e := range events {
		lines = append(lines, e.EventType+" "+e.SenderPhoneNumber+e.PhoneNumber+" "+e.MessageID+" "+e.AgentID)
	}
	slices.Sort(lines)
	return lines
}

func TestEvents_RetriedUntilAccepted(t *testing.T) {
	t.Parallel()
	p := newEventProvider(t)
	p.hook.fail = 3
	p.control(t, "POST", "/_sim/events", `{"agentId":"`+agentID+`","phone":"`+phone+`","text":"começar"}`)
	delays := p.runWithin(time.Hour)
	if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}, delays); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
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

func TestEvents_Fates(t *testing.T) {
	t.Parallel()
	const ttl = `{"contentMessage":{"text":"a"},"ttl":"60s"}`
	kinds := func(p *eventProvider) (kinds []string) {
		for _, e := range p.hook.events {
			kinds = append(kinds, e.EventType+e.Text)
		}
		return kinds
	}
	t.Run("undelivered", func(t *testing.T) {
		t.Parallel()
		p := newEventProvider(t)
		p.send(t, "+5511900000003", id, ttl)
		p.runWithin(time.Second)
		if got := kinds(p); len(got) > 0 {
			t.Errorf("got events %v before the ttl, want none", got)
		}
		p.runWithin(time.Minute)
		want := []receivedEvent{{PhoneNumber: "+5511900000003", EventType: "TTL_EXPIRATION_REVOKED", MessageID: id, AgentID: agentID}}
		if diff := cmp.Diff(want, p.hook.events); diff != "" {
			t.Errorf("events after the ttl (-want +got):\n%s", diff)
		}
	})
	t.Run("opt-out", func(t *testing.T) {
		t.Parallel()
		p := newEventProvider(t)
		p.send(t, "+5511900000005", id, ttl)
		p.runWithin(time.Minute)
		if diff := cmp.Diff([]string{"DELIVERED", "READ", "PARAR", "UNSUBSCRIBE"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("tap", func(t *testing.T) {
		t.Parallel()
		for number, want := range map[string]string{"6": "Site a.site ACTION", "7": "Sim yes REPLY"} {
			p := newEventProvider(t)
			p.send(t, "+551190000000"+number, id, `{"contentMessage":{"richCard":{"standaloneCard":{"cardOrientation":"VERTICAL","cardContent":{
				"title":"Oi","suggestions":[
				{"action":{"text":"Site","postbackData":"a.site","openUrlAction":{"url":"https://example.com","application":"BROWSER"}}},
				{"reply":{"text":"Sim","postbackData":"yes"}}]}}}}}`)
			p.runWithin(time.Minute)
			tap := p.hook.events[len(p.hook.events)-1]
			response := tap.SuggestionResponse
			if got := response.Text + " " + response.PostbackData + " " + response.Type; got != want || tap.SenderPhoneNumber != "+551190000000"+number {
				t.Errorf("%s: got the tap %q of %q, want %q", number, got, tap.SenderPhoneNumber, want)
			}
		}
	})
	t.Run("click", func(t *testing.T) {
		t.Parallel()
		var opened []string
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			opened = append(opened, r.Method+" "+r.URL.Path)
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}))
		t.Cleanup(site.Close)
		p := newEventProvider(t)
		p.send(t, "+5511900000008", id, `{"contentMessage":{"text":"Oi","suggestions":[{"reply":{"text":"Sim","postbackData":"yes"}},
			{"action":{"text":"Site","postbackData":"a.site","openUrlAction":{"url":"`+site.URL+`/l/x","application":"BROWSER"}}}]}}`)
		p.runWithin(time.Minute)
		if diff := cmp.Diff([]string{"GET /l/x"}, opened); diff != "" {
			t.Errorf("opened links (-want +got):\n%s", diff)
		}
		if tap := p.hook.events[len(p.hook.events)-1].SuggestionResponse; tap.PostbackData != "a.site" {
			t.Errorf("got the tap %+v, want that of the link", tap)
		}
	})
	t.Run("click after the content is dropped", func(t *testing.T) {
		t.Parallel()
		var opened atomic.Int32
		site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { opened.Add(1) }))
		t.Cleanup(site.Close)
		p := newEventProvider(t)
		p.send(t, "+5511900000008", id, `{"contentMessage":{"text":"Oi","suggestions":[
			{"action":{"text":"Site","postbackData":"a.site","openUrlAction":{"url":"`+site.URL+`/l/x","application":"BROWSER"}}}]}}`)
		for i := range 101 {
			p.send(t, "+5511900000003", numbered(i), hello)
		}
		p.runWithin(time.Second)
		if opened.Load() != 1 {
			t.Errorf("the link was opened %d times, want once", opened.Load())
		}
	})
	t.Run("nothing to tap", func(t *testing.T) {
		t.Parallel()
		p := newEventProvider(t)
		p.send(t, "+5511900000006", id, hello)
		p.runWithin(time.Minute)
		if diff := cmp.Diff([]string{"DELIVERED", "READ"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("revoked before delivery", func(t *testing.T) {
		t.Parallel()
		p := newEventProvider(t)
		p.send(t, phone, id, hello)
		for range 2 {
			if w := p.call(t, "DELETE", "/v1/phones/"+phone+"/agentMessages/"+id+"?agentId="+agentID, ""); w.Code != http.StatusOK {
				t.Errorf("status %d, want 200", w.Code)
			}
		}
		p.runWithin(time.Hour)
		if diff := cmp.Diff([]string{"TTL_EXPIRATION_REVOKED"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	t.Run("revoked after delivery", func(t *testing.T) {
		t.Parallel()
		p := newEventProvider(t)
		p.send(t, phone, id, hello)
		p.runWithin(time.Hour)
		p.call(t, "DELETE", "/v1/phones/"+phone+"/agentMessages/"+id+"?agentId="+agentID, "")
		p.runWithin(time.Hour)
		if diff := cmp.Diff([]string{"DELIVERED", "READ"}, kinds(p)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestSetWebhook_Rejected(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	hook := newWebhook(t)
	for name, body := range map[string]string{
		"another token": `{"agentId":"` + agentID + `","url":"` + hook.URL + `","clientToken":"x"}`,
		"invalid URL":   `{"agentId":"` + agentID + `","url":"x","clientToken":"` + clientToken + `"}`,
		"unreachable":   `{"agentId":"` + agentID + `","url":"http://127.0.0.1:1","clientToken":"` + clientToken + `"}`,
		"no agent":      `{"url":"` + hook.URL + `","clientToken":"` + clientToken + `"}`,
	} {
		if w := p.request(t, "PUT", "/_sim/webhook", body, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", name, w.Code)
		}
	}
	if w := p.request(t, "POST", "/_sim/events", `{"agentId":"`+agentID+`","phone":"`+phone+`","text":"a"}`, nil); w.Code != http.StatusBadRequest {
		t.Errorf("event without a webhook: status %d, want 400", w.Code)
	}
}
