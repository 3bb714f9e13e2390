package e2e_test

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/settings"
)

func TestCancel_ScheduledCampaign(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	sink := c.receiver()
	all := messages(150)
	call := c.call(all)
	call["schedule"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Status != "scheduled" {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	if r := c.read(call); r.Status != "scheduled" || r.Counts["pending"] != 150 {
		t.Errorf("before the cancellation: %+v", r)
	}

	got := c.command(campaignPath(call)+"/cancel", nil)

	if got.status != http.StatusAccepted || got.Status != "cancelling" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: c.ref(call)}) // a late trigger of the schedule
	c.eventually(5*time.Minute, "stopped", func() bool { c.sweepNow(c.ref(call)); return c.read(call).Counts["stopped"] == 150 })
	if r := c.read(call); r.Status != "cancelled" || r.Cancellation.Stopped != 150 {
		t.Errorf("after the cancellation: %+v", r)
	}
	call["batch"], call["messages"] = "late", messages(1)
	if got := c.dispatch(call); got.status != http.StatusConflict || got.Code != "campaign_cancelled" {
		t.Errorf("another batch: status %d: %s", got.status, got.body)
	}
	if n := c.accepted(all); n > 0 {
		t.Errorf("%d messages were sent, want none", n)
	}
	sink.awaitAll(5*time.Minute, call)
}

// If the task of the cancellation is lost, sweep queues it again.
func TestCancel_LostTask(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	call := c.call(messages(3))
	call["schedule"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	ref, at := c.ref(call), time.Now()
	if err := c.store().CancelCampaign(t.Context(), ref.ID, at, false); err != nil {
		t.Fatal(err)
	}
	if err := c.store().CancelBatch(t.Context(), ref, at, false, at); err != nil {
		t.Fatal(err)
	}
	c.eventually(5*time.Minute, "stopped", func() bool { c.sweep(ref); return c.read(call).Counts["stopped"] == 3 })
}

// Cancelling a campaign during sending stops unsent messages and revokes undelivered ones.
func TestCancel_Revoke(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	sink := c.receiver()
	first, second := messages(120), messages(130)
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(first[:50], "undelivered"), nil)
	call := c.call(first)
	if got := c.dispatch(call); got.Accepted != 120 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	want := map[string]int{"sent": 50, "read": 70}
	c.eventually(5*time.Minute, "read", func() bool { return cmp.Equal(want, c.read(call).Counts) })
	sent := fields{"campaignId": call["campaignId"]}
	c.control(http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", withFate(second, "down"), nil)
	call["batch"], call["messages"] = "second", second
	if got := c.dispatch(call); got.Accepted != 130 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "released", func() bool { return c.batch(c.ref(call)).State == campaign.BatchSending })

	got := c.command(campaignPath(call)+"/cancel?revoke=true", nil)

	if got.status != http.StatusAccepted || got.Status != "cancelling" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}
	want = map[string]int{"revoked": 50, "read": 70, "stopped": 130}
	c.eventually(5*time.Minute, "stopped and revoked", func() bool {
		c.sweepNow(c.ref(call))
		return cmp.Equal(want, c.read(call).Counts)
	})
	r := c.read(call)
	if r.Status != "cancelled" || r.Cancellation.Stopped != 130 || r.Cancellation.Revoked != 50 || r.Cancellation.TooLate != 70 {
		t.Errorf("after the cancellation: %+v", r)
	}
	sink.awaitAll(5*time.Minute, sent)
}

