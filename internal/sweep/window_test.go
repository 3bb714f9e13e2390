package sweep_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
)

// weekdays is a policy for promotions: Monday to Friday from 9 to 21 o'clock.
func weekdays() reach.TenantHours {
	rule := reach.Usual()
	rule.Week[time.Saturday] = window.Hours{}
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: rule}}
}

// saveRule replaces the tenant's send policy.
func (w *pipeline) saveRule(p reach.TenantHours) {
	w.t.Helper()
	read, err := w.store.TenantHours(w.t.Context(), w.tenant)
	w.must(err)
	p.Revision = read.Revision
	w.must(w.store.SaveTenantHours(w.t.Context(), w.tenant, p))
}

// at sets the clock to a time in São Paulo on the Monday of the beginning, or on a later day.
func (w *pipeline) at(day, hour, minute int) {
	w.t.Helper()
	w.advance(time.Date(2100, 3, 1+day, hour+3, minute, 0, 0, time.UTC).Sub(w.clock()))
}

// inZones makes the messages of a batch go to recipients in São Paulo, Manaus and Rio Branco, in this order, half of
// them in São Paulo.
func (w *pipeline) inZones(b *campaign.Batch) {
	var writer payload.Writer
	b.Zones = []window.Count{
		{Zone: window.SaoPaulo, Messages: b.Accepted / 2}, {Zone: window.Manaus, Messages: b.Accepted / 4},
	}
	b.Zones = append(b.Zones, window.Count{Zone: window.RioBranco, Messages: b.Accepted - b.Accepted/2 - b.Accepted/4})
	areas := map[window.Zone]uint64{window.SaoPaulo: 11, window.Manaus: 92, window.RioBranco: 68}
	i := 0
	for _, z := range b.Zones {
		for range z.Messages {
			writer.Add(55e11+areas[z.Zone]*1e9+900000000+uint64(i), nil, [][]byte{[]byte(strconv.Itoa(i))})
			i++
		}
	}
	w.blobs[b.Payload], b.Offsets = writer.Finish()
}

// sendsByHour counts the provider's calls by the hour of São Paulo.
func (w *pipeline) countSends() map[string]int {
	sends := map[string]int{}
	w.provider.refuse = func(outgoing.Message) error {
		sends[w.clock().Add(-3*time.Hour).Format("Mon 15h")]++
		return nil
	}
	return sends
}

func TestWindow_Night(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.at(0, 23, 30)
	sends := w.countSends()
	b := w.accept(403, w.inZones)
	w.handOff(b)
	n := w.changes(b, 15*time.Hour)
	w.checkSent(b)
	if diff := cmp.Diff(map[string]int{"Tue 09h": 201, "Tue 10h": 100, "Tue 11h": 102}, sends); diff != "" {
		t.Errorf("sends by hour (-want +got):\n%s", diff)
	}
	if n > 7 { // the release, three openings, a check after the first and the second, the last message
		t.Errorf("the row of the batch changed %d times", n)
	}
}

// The row of a batch that waits changes neither in the night nor at the weekend.
func TestWindow_WaitsWithoutWrites(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.at(4, 22, 0)
	b := w.accept(103)
	w.handOff(b)
	if n := w.changes(b, 58*time.Hour); n > 1 {
		t.Errorf("the row changed %d times from Friday 22h to Monday 8h", n)
	}
	if w.provider.calls > 0 {
		t.Errorf("%d messages were sent at the weekend", w.provider.calls)
	}
	w.run(b, 2*time.Hour)
	w.checkSent(b)
}

