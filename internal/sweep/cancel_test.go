package sweep_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/testsize"
)

func (w *pipeline) canceller() sqs.Handler {
	m := mortal{w}
	c := &control.Canceller{
		Store: m, Recorder: w.recorder(), Tasks: mortalQueue{m, w.revokes}, Retries: mortalQueue{m, w.revokes}, Blobs: m, Provider: m,
		Concurrency: 1, SweepAfter: sweepAfter, Now: w.clock,
	}
	return sqs.BatchHandler(c.Handle)
}

// cancel calls the API until it succeeds, as a client does.
func (w *pipeline) cancel(b campaign.Batch, query string) {
	w.t.Helper()
	mux := http.NewServeMux()
	m := mortal{w}
	service := &control.Service{Tokens: m, Store: m, Revokes: mortalQueue{m, w.revokes}, Events: mortalQueue{m, w.events}, Now: w.clock, SweepDelay: sweepAfter}
	service.Register(mux)
	for range 3 {
		answer := httptest.NewRecorder()
		w.attempt(func(ctx context.Context) {
			path := "/api/v1/external/campaigns/" + b.CampaignID + "/cancel" + query
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, path, http.NoBody))
		})
		if answer.Code == http.StatusAccepted {
			return
		}
	}
	w.t.Error("the campaign could not be cancelled")
}

// sentAndWaiting is a campaign with one batch at the provider, which does not deliver it,
// and one batch before its due time.
func (w *pipeline) sentAndWaiting() (sent, waiting campaign.Batch) {
	w.t.Helper()
	withEndpoints(w).provider.answers = false
	sent = w.accept(103)
	w.handOff(sent)
	w.run(sent, time.Hour)
	waiting = w.accept(103, func(b *campaign.Batch) {
		b.ID, b.Ordinal, b.Scheduled, b.Due = sent.ID, 2, true, w.clock().Add(100*time.Hour)
		b.NextCheck = b.Due
	})
	w.death.calls = nil
	return sent, waiting
}

// checkCancelled checks that each message of both batches has the expected outcome and that
// nothing is left to do.
func (w *pipeline) checkCancelled(sent, waiting campaign.Batch, end string) {
	w.t.Helper()
	if diff := cmp.Diff(map[string]int{end: 103}, w.outcomes(sent)); diff != "" {
		w.t.Errorf("what had been sent (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"stopped cancelled": 103}, w.outcomes(waiting)); diff != "" {
		w.t.Errorf("what waited for its time (-want +got):\n%s", diff)
	}
	if now := w.batch(waiting); now.State != campaign.BatchCancelled || !now.NextCheck.IsZero() {
		w.t.Errorf("the batch that waited is %s, to be checked at %v", now.State, now.NextCheck)
	}
	if n := len(w.provider.taken); n != 103 {
		w.t.Errorf("the provider has %d messages", n)
	}
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got > 0 {
		w.t.Errorf("campaign.completed of a cancelled campaign was posted %d times", got)
	}
	w.checkNothingIsDue()
}

func TestCancel_CrashAtAnyCall(t *testing.T) {
	t.Parallel()
	live := func(t *testing.T, c testsize.Crash) *pipeline {
		t.Helper()
		w := newPipeline(t)
		sent, waiting := w.sentAndWaiting()
		w.death.at, w.death.after = c.At, c.After
		w.cancel(sent, "?revoke=true")
		w.settle(time.Hour)
		w.checkCancelled(sent, waiting, "revoked cancelled")
		standings, err := w.store.Standings(t.Context(), sent.Tenant, []string{sent.CampaignID})
		if err != nil || standings[sent.CampaignID].EndedAt().IsZero() {
			t.Errorf("the cancelled campaign has not ended for a recount: %+v, %v", standings, err)
		}
		return w
	}
	atEach(t, live(t, testsize.Crash{}).death.calls, worthTrying, func(t *testing.T, c testsize.Crash) {
		t.Helper()
		if w := live(t, c); len(w.death.calls) < c.At {
			t.Errorf("only %d calls were made: no process crashed", len(w.death.calls))
		}
	})
}

// The task of a successful call is lost. The messages that were never released end
// nevertheless.
func TestSweep_LostCancelTask(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	sent, waiting := w.sentAndWaiting()
	w.cancel(sent, "")
	clear(w.revokes.held)
	w.settle(time.Hour)
	w.advance(campaign.MessageTTL + campaign.AnswerGrace)
	w.settle(time.Hour)
	w.checkCancelled(sent, waiting, "expired no_answer")
}

// An expired message of a cancelled campaign counts as revoked only if revocation was
// requested, with the cancellation or later.
func TestCancel_LaterExpiry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		queries []string
		want    string
	}{
		"not to be revoked":  {[]string{""}, "expired ttl_passed"},
		"to be revoked":      {[]string{"?revoke=true"}, "revoked cancelled"},
		"revoked later":      {[]string{"", "?revoke=true"}, "revoked cancelled"},
		"and not taken back": {[]string{"?revoke=true", ""}, "revoked cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			b := w.accept(3)
			w.handOff(b)
			w.run(b, time.Hour)
			for _, query := range test.queries {
				w.cancel(b, query)
			}
			w.advance(time.Minute)
			w.provider.forget = true // it revokes, but sends only a TTL event
			for i := range b.Accepted {
				w.event(reaction.EventTask{Kind: reaction.EventExpired, MessageID: b.Key.MessageID(i)})
			}
			w.settle(time.Hour)
			if diff := cmp.Diff(map[string]int{test.want: 3}, w.outcomes(b)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
		})
	}
}