// A pause stops the sending of what was accepted and of what is accepted later. The rest of the messages is sent after it, none twice.
func TestCampaignPause(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	hook := c.receiver("campaign.paused", "campaign.resumed")
	first, second := messages(1000), messages(150)
	_, err := c.service().SaveAgent(t.Context(), settings.AgentForm{ID: c.env["TENANT"], Rate: 50})
	must(t, err)
	call := c.call(first)
	if got := c.dispatch(call); got.Accepted != 1000 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(3*time.Minute, "the first messages sent", func() bool { return c.accepted(first) > 0 })
	ref := c.ref(call)

	if got := c.command(campaignPath(call)+"/pause", nil); got.status != http.StatusOK || got.Status != "sending" {
		t.Fatalf("status %d: %s", got.status, got.body)
	}

	c.eventually(3*time.Minute, "the batch waits, and nothing is sent for 10 seconds", func() bool {
		at := c.acceptedAt(first)
		return c.batch(ref).Waits.Paused && time.Since(at[len(at)-1]) > 10*time.Second
	})
	sent := c.accepted(first)
	call["batch"], call["messages"] = "second", second
	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Accepted != 150 {
		t.Fatalf("another batch: status %d: %s", got.status, got.body)
	}
	later := c.ref(call)
	c.eventually(3*time.Minute, "the second batch waits", func() bool { return c.batch(later).Waits.Paused })
	c.sweepNow(ref)
	if r := c.read(call); r.PausedAt.IsZero() || r.Status != "sending" || r.Counts["pending"] == 0 {
		t.Errorf("during the pause: %+v", r)
	}
	if n := c.accepted(first) - sent; n > 0 || c.accepted(second) > 0 || sent == 1000 {
		t.Fatalf("%d of 1000 messages were sent before the pause, %d and %d during it", sent, n, c.accepted(second))
	}

	if got := c.command(campaignPath(call)+"/resume", nil); got.status != http.StatusOK {
		t.Fatalf("status %d: %s", got.status, got.body)
	}

	var sweeps pace
	c.eventually(5*time.Minute, "sent after the pause", func() bool {
		if sweeps.due() {
			c.sweepTenant()
		}
		return c.sentOnce(first) && c.sentOnce(second)
	})
	if r := c.read(call); !r.PausedAt.IsZero() {
		t.Errorf("after the pause: %+v", r)
	}
	c.eventually(5*time.Minute, "webhooks received", func() bool {
		kinds := map[string]bool{}
		for _, m := range hook.accepted() {
			kinds[m.Type] = m.Data.CampaignID == call["campaignId"]
		}
		return kinds["campaign.paused"] && kinds["campaign.resumed"]
	})
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	all := messages(3)
	call := c.call(all)
	call["batch"] = "natal/1"
	first := time.Now().Add(10 * time.Second)
	call["schedule"] = first.UTC().Format(time.RFC3339Nano)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}

	c.reschedule(call, first.Add(time.Hour))

	c.eventually(5*time.Minute, "past its first time", func() bool { return time.Now().After(first) })
	c.put("RELEASE_QUEUE_URL", campaign.ReleaseTask{BatchRef: c.ref(call)}) // the old trigger
	c.eventually(5*time.Minute, "release queue empty", func() bool { return c.empty("RELEASE_QUEUE_URL") })
	c.sweep(c.ref(call))
	if n, r := c.accepted(all), c.read(call); n > 0 || r.Status != "scheduled" {
		t.Fatalf("the old trigger sent %d messages: %+v", n, r)
	}

	due := time.Now().Add(4 * time.Second)
	c.reschedule(call, due)

	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	c.checkSentFrom(due.Truncate(time.Millisecond), all)
	if got := c.command(campaignPath(call)+"/reschedule", fields{"batch": call["batch"], "schedule": due.Add(time.Hour).UTC().Format(time.RFC3339)}); got.status != http.StatusConflict {
		t.Errorf("reschedule after sending: status %d: %s", got.status, got.body)
	}
}

func (c *client) reschedule(call fields, due time.Time) {
	c.t.Helper()
	got := c.command(campaignPath(call)+"/reschedule", fields{"batch": call["batch"], "schedule": due.UTC().Format(time.RFC3339Nano)})
	if got.status/100 != 2 {
		c.t.Fatalf("reschedule: status %d: %s", got.status, got.body)
	}
}

