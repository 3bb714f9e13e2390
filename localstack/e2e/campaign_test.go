package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/settings"
)

func TestDispatch_SentOnce(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // without a webhook for events
	all := messages(250)          // three frames

	got := c.dispatch(c.call(all))

	if got.status != http.StatusAccepted || got.Status != "sending" || got.Accepted != 250 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	first := c.atProvider(all)[all[7]["phone"].(string)][0]
	if want := "Olá Ana, seu pedido 7 saiu para entrega."; first.Text != want {
		t.Errorf("text %q, want %q", first.Text, want)
	}
}

func TestDispatch_Scheduled(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	all := messages(3)
	call := c.call(all)
	due := time.Now().Add(6 * time.Second).UTC()
	call["schedule"] = due.Format(time.RFC3339Nano)

	got := c.dispatch(call)

	if got.status != http.StatusAccepted || got.Status != "scheduled" {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	c.checkSentFrom(due, all)
}

// A campaign of 100 messages is sent while a campaign of 4,000 messages of the same agent
// is being sent, which takes 80 seconds.
func TestDispatch_SmallBesideLargeCampaign(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	_, err := c.service().SaveAgent(t.Context(), settings.AgentForm{ID: c.env["TENANT"], Rate: 50})
	must(t, err)
	var big []fields
	call := c.call(nil)
	for _, batch := range []string{"first", "second"} {
		part := messages(2000)
		call["messages"], call["batch"] = part, batch
		if got := c.dispatch(call); got.Accepted != len(part) {
			t.Fatalf("dispatch: status %d: %s", got.status, got.body)
		}
		big = append(big, part...)
	}
	c.eventually(5*time.Minute, "being sent", func() bool { return len(c.acceptedAt(big)) > 0 })

	small := messages(100)
	if got := c.dispatch(c.call(small)); got.Accepted != len(small) {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	answered := time.Now()

	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(small) })
	sent := c.acceptedAt(small)
	first := sent[0].Sub(answered)
	t.Logf("the first message was sent %v after the response", first)
	if first > 10*time.Second {
		t.Errorf("the first message was sent %v after the response, want at most 10 s", first)
	}
	c.eventually(5*time.Minute, "continued with the large campaign", func() bool {
		big := c.acceptedAt(big)
		return big[len(big)-1].After(sent[len(sent)-1])
	})
}

// checkSentFrom checks that the provider accepted no message before a time.
func (c *client) checkSentFrom(due time.Time, messages []fields) {
	c.t.Helper()
	if first := c.acceptedAt(messages)[0]; first.Before(due) {
		c.t.Errorf("sent at %v, due at %v", first, due)
	}
}

// acceptedAt returns the times at which the provider accepted the messages, sorted.
func (c *client) acceptedAt(messages []fields) []time.Time {
	c.t.Helper()
	var all []time.Time
	for _, got := range c.atProvider(messages) {
		for _, d := range got {
			all = append(all, d.AcceptedAt)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func TestDispatch_SecondBatch(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	one, two := messages(2), messages(2)
	call := c.call(one)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	call["messages"] = two
	if got := c.dispatch(call); got.status != http.StatusBadRequest || got.Code != "batch_required" {
		t.Errorf("without a batch: %d %s", got.status, got.body)
	}
	call["batch"] = "second"
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(append(one, two...)) })
	call["batch"] = "third"
	if got := c.dispatch(call); got.status != http.StatusConflict || got.Code != "number_already_dispatched" {
		t.Errorf("the same numbers again: %d %s", got.status, got.body)
	}
}

func TestDispatch_ProviderErrors(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant() // throttled messages lower the rate of the agent
	unreachable, throttled, failing := messages(1), messages(1), messages(1)
	fates := map[string]string{
		unreachable[0]["phone"].(string): "unreachable",
		throttled[0]["phone"].(string):   "throttled",
		failing[0]["phone"].(string):     "unavailable",
	}
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", fates, nil)
	all := append(append(throttled, failing...), unreachable...)

	if got := c.dispatch(c.call(all)); got.Accepted != 3 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}

	c.eventually(5*time.Minute, "sent after throttling and failures", func() bool {
		return c.sentOnce(append(throttled, failing...))
	})
	if got := c.atProvider(unreachable)[unreachable[0]["phone"].(string)]; len(got) != 0 {
		t.Errorf("an unreachable number was accepted: %+v", got)
	}
}

func TestErrorFile_WithoutToken(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	bad := messages(7)
	for i := range bad {
		bad[i]["phone"] = "123" + strings.Repeat("0", i)
	}
	got := c.dispatch(c.call(bad))
	if got.status != http.StatusAccepted || got.Rejected != 7 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	file := c.do(http.MethodGet, got.Feedback.ErrorFileURL, nil, "Authorization", "Bearer nonsense")
	if file.status != http.StatusOK || !strings.HasPrefix(file.header.Get("Content-Type"), "text/csv") {
		t.Fatalf("status %d: %s", file.status, file.header.Get("Content-Type"))
	}
	if lines := strings.Count(string(file.body), "\r\n"); lines != 8 {
		t.Errorf("%d lines, want a header and 7", lines)
	}
	guess := strings.Replace(got.Feedback.ErrorFileURL, ".csv", "x.csv", 1)
	if missing := c.do(http.MethodGet, guess, nil); missing.status != http.StatusNotFound {
		t.Errorf("guessed address: status %d, want 404", missing.status)
	}
}

// The provider accepts texts of at most 3,072 characters.
func TestDispatch_TextTooLong(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	all := messages(3)
	const around = len("Olá , seu pedido 0 saiu para entrega.") - 1 // á has two bytes
	name := strings.Repeat("ã", 3072-around)
	all[0]["vars"] = fields{"nome": name, "pedido": 0}
	all[1]["vars"] = fields{"nome": name + "o", "pedido": 0}
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != 3 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}

	c.eventually(5*time.Minute, "sent or failed", func() bool { return c.read(call).Counts["pending"] == 0 })

	long := c.fates(call, "")["u-1"]
	if long.Status != "failed" || long.Code != "text_too_long" {
		t.Errorf("the long message is %s, %s, want failed, text_too_long", long.Status, long.Code)
	}
	if taken := c.atProvider(all[1:2])[long.Phone]; len(taken) > 0 {
		t.Errorf("the provider has the long message: %+v", taken)
	}
	if !c.sentOnce([]fields{all[0], all[2]}) {
		t.Error("the other two messages were not sent once")
	}
}