// The response to a message's first attempt is lost, and its campaign is cancelled before
// the second: it ends as stopped, although the provider has it.
func TestCancel_StoppedMessageAtProvider(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.accept(3)
	w.provider.refuse = func(d outgoing.Message) error {
		w.provider.taken[d.ID], w.provider.phones[d.Phone] = d.Content.Text, d.ID
		return &outgoing.Failure{Kind: outgoing.Transient, Code: "unavailable"}
	}
	w.handOff(b)
	for w.deliver(w.releases, w.releaser(), 1) {
	}
	w.deliver(w.frames, w.sender(1), 1)
	w.cancel(b, "?revoke=true")
	w.settle(time.Hour)
	if diff := cmp.Diff(map[string]int{"stopped cancelled": 3}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(w.provider.revoked) != 3 {
		t.Errorf("%d of 3 messages were taken back", len(w.provider.revoked))
	}
}

func TestCancel_NoCompletionWebhook(t *testing.T) {
	t.Parallel()
	w := withEndpoints(newPipeline(t))
	w.provider.answers = false
	b := w.accept(3)
	w.handOff(b)
	w.run(b, time.Hour)
	w.cancel(b, "")
	for i := range b.Accepted {
		w.event(reaction.EventTask{Kind: reaction.EventRead, MessageID: b.Key.MessageID(i)})
	}
	w.settle(time.Hour)
	if now := w.batch(b); now.State != campaign.BatchCompleted {
		t.Errorf("the batch is %s", now.State)
	}
	if got := w.sink.posts["some"][string(delivery.KindCompleted)]; got > 0 {
		t.Errorf("posted %d times", got)
	}
	w.checkNothingIsDue()
}

// Revoke revokes a message once and sends the same event as the provider.
func (p *provider) Revoke(_ context.Context, agent campaign.Agent, messageID, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked(agent)
	if p.taken[messageID] == "" || p.revoked[messageID] {
		return &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}
	}
	if p.revoked == nil {
		p.revoked = map[string]bool{}
	}
	p.revoked[messageID] = true
	if p.forget {
		return nil
	}
	task := reaction.EventTask{Kind: reaction.EventExpired, AgentID: p.pipeline.agent, MessageID: messageID, At: p.pipeline.clock().Add(time.Second)}
	body, err := json.Marshal(task)
	p.pipeline.events.add(body, time.Second)
	return err
}

func (m mortal) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: m.w.tenant}, nil
}

func (m mortal) Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return call(m, "Campaign", func() (campaign.Campaign, error) { return m.w.store.Campaign(ctx, id) })
}

func (m mortal) CancelCampaign(ctx context.Context, id campaign.ID, at time.Time, revoke bool) error {
	return m.w.death.call("CancelCampaign", func() error { return m.w.store.CancelCampaign(ctx, id, at, revoke) })
}

func (m mortal) PauseCampaign(ctx context.Context, id campaign.ID, at time.Time) (time.Time, error) {
	return call(m, "PauseCampaign", func() (time.Time, error) { return m.w.store.PauseCampaign(ctx, id, at) })
}

func (m mortal) ResumeCampaign(ctx context.Context, id campaign.ID, since time.Time) error {
	return m.w.death.call("ResumeCampaign", func() error { return m.w.store.ResumeCampaign(ctx, id, since) })
}

func (m mortal) CancelBatch(ctx context.Context, ref campaign.BatchRef, at time.Time, revoke bool, next time.Time) error {
	return m.w.death.call("CancelBatch", func() error { return m.w.store.CancelBatch(ctx, ref, at, revoke, next) })
}

func (m mortal) MarkStopped(ctx context.Context, id campaign.ID, at time.Time) error {
	return m.w.death.call("MarkStopped", func() error {
		all, err := m.w.store.Campaign(ctx, id)
		if err == nil && len(all.Unreleased()) > 0 {
			m.w.t.Errorf("%d batches of a stopped campaign still wait for their time", len(all.Unreleased()))
		}
		return errors.Join(err, m.w.store.MarkStopped(ctx, id, at))
	})
}

func (m mortal) RescheduleBatch(ctx context.Context, b campaign.Batch, due, next time.Time) (bool, error) {
	return call(m, "RescheduleBatch", func() (bool, error) { return m.w.store.RescheduleBatch(ctx, b, due, next) })
}

func (m mortal) CheckReservation(ctx context.Context, b campaign.Batch, due time.Time) error {
	return m.w.death.call("CheckReservation", func() error { return m.w.store.CheckReservation(ctx, b, due) })
}

func (m mortal) Revoke(ctx context.Context, agent campaign.Agent, messageID, phone string) error {
	return m.w.death.call("revoke", func() error { return m.w.provider.Revoke(ctx, agent, messageID, phone) })
}

func (m mortal) SettleReplies(ctx context.Context, tenant string, until map[string]time.Time) error {
	return m.w.death.call("SettleReplies", func() error { return m.w.store.SettleReplies(ctx, tenant, until) })
}

func (m mortal) LogOptOut(ctx context.Context, tenant string, o reaction.LoggedOptOut) error {
	return m.w.death.call("LogOptOut", func() error { return m.w.store.LogOptOut(ctx, tenant, o) })
}

func (m mortal) SaveReply(ctx context.Context, tenant string, r reaction.Reply) error {
	return m.w.death.call("SaveReply", func() error { return m.w.store.SaveReply(ctx, tenant, r) })
}