// fillOptOuts stores opt-outs of the tenant up to the size limit of the rows, so that the
// next one splits its row.
func (c *client) fillOptOuts() {
	c.t.Helper()
	for shard := range uint64(optout.Shards) {
		others := make([]uint64, 30_000)
		for i := range others {
			others[i] = shard + optout.Shards*uint64(5511900000000/optout.Shards+i*40_000)
		}
		part := campaign.OptOutPart{
			ID: rand.Text(), Version: 1, Packed: numberset.New(others).Pack(),
			Origins: bytes.Repeat([]byte{0x55}, len(others)/4), // two bits each: OriginMessage
		}
		kept, err := c.store().KeepOptOuts(c.t.Context(), c.env["TENANT"], campaign.OptOuts{
			Shard: int(shard), Version: 1, Parts: []campaign.OptOutPart{part},
		})
		if err != nil || !kept || len(part.Packed) < 64_000 {
			c.t.Fatalf("store a part of %d bytes: %v, %v", len(part.Packed), kept, err)
		}
	}
}

// A number that opted out before its batch was released gets nothing from it, although the functions
// keep opt-outs in memory.
func TestOptOuts_JustBeforeRelease(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	earlier, all := messages(10), messages(10)
	call := c.call(earlier)
	c.dispatch(call)
	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(earlier) })
	var changes []campaign.OptChange
	for _, m := range all {
		phone, _ := m["phone"].(string)
		changes = append(changes, campaign.OptChange{Phone: phone, Out: true, At: time.Now()})
	}
	must(t, (&optout.Book{Store: c.store(), Now: time.Now}).Record(t.Context(), c.env["TENANT"], changes))

	call = c.call(all)
	if got := c.dispatch(call); got.Accepted != 10 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}

	c.eventually(3*time.Minute, "ended or sent", func() bool { n := c.read(call).Counts; return n["pending"] == 0 && len(n) > 0 })
	if diff := cmp.Diff(map[string]int{"failed": 10}, c.read(call).Counts); diff != "" {
		t.Errorf("messages by status (-want +got):\n%s", diff)
	}
}

// A recipient who opts out receives no messages of the tenant until they opt in again.
func TestOptOuts(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	c.fillOptOuts()
	sink := c.receiver()
	all := messages(3)
	texted, left := all[0]["phone"], all[1]["phone"]
	c.sendEvent(fields{"phone": texted, "text": " Parar "})
	c.sendEvent(fields{"phone": left, "eventType": "UNSUBSCRIBE"})
	c.sendEvent(fields{"phone": all[2]["phone"], "text": "obrigada"})
	c.eventually(5*time.Minute, "webhooks received", func() bool {
		return cmp.Equal(map[string]int{"message.replied": 2, "message.opted_out": 2}, sink.kinds())
	})

	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != 3 || got.Rejected != 0 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "failed or read", func() bool {
		return cmp.Equal(map[string]int{"failed": 2, "read": 1}, c.read(call).Counts)
	})
	for uid, f := range c.fates(call, "&status=failed") {
		if f.Code != "opted_out" || f.Phone != texted && f.Phone != left {
			t.Errorf("message %s: %+v", uid, f)
		}
	}

	c.sendEvent(fields{"phone": texted, "text": "COMEÇAR"})
	c.sendEvent(fields{"phone": left, "eventType": "SUBSCRIBE"})
	c.eventually(5*time.Minute, "sent after the opt-in", func() bool { // functions cache opt-outs
		again := c.call(all[:2])
		if got := c.dispatch(again); got.Accepted != 2 {
			t.Fatalf("dispatch: status %d: %s", got.status, got.body)
		}
		c.eventually(5*time.Minute, "failed or read", func() bool { n := c.read(again).Counts; return n["failed"]+n["read"] == 2 })
		return c.read(again).Counts["read"] == 2
	})
	shards, err := c.store().OptOuts(t.Context(), c.env["TENANT"])
	must(t, err)
	if !slices.ContainsFunc(shards, func(o campaign.OptOuts) bool { return len(o.Parts) > 1 }) {
		t.Error("no row of opt-outs was split")
	}
	for _, l := range sink.accepted() {
		if l.Type == "message.replied" && l.Data.Phone == all[2]["phone"] && l.Data.Text != "obrigada" {
			t.Errorf("webhook of the reply: %+v", l)
		}
	}
}