// Tasks that arrive after the close are dropped, also of a batch that was accepted before there was a window.
func TestWindow_SetWhileQueued(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(w *pipeline, b *campaign.Batch){
		"with zones": func(w *pipeline, b *campaign.Batch) { w.inZones(b) },
		"without":    func(w *pipeline, b *campaign.Batch) { w.inZones(b); b.Zones = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			w.at(0, 23, 30)
			sends := w.countSends()
			b := w.accept(403, func(b *campaign.Batch) { edit(w, b) })
			w.handOff(b)
			w.deliver(w.releases, w.releaser(), 1)
			w.saveRule(weekdays())
			w.changes(b, 15*time.Hour)
			w.checkSent(b)
			if diff := cmp.Diff(map[string]int{"Tue 09h": 201, "Tue 10h": 100, "Tue 11h": 102}, sends); diff != "" {
				t.Errorf("sends by hour (-want +got):\n%s", diff)
			}
		})
	}
}

// A changed rule applies to the batches that wait within minutes.
func TestWindow_RuleRemoved(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.at(4, 22, 0)
	b := w.accept(103)
	w.handOff(b)
	w.run(b, time.Hour)
	w.saveRule(reach.TenantHours{})
	w.run(b, 3*time.Minute)
	w.checkSent(b)
}

func TestWindow_NotAfter(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.at(0, 23, 30)
	b := w.accept(403, w.inZones, func(b *campaign.Batch) { b.NotAfter = b.Due.Add(11 * time.Hour) }) // 10:30
	w.handOff(b)
	w.run(b, 15*time.Hour)
	if diff := cmp.Diff(map[string]int{"sent ": 301, "expired window_closed": 102}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestWindow_Cancelled(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.at(4, 22, 0)
	b := w.accept(103)
	w.handOff(b)
	w.run(b, 30*time.Minute)
	w.cancel(b, "")
	w.run(b, 3*time.Minute)
	if diff := cmp.Diff(map[string]int{"stopped cancelled": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes 3 minutes after the cancellation (-want +got):\n%s", diff)
	}
}

// A pause that ends in the night does not open the window.
func TestWindow_PauseEndsInTheNight(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	w.saveRule(weekdays())
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	w.at(0, 20, 0)
	b := w.accept(103)
	w.handOff(b)
	w.run(b, 2*time.Hour)
	w.must(w.store.Resume(t.Context(), "tenant#"+w.tenant))
	w.run(b, time.Hour)
	if w.provider.calls > 0 {
		t.Errorf("%d messages were sent in the night", w.provider.calls)
	}
	w.run(b, 12*time.Hour)
	w.checkSent(b)
}

// saturdays makes a batch go on Saturday mornings only.
func saturdays(b *campaign.Batch) {
	b.SendWindow = &window.Week{time.Saturday: {From: 10 * 60, Until: 11 * 60}}
}

// unopened runs a batch that waits for Saturday in the night before, until it was seen that Saturdays are closed.
func (w *pipeline) unopened() campaign.Batch {
	w.t.Helper()
	w.saveRule(reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}})
	w.at(4, 22, 0)
	b := w.accept(103, w.inZones, saturdays)
	w.handOff(b)
	if now := w.run(b, time.Hour); now.NeverOpen.Zones != 0 || now.Waits.Zones == 0 {
		w.t.Fatalf("before the change, the batch has %+v and waits in %v", now.NeverOpen, now.Waits.Zones.Zones())
	}
	w.saveRule(weekdays())
	if now := w.run(b, 3*time.Minute); now.NeverOpen.Zones != b.ZoneSet() || w.clock().Sub(now.NeverOpen.Since) > 3*time.Minute {
		w.t.Fatalf("after the change at %v, the batch has %+v", w.clock(), now.NeverOpen)
	}
	return b
}

// Messages whose window never opens end 72 hours after that was seen. Nothing is written meanwhile.
func TestWindow_NeverOpens(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.unopened()
	ends := w.batch(b).EndsUnopened()
	n := w.changes(b, ends.Sub(w.clock())-time.Minute)
	if got := w.outcomes(b); len(got) > 0 || n > 0 {
		t.Errorf("before %v, %d changes, and outcomes %v", ends, n, got)
	}
	w.run(b, 5*time.Minute)
	if diff := cmp.Diff(map[string]int{"expired window_closed": 103}, w.outcomes(b)); diff != "" || w.provider.calls > 0 {
		t.Errorf("%d messages were sent; outcomes (-want +got):\n%s", w.provider.calls, diff)
	}
	if now := w.batch(b); !now.Closed() || w.clock().Sub(ends) > 5*time.Minute {
		t.Errorf("the batch is %s at %v, %v after its end", now.State, w.clock(), w.clock().Sub(ends))
	}
}

// If the hours change in time, the messages go.
func TestWindow_OpensAgain(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.unopened()
	w.run(b, 70*time.Hour)
	w.saveRule(reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}})
	if now := w.run(b, 3*time.Minute); now.NeverOpen.Zones != 0 || !now.NeverOpen.Since.IsZero() {
		t.Errorf("after the change, the batch has %+v", now.NeverOpen)
	}
	w.run(b, 6*24*time.Hour)
	w.checkSent(b)
}

