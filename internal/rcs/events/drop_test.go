package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/metrics"
)

// dropped posts a signed event, and returns the status and the number of events counted
// as dropped.
func (w *hookFixture) dropped(t *testing.T, data string) (status, events int) {
	t.Helper()
	var out bytes.Buffer
	counted := metrics.NewHandler(invoker(func(ctx context.Context) { status = w.postIn(ctx, "/"+agent, envelope(data), sign(token, data)).Code }).Invoke, &out, time.Now)
	if _, err := counted.Invoke(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var line struct{ EventsDropped int }
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
	}
	return status, line.EventsDropped
}

type invoker func(ctx context.Context)

func (f invoker) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	f(ctx)
	return nil, nil
}

func TestServeEvent_InvalidPhone(t *testing.T) {
	t.Parallel()
	for phone, wellFormed := range map[string]bool{
		phone: true, phone[1:]: true, "+1234567": true, "+" + strings.Repeat("5", 15): true,
		"abc": false, strings.Repeat("5", 40): false, "+" + strings.Repeat("5", 16): false, "+123456": false,
		"+55 11 98765-4321": false, "+055119876": false, "＋5511987654321": false, "": false, "+": false, "++5511987654321": false,
	} {
		for _, members := range []string{`"messageId":"m","text":"parar"`, `"eventType":"UNSUBSCRIBE","eventId":"e"`, `"eventType":"SUBSCRIBE","eventId":"e"`} {
			w := newHookFixture()
			status, events := w.dropped(t, `{"senderPhoneNumber":"`+phone+`",`+members+`}`)
			taken := len(w.queued) == 1 && len(w.blobs) == 1
			if status != http.StatusOK || taken != wellFormed || (events == 1) == wellFormed {
				t.Errorf("%q, %s: status %d, %d queued, %d blobs, %d dropped", phone, members, status, len(w.queued), len(w.blobs), events)
			}
		}
	}
}

// The provider repeats an event for 7 days. An older one is forged or replayed.
func TestServeEvent_Age(t *testing.T) {
	t.Parallel()
	const limit = 8 * 24 * time.Hour
	for _, test := range []struct {
		age  time.Duration
		want bool
	}{{0, true}, {limit, true}, {limit + time.Millisecond, false}, {100 * limit, false}, {-time.Hour, true}} {
		for _, members := range []string{
			`"eventType":"READ","eventId":"e","messageId":"` + message + `"`,
			`"eventType":"UNSUBSCRIBE","eventId":"e"`, `"messageId":"m","text":"parar"`,
		} {
			w := newHookFixture()
			at := now.Add(-test.age).Format(time.RFC3339Nano)
			status, events := w.dropped(t, `{"senderPhoneNumber":"`+phone+`","sendTime":"`+at+`",`+members+`}`)
			if taken := len(w.queued) == 1; status != http.StatusOK || taken != test.want || (events == 1) == test.want {
				t.Errorf("%v old, %s: status %d, %d queued, %d dropped", test.age, members, status, len(w.queued), events)
			}
		}
	}
}

