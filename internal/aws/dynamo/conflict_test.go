package dynamo

import (
	"testing"
	"testing/synctest"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// DynamoDB refuses the write of a row that a transaction is changing. The parts of a file change their
// campaign one after the other, so a person's cancellation often meets one.
func TestStores_TransactionConflict(t *testing.T) {
	t.Parallel()
	id := campaign.ID{Tenant: "t", CampaignID: "c"}
	for name, write := range map[string]func(t *testing.T, s *Stores) error{
		"cancellation": func(t *testing.T, s *Stores) error {
			t.Helper()
			return s.CancelCampaign(t.Context(), id, time.Now(), true)
		},
		"step": func(t *testing.T, s *Stores) error {
			t.Helper()
			_, err := s.SaveSubmission(t.Context(), submission.Submission{ID: id})
			return err
		},
		"skipped part": func(t *testing.T, s *Stores) error {
			t.Helper()
			return s.SkipPart(t.Context(), id, campaign.SubmissionTotals{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conflict := refused(400, "TransactionConflictException")
				sdk := &script{answers: []answer{conflict, conflict, committed()}}
				tables := FromEnv(sdk.table().Client, func(name string) string { return name }, time.Now)
				if err := write(t, New(tables)); err != nil || len(sdk.answers) != 1 || len(sdk.tokens) < 3 {
					t.Errorf("%v after %d calls, want a third one without an error", err, len(sdk.tokens))
				}
			})
		})
	}
}
