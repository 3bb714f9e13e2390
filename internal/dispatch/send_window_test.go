package dispatch_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// inZones are messages to people in Manaus, Portugal, São Paulo, an unknown area code and Rio Branco, and to an invalid
// number.
func inZones() []fields {
	return []fields{
		{"phone": "+5592987654321", "uid": "manaus"},
		{"phone": "+351912345678", "uid": "porto"},
		{"phone": "11987654321", "uid": "sampa"},
		{"phone": "x", "uid": "invalid"},
		{"phone": "68987654321", "uid": "acre"},
	}
}

// putRule gives the tenant the usual rule for promotions.
func (b *bench) putRule() {
	b.t.Helper()
	b.must(b.store.SaveTenantHours(b.t.Context(), b.tenant, usualPolicy()))
}

func usualPolicy() reach.TenantHours {
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}
}

func at(day, hour, minute int) time.Time {
	return time.Date(2037, 11, day, hour, minute, 0, 0, time.UTC)
}

func TestSendWindow_DryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putRule()
	got := b.dryRun(b.body(fields{"messages": inZones(), "schedule": "2037-11-22T12:00:00", "notAfter": "2037-11-23T13:30:00Z"}))
	var answer struct {
		Window []struct {
			Zone     string
			Messages int
			OpensAt  time.Time
		}
		CannotGo *int
	}
	b.must(json.Unmarshal([]byte(got.body), &answer))
	want := []struct {
		Zone     string
		Messages int
		OpensAt  time.Time
	}{
		{"America/Sao_Paulo", 2, at(23, 12, 0)}, {"America/Manaus", 1, at(23, 13, 0)}, {"America/Rio_Branco", 1, at(23, 14, 0)},
	}
	if diff := cmp.Diff(want, answer.Window); diff != "" || answer.CannotGo == nil || *answer.CannotGo != 1 {
		t.Errorf("%s\nopenings (-want +got):\n%s", got.body, diff)
	}
}

func TestSendWindow_NotForThisTraffic(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.store.SaveTenantHours(t.Context(), b.tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Transaction: reach.Usual()}}))
	b.post(b.body(fields{"messages": inZones()})).accepted(t)
	if got := b.handoffs.batches[0]; got.Zones != nil || got.SendWindow != nil {
		t.Errorf("the batch has %+v, %+v", got.Zones, got.SendWindow)
	}
}

// The messages are stored by zone, with their uids; the answer keeps the order of the call.
func TestSendWindow_Accepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putRule()
	got := b.post(b.body(fields{"messages": inZones(), "sendWindow": fields{"days": []string{"monday", "saturday"}, "from": "08:00", "until": "12:30"}}))
	got.accepted(t)
	if len(got.Feedback.InvalidPhones) != 1 || got.Feedback.InvalidPhones[0].Phone != "x" {
		t.Errorf("answered %s", got.body)
	}
	batch, err := b.store.Batch(t.Context(), b.handoffs.batches[0].BatchRef)
	b.must(err)
	wantZones := []window.Count{{Zone: window.SaoPaulo, Messages: 2}, {Zone: window.Manaus, Messages: 1}, {Zone: window.RioBranco, Messages: 1}}
	wantWeek := window.Week{time.Monday: {From: 8 * 60, Until: 12*60 + 30}, time.Saturday: {From: 8 * 60, Until: 12*60 + 30}}
	if diff := cmp.Diff([]any{wantZones, &wantWeek}, []any{batch.Zones, batch.SendWindow}); diff != "" {
		t.Errorf("the batch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"porto", "sampa", "manaus", "acre"}, b.storedUIDs(batch)); diff != "" {
		t.Errorf("the stored messages (-want +got):\n%s", diff)
	}
}

// storedUIDs returns the uids of a batch in the order of its payload.
func (b *bench) storedUIDs(batch campaign.Batch) (uids []string) {
	b.t.Helper()
	stored, err := payload.ReadAll(b.t.Context(), b.Blobs.(payload.Blobs), batch)
	b.must(err)
	for _, m := range stored {
		uids = append(uids, m.UID)
	}
	return uids
}

// The payload, the zones and the billing classes have one order, also if the hours change during a lost race.
func TestSendWindow_ChangedDuringLostRace(t *testing.T) {
	t.Parallel()
	inManaus := usualPolicy()
	inManaus.Zone = window.Manaus
	zones := func(saoPaulo, manaus int) []window.Count {
		return []window.Count{{Zone: window.SaoPaulo, Messages: saoPaulo}, {Zone: window.Manaus, Messages: manaus}, {Zone: window.RioBranco, Messages: 1}}
	}
	for name, test := range map[string]struct {
		before, after reach.TenantHours
		uids          []string
		zones         []window.Count
		short         int // the index of the only message of the basic class, sampa
	}{
		"first hours":   {reach.TenantHours{}, usualPolicy(), []string{"porto", "sampa", "manaus", "acre"}, zones(2, 1), 1},
		"hours removed": {usualPolicy(), reach.TenantHours{}, []string{"manaus", "porto", "sampa", "acre"}, nil, 2},
		"another zone":  {usualPolicy(), inManaus, []string{"sampa", "manaus", "porto", "acre"}, zones(1, 2), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			save := func(p reach.TenantHours) { b.must(b.store.SaveTenantHours(t.Context(), b.tenant, p)) }
			save(test.before)
			test.after.Revision = 1 // it follows the first one
			b.Store = &changing{b.Store, func() error { save(test.after); return campaign.ErrLostRace }}
			b.post(b.body(fields{"messages": shortTo("sampa"), "templateId": b.template})).accepted(t)
			batch, err := b.store.Batch(t.Context(), b.handoffs.batches[0].BatchRef)
			b.must(err)
			want := []any{test.uids, test.zones, campaign.Classes{Basic: 1, Bits: []byte{1 << test.short}}}
			if diff := cmp.Diff(want, []any{b.storedUIDs(batch), batch.Zones, batch.Classes}); diff != "" {
				t.Errorf("uids, zones and classes of the batch (-want +got):\n%s", diff)
			}
		})
	}
}

// shortTo are messages of inZones: that of one uid is short, and the others exceed the basic class.
func shortTo(uid string) []fields {
	all := inZones()
	for _, m := range all {
		m["vars"] = fields{"nome": "Ana", "pedido": strings.Repeat("1", content.BasicBytes)}
		if m["uid"] == uid {
			m["vars"] = fields{"nome": "Ana", "pedido": "1"}
		}
	}
	return all
}

func TestSendWindow_Outside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putRule()
	for name, test := range map[string]struct {
		window  fields
		pointer string
	}{
		"a closed day":     {fields{"days": []string{"monday", "sunday"}}, "/sendWindow/days"},
		"only closed days": {fields{"days": []string{"sunday"}}, "/sendWindow"},
		"the night":        {fields{"from": "21:00"}, "/sendWindow"},
		"after Saturday's": {fields{"days": []string{"friday", "saturday"}, "from": "17:00"}, "/sendWindow/days"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(b.body(fields{"sendWindow": test.window}))
			got.want(t, http.StatusBadRequest, "outside_send_window")
			if len(got.Errors) != 1 || got.Errors[0].Pointer != test.pointer {
				t.Errorf("errors = %+v, want one at %s", got.Errors, test.pointer)
			}
		})
	}
}
