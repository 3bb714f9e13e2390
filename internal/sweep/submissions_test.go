package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

func (m mortal) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	return call(m, "Submission", func() (submission.Submission, error) { return m.w.store.Submission(ctx, id) })
}

func (m mortal) SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	return call(m, "SaveSubmission", func() (submission.Submission, error) { return m.w.store.SaveSubmission(ctx, sub) })
}

func (m mortal) Move(ctx context.Context, id campaign.ID) (campaign.Move, error) {
	return call(m, "Move", func() (campaign.Move, error) { return m.w.store.Move(ctx, id) })
}

// oneSubmission is a store with a due submission, and the queue of its tasks.
type oneSubmission struct {
	unpaused

	stored  submission.Submission
	move    campaign.Move
	missing error
	raced   error
	did     []string
}

func (s *oneSubmission) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) { yield(overdue.Item{Submission: &s.stored.ID}, nil) }
}

func (s *oneSubmission) Submission(context.Context, campaign.ID) (submission.Submission, error) {
	return s.stored, s.missing
}

func (s *oneSubmission) Move(context.Context, campaign.ID) (campaign.Move, error) { return s.move, nil }

func (s *oneSubmission) SaveSubmission(_ context.Context, sub submission.Submission) (submission.Submission, error) {
	if did := fmt.Sprintf("saved with %d repairs", sub.Repairs); s.raced == nil {
		if sub.State != s.stored.State {
			did = string(sub.State)
		}
		s.stored, s.did = sub, append(s.did, did)
	}
	return sub, s.raced
}

func (s *oneSubmission) SendAll(_ context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		s.did = append(s.did, "queued for "+group+": "+string(body))
	}
	return nil
}

func TestSweep_Submission(t *testing.T) {
	t.Parallel()
	const queued = `queued for t: {"tenant":"t","campaignId":"c"}`
	late := beginning.Add(-submission.RepairAfter)
	for name, test := range map[string]struct {
		store oneSubmission
		want  string
	}{
		"its task is lost":        {oneSubmission{stored: submission.Submission{State: submission.StateChecking, UpdatedAt: late}}, "saved with 1 repairs, " + queued},
		"its files are left":      {oneSubmission{stored: submission.Submission{State: submission.StateDiscarded, DeletingFiles: true, UpdatedAt: late}}, "saved with 1 repairs, " + queued},
		"a step was just saved":   {oneSubmission{stored: submission.Submission{State: submission.StateSending, UpdatedAt: beginning}}, ""},
		"it was queued again":     {oneSubmission{stored: submission.Submission{State: submission.StateSending, UpdatedAt: late, Repairs: 1}}, ""},
		"nobody sent it in time":  {oneSubmission{stored: submission.Submission{State: submission.StateReady, CreatedAt: beginning.Add(-submission.Life), UpdatedAt: late}}, "discarded, " + queued},
		"it was not sent in time": {oneSubmission{stored: submission.Submission{State: submission.StateSending, CreatedAt: beginning.Add(-submission.Life), UpdatedAt: late}}, "discarded, " + queued},
		"it expired before":       {oneSubmission{stored: submission.Submission{State: submission.StateDiscarded, CreatedAt: beginning.Add(-submission.Life), UpdatedAt: late}}, ""},
		"a person decides":        {oneSubmission{stored: submission.Submission{State: submission.StateReady, UpdatedAt: late}}, ""},
		"it is deleted":           {oneSubmission{missing: campaign.ErrNotFound}, ""},
		"its worker is faster":    {oneSubmission{stored: submission.Submission{State: submission.StateSending, UpdatedAt: late}, raced: campaign.ErrLostRace}, ""},
		"it cannot be saved":      {oneSubmission{stored: submission.Submission{State: submission.StateSending, UpdatedAt: late}, raced: errors.New("unavailable")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.store
			if s.stored.CreatedAt.IsZero() {
				s.stored.CreatedAt = beginning.Add(-time.Hour)
			}
			s.stored.ID = campaign.ID{Tenant: "t", CampaignID: "c"}
			sweeper := &sweep.Sweeper{Store: &s, Intake: &s, Shards: 1, Now: func() time.Time { return beginning }}
			if err := sweeper.Sweep(t.Context(), sweep.Section{}); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(test.want, strings.Join(s.did, ", ")); diff != "" {
				t.Errorf("it did (-want +got):\n%s", diff)
			}
		})
	}
}

// Waves wait for a person for 14 days after the campaign's time. If it was rescheduled, they wait as long after the new time.
func TestSweep_WavesOfRescheduled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		move campaign.Move
		want submission.State
	}{
		"rescheduled":     {campaign.Move{Due: beginning.Add(-24 * time.Hour), Revision: 1}, submission.StateHolding},
		"not rescheduled": {campaign.Move{}, submission.StateDiscarded},
		"long ago":        {campaign.Move{Due: beginning.Add(-rollout.MaxDuration), Revision: 1}, submission.StateDiscarded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun := beginning.Add(-rollout.MaxDuration - time.Hour)
			s := oneSubmission{move: test.move, stored: submission.Submission{
				ID: campaign.ID{Tenant: "t", CampaignID: "c"}, State: submission.StateHolding, CreatedAt: begun, UpdatedAt: begun,
				Sending: submission.Sending{Parts: 1, Waves: []submission.Opened{{At: begun}}},
			}}
			sweeper := &sweep.Sweeper{Store: &s, Intake: &s, Shards: 1, Now: func() time.Time { return beginning }}
			if err := sweeper.Sweep(t.Context(), sweep.Section{}); err != nil {
				t.Error(err)
			}
			if queued := strings.Contains(strings.Join(s.did, " "), "queued"); queued != (test.want == submission.StateDiscarded) {
				t.Errorf("a task was queued: %t", queued)
			}
			if s.stored.State != test.want {
				t.Errorf("the waves are %s, want %s", s.stored.State, test.want)
			}
			if next := s.stored.NextCheck(beginning); test.want == submission.StateHolding && !next.Equal(test.move.Due.Add(rollout.MaxDuration)) {
				t.Errorf("they are looked at again at %v", next)
			}
		})
	}
}