// A change that opens nothing does not begin the 72 hours again.
func TestWindow_OtherHoursChange(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.unopened()
	ends := w.batch(b).EndsUnopened()
	w.run(b, 48*time.Hour)
	p := weekdays()
	p.Holidays = []string{"12-24"}
	w.saveRule(p)
	w.run(b, ends.Sub(w.clock())+5*time.Minute)
	if diff := cmp.Diff(map[string]int{"expired window_closed": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes at %v (-want +got):\n%s", w.clock(), diff)
	}
}

// A paused campaign keeps its messages, and they end when it is resumed.
func TestWindow_NeverOpensWhilePaused(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	b := w.unopened()
	w.must(w.store.Pause(t.Context(), "tenant#"+w.tenant))
	w.run(b, 80*time.Hour)
	if got := w.outcomes(b); len(got) > 0 {
		t.Errorf("while it is paused, outcomes are %v", got)
	}
	w.must(w.store.Resume(t.Context(), "tenant#"+w.tenant))
	w.run(b, 5*time.Minute)
	if diff := cmp.Diff(map[string]int{"expired window_closed": 103}, w.outcomes(b)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// Friday at 21:00, closed on Saturday, and Monday is a holiday: 84 hours are a wait, not an end.
func TestWindow_LongWeekend(t *testing.T) {
	t.Parallel()
	w := newPipeline(t)
	p := weekdays()
	p.Holidays = []string{"2100-03-08"}
	w.saveRule(p)
	w.at(4, 21, 0)
	sends := w.countSends()
	b := w.accept(103)
	w.handOff(b)
	if n := w.changes(b, 83*time.Hour); n > 1 {
		t.Errorf("the row changed %d times in the long weekend", n)
	}
	w.run(b, 2*time.Hour)
	w.checkSent(b)
	if diff := cmp.Diff(map[string]int{"Tue 09h": 103}, sends); diff != "" {
		t.Errorf("sends by hour (-want +got):\n%s", diff)
	}
}

// A window that opens only after a distant notAfter: the messages end after 72 hours, not at notAfter. With a near one,
// they end then. Nothing goes after it.
func TestWindow_OpensAfterNotAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ notAfter, ends time.Duration }{
		"distant": {6 * 24 * time.Hour, 72 * time.Hour}, "near": {24 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPipeline(t)
			w.saveRule(reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}})
			w.at(5, 14, 0) // on Saturday, after its hour in each zone
			b := w.accept(103, w.inZones, saturdays, func(b *campaign.Batch) { b.NotAfter = b.Due.Add(test.notAfter) })
			w.handOff(b)
			w.run(b, test.ends-time.Minute)
			if got := w.outcomes(b); len(got) > 0 {
				t.Errorf("a minute before, outcomes are %v", got)
			}
			w.run(b, 6*time.Minute)
			if diff := cmp.Diff(map[string]int{"expired window_closed": 103}, w.outcomes(b)); diff != "" || w.provider.calls > 0 {
				t.Errorf("%d messages were sent; outcomes (-want +got):\n%s", w.provider.calls, diff)
			}
		})
	}
}
