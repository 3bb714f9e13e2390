package dynamo_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/outcome/reaction"
)

const writer = "+5511900000001"

// write stores a reply. It may arrive more than once.
func write(t *testing.T, s *dynamotest.Store, tenant, text string, ago time.Duration, doubtful bool) reaction.Reply {
	t.Helper()
	r := reaction.NewReply(later.Add(-ago), tenant+text, writer, text)
	r.Doubtful = doubtful
	if err := s.SaveReply(t.Context(), tenant, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// texts returns the texts of replies, with a mark of those that are doubtful.
func texts(t *testing.T, replies []reaction.Reply, err error) (all []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replies {
		if r.Doubtful {
			r.Text += "?"
		}
		all = append(all, r.Text)
	}
	return all
}

// A doubtful reply is marked until it is settled. A repeated event does not bring the mark back.
func TestReplies_Doubtful(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), rand.Text()
	expect := func(all, doubtful []string) {
		t.Helper()
		found, err := s.RepliesOf(t.Context(), tenant, writer)
		if diff := cmp.Diff(all, texts(t, found, err)); diff != "" {
			t.Errorf("replies of the number (-want +got):\n%s", diff)
		}
		found, err = s.Replies(t.Context(), tenant, later.Add(-time.Hour), later, 100)
		if diff := cmp.Diff(all, texts(t, found, err)); diff != "" {
			t.Errorf("replies of an hour (-want +got):\n%s", diff)
		}
		found, err = s.DoubtfulReplies(t.Context(), tenant, "", 0)
		if diff := cmp.Diff(doubtful, texts(t, found, err)); diff != "" {
			t.Errorf("doubtful replies (-want +got):\n%s", diff)
		}
	}
	write(t, s, tenant, "oi", 3*time.Minute, false)
	first := write(t, s, tenant, "cancelar", 2*time.Minute, true)
	write(t, s, tenant, "chega", time.Minute, true)
	write(t, s, tenant+"x", "para", time.Minute, true)
	expect([]string{"chega?", "cancelar?", "oi"}, []string{"chega?", "cancelar?"})
	found, err := s.DoubtfulReplies(t.Context(), tenant, "", 1)
	if got := texts(t, found, err); len(got) != 1 || got[0] != "chega?" {
		t.Errorf("the newest one is %q", got)
	}
	found, err = s.DoubtfulReplies(t.Context(), tenant, found[0].ID, 1)
	if got := texts(t, found, err); len(got) != 1 || got[0] != "cancelar?" {
		t.Errorf("the one before is %q", got)
	}
	if one, err := s.DoubtfulReply(t.Context(), tenant, first.ID); err != nil || one != first {
		t.Errorf("read %+v, error %v", one, err)
	}

	if err := s.SettleReplies(t.Context(), tenant, func(r reaction.Reply) bool { return r.ID == first.ID }); err != nil {
		t.Fatal(err)
	}
	write(t, s, tenant, "cancelar", 2*time.Minute, true)
	expect([]string{"chega?", "cancelar", "oi"}, []string{"chega?"})
	if _, err := s.DoubtfulReply(t.Context(), tenant, first.ID); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a settled reply is read: %v", err)
	}
}

// A doubtful reply expires with its mark.
func TestReplies_DoubtfulExpires(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), rand.Text()
	r := write(t, s, tenant, "cancelar", campaign.EventLife, true)
	if found, err := s.DoubtfulReplies(t.Context(), tenant, "", 0); err != nil || len(found) > 0 {
		t.Errorf("after 30 days: %+v, error %v", found, err)
	}
	if _, err := s.DoubtfulReply(t.Context(), tenant, r.ID); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("after 30 days it is read: %v", err)
	}
}