func TestServeEvent_UnknownAgents(t *testing.T) {
	t.Parallel()
	const data = `{"senderPhoneNumber":"` + phone + `","eventType":"READ","eventId":"e","messageId":"` + message + `"}`
	post := func(t *testing.T, w *hookFixture, agent, token string, want int) {
		t.Helper()
		if answer := w.post(t, "/"+agent, envelope(data), sign(token, data)); answer.Code != want {
			t.Errorf("agent %s: status %d, want %d", agent, answer.Code, want)
		}
	}
	t.Run("requested repeatedly", func(t *testing.T) {
		t.Parallel()
		w := newHookFixture()
		for range 1000 {
			post(t, w, "unknown", token, http.StatusForbidden)
		}
		if w.reads != 1 {
			t.Errorf("%d reads for 1000 calls, want 1", w.reads)
		}
	})
	t.Run("registered a moment later", func(t *testing.T) {
		t.Parallel()
		w := newHookFixture()
		post(t, w, "new", token, http.StatusForbidden)
		w.agents["new"] = token
		w.now = w.now.Add(5 * time.Second)
		post(t, w, "new", token, http.StatusOK)
	})
	t.Run("random ids", func(t *testing.T) {
		t.Parallel()
		w := newHookFixture()
		post(t, w, agent, token, http.StatusOK)
		const perSecond = 10
		for second := range 90 {
			w.reads = 0
			for i := range 50 {
				post(t, w, fmt.Sprintf("random_%d_%d", second, i), token, http.StatusForbidden)
			}
			if w.reads > perSecond {
				t.Fatalf("second %d: %d reads for 50 calls, want %d at most", second, w.reads, perSecond)
			}
			post(t, w, agent, token, http.StatusOK) // also when its token must be read again
			w.now = w.now.Add(time.Second)
		}
		w.agents["new"] = token
		post(t, w, "new", token, http.StatusOK) // the first call of a second
	})
	t.Run("random ids before the first event of an agent", func(t *testing.T) {
		t.Parallel()
		for _, listErr := range []error{nil, errors.New("throttled")} {
			w := newHookFixture()
			w.listErr = listErr
			want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[listErr == nil]
			for i := range 50 {
				post(t, w, fmt.Sprintf("random_%d", i), token, http.StatusForbidden)
			}
			post(t, w, agent, token, want)
			if w.lists != 1 {
				t.Errorf("the list was read %d times in a second, want once", w.lists)
			}
		}
	})
}

const delivered = `{"senderPhoneNumber":"` + phone + `","eventType":"DELIVERED","eventId":"e","messageId":"` + message + `"}`

// The provider keeps one queue for all agents: an event of a removed agent must not stop it.
func TestServeEvent_RemovedAgent(t *testing.T) {
	t.Parallel()
	w := newHookFixture()
	w.removed = now.Add(-time.Hour)
	if status, events := w.dropped(t, delivered); status != http.StatusOK || events != 1 || len(w.queued) > 0 {
		t.Errorf("answered %d, counted %d as dropped, queued %d", status, events, len(w.queued))
	}
	if a := w.post(t, "/"+agent, envelope(delivered), sign("another token", delivered)); a.Code != http.StatusForbidden {
		t.Errorf("an unsigned event answers %d", a.Code)
	}
}

// Refusals are counted for each agent that exists, and for all others together, without the names that callers invent.
func TestServeEvent_CountsRefusals(t *testing.T) {
	t.Parallel()
	w := newHookFixture()
	var out bytes.Buffer
	counted := func(path, body, signature string) {
		call := invoker(func(ctx context.Context) {
			if answer := w.postIn(ctx, path, body, signature); answer.Code != http.StatusForbidden {
				t.Errorf("%s: answered %d", path, answer.Code)
			}
		})
		if _, err := metrics.NewHandler(call.Invoke, &out, time.Now).Invoke(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	wrong := sign("another token", delivered)
	counted("/"+agent, envelope(delivered), "no base64")
	counted("/"+agent, envelope(delivered), wrong) // the agent is not read again within a second
	counted("/invented_a", envelope(delivered), wrong)
	counted("/invented_b", envelope(delivered), wrong)
	for _, signature := range []string{"", "no base64", "d3Jvbmc=", wrong + wrong} { // of strangers
		counted("/invented_c", envelope(delivered), signature)
	}
	counted("/invented_d", `{"clientToken":"x","secret":"s"}`, wrong) // a handshake
	for id, want := range map[string]int{agent: 2, "unknown": 2} {
		if got := strings.Count(out.String(), `"AgentId":"`+id+`"`); got != want {
			t.Errorf("counted %d refusals of %s, want %d", got, id, want)
		}
	}
	if n := strings.Count(out.String(), `"EventsRefused":1`); n != 4 || strings.Contains(out.String(), "invented") {
		t.Errorf("counted %d refusals: %s", n, out.String())
	}
	if !strings.Contains(out.String(), `"Dimensions":[["Stack","AgentId"]],"Metrics":[{"Name":"EventsRefused","Unit":"Count"}]`) {
		t.Errorf("the metric has not the dimensions Stack and AgentId: %s", out.String())
	}
}
