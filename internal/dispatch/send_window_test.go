package dispatch_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/send/policy"
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
	p := policy.Policy{Rules: map[campaign.Traffic]policy.Rule{campaign.Promotion: policy.Usual()}}
	b.must(b.store.SaveSendPolicy(b.t.Context(), b.tenant, p))
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
	b.must(b.store.SaveSendPolicy(t.Context(), b.tenant, policy.Policy{Rules: map[campaign.Traffic]policy.Rule{campaign.Transaction: policy.Usual()}}))
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
	stored, err := payload.ReadAll(t.Context(), b.Blobs.(payload.Blobs), batch)
	b.must(err)
	var uids []string
	for _, m := range stored {
		uids = append(uids, m.UID)
	}
	if diff := cmp.Diff([]string{"porto", "sampa", "manaus", "acre"}, uids); diff != "" {
		t.Errorf("the stored messages (-want +got):\n%s", diff)
	}
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
