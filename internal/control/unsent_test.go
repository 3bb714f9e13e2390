package control_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/intake/submission"
)

// file stores a file of the campaign of which no part is accepted yet.
func (d *service) file(state submission.State) submission.Submission {
	d.t.Helper()
	sub, err := d.store.SaveSubmission(d.t.Context(), submission.Submission{
		ID: d.id, Name: "Entregas", State: state, CreatedAt: noon, Approval: submission.Approval{AskedBy: "bia@example.com", Decision: submission.DecisionApproved},
		Check: submission.Check{Rows: 8, Parts: 3, Findings: submission.Findings{
			Accepted: 6, Rejected: []submission.LineFault{{Lines: submission.Lines{Count: 2}}},
		}},
	})
	d.must(err)
	return sub
}

// firstPart accepts the first part of a file.
func (d *service) firstPart(sub submission.Submission) error {
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: d.id, BatchID: campaign.BatchID("1")}, Name: "1", Accepted: 2, AcceptedAt: noon, Due: noon,
		State: campaign.BatchPending, Part: "p",
	}
	_, _ = rand.Read(b.Key[:])
	return d.store.Accept(d.t.Context(), acceptance.Command{
		Batch: b, Campaign: sub.Name, Ordinal: 1, Packed: []byte{0}, CreatedAt: noon, Submission: sub.Totals().WithPart(2, 2, 0),
	}, rand.Text())
}

// A file that is cancelled before its first part becomes a cancelled campaign, which takes no part.
func TestServeCancel_Unsent(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"the name is free": false, "another campaign has the name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			if taken {
				own := d.id
				d.id.CampaignID = "1190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"
				d.accept(1, "", 1, campaign.BatchSending) // it is named Entregas
				d.id = own
			}
			sub := d.file(submission.StateSending)
			for range 2 {
				if got := d.post("/cancel?revoke=true", ""); got != "202 cancelling" {
					t.Fatal(got)
				}
			}
			d.work()
			if err := d.firstPart(sub); !errors.Is(err, campaign.ErrLostRace) {
				t.Errorf("the first part after the cancellation: %v", err)
			}
			c, err := d.store.Overview(t.Context(), d.id)
			d.must(err)
			want := campaign.Campaign{
				ID: d.id, Name: "Entregas", AskedBy: "bia@example.com", CreatedAt: noon, CancelledAt: noon, Revoke: true,
				Submission: sub.Totals(), Batches: []campaign.BatchProgress{},
			}
			want.Submission.PartsToCome = 0
			if diff := cmp.Diff(want, c); diff != "" {
				t.Errorf("the campaign (-want +got):\n%s", diff)
			}
			d.listed(1, taken)
			d.expires()
		})
	}
}

// listed checks that the list has the campaign, besides another one.
func (d *service) listed(campaigns int, another bool) {
	d.t.Helper()
	if another {
		campaigns++
	}
	all, err := d.store.ListCampaigns(d.t.Context(), d.id.Tenant, "", 10)
	d.must(err)
	found := 0
	for _, c := range all {
		if c.CampaignID == d.id.CampaignID && c.Name == "Entregas" {
			found++
		}
	}
	if len(all) != campaigns || found != 1 {
		d.t.Errorf("the list has %d campaigns, this one %d times; want %d", len(all), found, campaigns)
	}
}

// expires checks when the campaign is deleted.
func (d *service) expires() {
	d.t.Helper()
	l, err := d.store.Lifetime(d.t.Context(), d.id)
	d.must(err)
	if want := noon.Add(campaign.Retention); !l.ExpiresAt().Equal(want) || !l.Check.Equal(want) {
		d.t.Errorf("it expires at %v and is checked at %v, want %v", l.ExpiresAt(), l.Check, want)
	}
}

// A file whose first part is accepted while it is cancelled is cancelled like any campaign.
func TestServeCancel_UnsentRace(t *testing.T) {
	t.Parallel()
	d := newService(t)
	sub := d.file(submission.StateSending)
	d.must(d.firstPart(sub))
	unsent := campaign.Campaign{ID: d.id, Name: "Entregas", Submission: sub.Totals(), CancelledAt: noon}
	if err := d.store.CreateCancelled(t.Context(), unsent); !errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("a campaign that exists is created: %v", err)
	}
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	c, err := d.store.Overview(t.Context(), d.id)
	d.must(err)
	if s := c.Submission; len(c.Batches) != 1 || s.PartsToCome != 0 || s.Accepted != 2 || s.NeverAccepted() != 4 {
		t.Errorf("%d batches, %+v", len(c.Batches), s)
	}
}

// Only a file that was sent has a campaign to cancel. Its time cannot change before its first part.
func TestControl_UnsentRefused(t *testing.T) {
	t.Parallel()
	body := `{"schedule":"` + noon.Add(time.Hour).Format(time.RFC3339) + `"}`
	for state, want := range map[submission.State][2]string{
		submission.StateReady:       {"404 campaign_not_found", "404 campaign_not_found"},
		submission.StateApproval:    {"404 campaign_not_found", "404 campaign_not_found"},
		submission.StateDiscarded:   {"404 campaign_not_found", "404 campaign_not_found"},
		submission.StateSending:     {"409 campaign_not_accepted", "202 cancelling"},
		submission.StateInterrupted: {"409 campaign_not_accepted", "202 cancelling"},
	} {
		d := newService(t)
		d.file(state)
		if got := d.post("/reschedule", body); got != want[0] {
			t.Errorf("%s, rescheduled: %s, want %s", state, got, want[0])
		}
		if got := d.post("/cancel", ""); got != want[1] {
			t.Errorf("%s, cancelled: %s, want %s", state, got, want[1])
		}
	}
}

// The waves of a cancelled campaign that wait for a person are discarded. Those of another state are left to their task.
func TestServeCancel_Waves(t *testing.T) {
	t.Parallel()
	for state, want := range map[submission.State]submission.State{
		submission.StateHolding: submission.StateDiscarded, submission.StateSending: submission.StateSending,
		submission.StateInterrupted: submission.StateInterrupted,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			sub := d.file(submission.StateSending)
			d.must(d.firstPart(sub))
			sub.State, sub.Sending.Waves = state, []submission.Opened{{At: noon}}
			_, err := d.store.SaveSubmission(t.Context(), sub)
			d.must(err)
			for range 2 {
				if got := d.post("/cancel", ""); got != "202 cancelling" {
					t.Fatal(got)
				}
				d.work()
			}
			got, err := d.store.Submission(t.Context(), d.id)
			d.must(err)
			if got.State != want || got.DeletingFiles != (want == submission.StateDiscarded) {
				t.Errorf("it is %s, files are to be deleted: %t; want %s", got.State, got.DeletingFiles, want)
			}
		})
	}
}
