package query_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

// inWaves are the totals of a file of 13 people in 5 parts and 3 waves. The first wave has two cells.
func inWaves() campaign.SubmissionTotals {
	return campaign.SubmissionTotals{
		Lines: 13, People: 13, PartsToCome: 5, Parts: 5, Check: 1, Until: noon.AddDate(0, 0, 14),
		Cells: campaign.Cells{{Until: 50, Parts: 1, Wave: 1}, {Until: 58, Parts: 1, Wave: 1}, {Until: 1000, Parts: 2, Wave: 2}, {Until: 10_000, Parts: 1, Wave: 3}},
	}
}

// acceptPart accepts the next part of the file, a number of minutes after noon.
func (d *service) acceptPart(ordinal int, name string, people, minute int) {
	d.t.Helper()
	d.totals = d.totals.WithPart(people, people, 0)
	d.accept(ordinal, name, people, func(b *campaign.Batch) {
		b.Part, b.AcceptedAt = "part "+name, noon.Add(time.Duration(minute)*time.Minute)
	})
}

// The answer has the buckets of each wave, what was accepted of it, and whether a person has to open the next one. A batch
// of the API is in no wave, though its name is a number. The status does not show that the campaign waits.
func TestServeCampaign_Waves(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.totals = inWaves()
	first := object{"wave": 1., "from": 0., "until": 58., "accepted": 2., "openedAt": "2037-11-21T12:00:00Z"}
	second := object{"wave": 2., "from": 58., "until": 1000., "accepted": 0.}
	third := object{"wave": 3., "from": 1000., "until": 10_000., "accepted": 0.}
	check := func(status, state string, wave float64) {
		t.Helper()
		want := object{
			"scope": "wave/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10", "state": state, "wave": wave, "waves": []any{first, second, third},
		}
		code, got := d.get("")
		if code != http.StatusOK || got["status"] != status {
			t.Errorf("%d, %v, want %s", code, got["status"], status)
		}
		if diff := cmp.Diff(want, got["rollout"]); diff != "" {
			t.Errorf("rollout (-want +got):\n%s", diff)
		}
	}
	d.acceptPart(1, "1", 2, 0)
	check("sending", "sending", 1)
	d.acceptPart(2, "2", 1, 1)
	first["accepted"] = 3.
	check("sending", "holding", 1)
	file := d.totals
	d.totals = campaign.SubmissionTotals{}
	d.accept(3, "5", 7, nil)
	check("sending", "holding", 1)
	d.totals = file
	d.acceptPart(4, "3", 4, 300)
	second["accepted"], second["openedAt"] = 4., "2037-11-21T17:00:00Z"
	check("sending", "sending", 2)
	d.acceptPart(5, "4", 3, 301)
	second["accepted"] = 7.
	check("sending", "holding", 2)
	_, err := d.store.EndParts(t.Context(), d.id)
	d.must(err)
	check("sending", "ended", 2)
}

// A campaign that goes at once has no waves, though its file is divided.
func TestServeCampaign_AtOnce(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.totals = inWaves()
	for n := range d.totals.Cells {
		d.totals.Cells[n].Wave = 0
	}
	d.acceptPart(1, "1", 2, 0)
	if _, got := d.get(""); got["rollout"] != nil {
		t.Errorf("rollout: %v", got["rollout"])
	}
}
