package dynamo_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

const writer, another = "+5511900000001", "+5511900000002"

// write stores a reply. It may arrive more than once.
func write(t *testing.T, s *dynamotest.Store, tenant, text string, ago time.Duration, doubtful bool) reaction.Reply {
	t.Helper()
	return writeAs(t, s, tenant, writer, text, ago, doubtful)
}

func writeAs(t *testing.T, s *dynamotest.Store, tenant, phone, text string, ago time.Duration, doubtful bool) reaction.Reply {
	t.Helper()
	r := reaction.NewReply(later.Add(-ago), tenant+text, phone, text)
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
		found, err := s.RepliesOf(t.Context(), tenant, []string{writer, another})
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
	first := writeAs(t, s, tenant, another, "cancelar", 2*time.Minute, true)
	write(t, s, tenant, "chega", time.Minute, true)
	write(t, s, tenant+"x", "para", time.Minute, true)
	expect([]string{"chega?", "cancelar?", "oi"}, []string{"chega?", "cancelar?"})
	for limit, want := range map[int]int{1: 1, 2: 2, 3: 2} {
		if n, err := s.CountDoubts(t.Context(), tenant, limit); n != want || err != nil {
			t.Errorf("counted %d of up to %d, error %v", n, limit, err)
		}
	}
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

	settle(t, s, tenant, map[string]time.Time{another: first.At, writer: first.At, "+5511900000009": {}})
	writeAs(t, s, tenant, another, "cancelar", 2*time.Minute, true)
	expect([]string{"chega?", "cancelar", "oi"}, []string{"chega?"})
	if _, err := s.DoubtfulReply(t.Context(), tenant, first.ID); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a settled reply is read: %v", err)
	}
}

func settle(t *testing.T, s *dynamotest.Store, tenant string, until map[string]time.Time) {
	t.Helper()
	if err := s.SettleReplies(t.Context(), tenant, until); err != nil {
		t.Fatal(err)
	}
}

// Of the doubtful replies of a number, the newest one waits, in whichever order they arrive.
func TestReplies_DoubtfulNewest(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), rand.Text()
	expect := func(want ...string) {
		t.Helper()
		found, err := s.DoubtfulReplies(t.Context(), tenant, "", 0)
		if diff := cmp.Diff(want, texts(t, found, err)); diff != "" {
			t.Errorf("doubtful replies (-want +got):\n%s", diff)
		}
	}
	old := write(t, s, tenant, "cancelar", 3*time.Minute, true)
	write(t, s, tenant, "chega", time.Minute, true)
	write(t, s, tenant, "me tira", 2*time.Minute, true)
	expect("chega?")
	if newest, err := s.DoubtfulReply(t.Context(), tenant, old.ID); err != nil || newest.Text != "chega" {
		t.Errorf("for an older reply, got %+v, error %v", newest, err)
	}
	settle(t, s, tenant, map[string]time.Time{writer: old.At})
	expect("chega?")
	settle(t, s, tenant, map[string]time.Time{writer: {}})
	write(t, s, tenant, "me tira", 2*time.Minute, true)
	expect()
}

// An event whose time the provider does not send comes back with a new time. Its reply is in doubt once.
func TestReplies_DoubtfulRepeated(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), rand.Text()
	write(t, s, tenant, "cancelar", 2*time.Minute, true)
	again := write(t, s, tenant, "cancelar", time.Minute, true)
	if r, err := s.DoubtfulReply(t.Context(), tenant, again.ID); err != nil || r.Text != "cancelar" {
		t.Errorf("the repeated reply cannot be decided: %+v, %v", r, err)
	}
	settle(t, s, tenant, map[string]time.Time{writer: later})
	write(t, s, tenant, "cancelar", 0, true)
	if found, err := s.DoubtfulReplies(t.Context(), tenant, "", 0); err != nil || len(found) > 0 {
		t.Errorf("the decided reply is back: %+v, error %v", found, err)
	}
}

// An opt-out reads the row of its number, however many others are in doubt. Many opt-outs read the rows in doubt.
func TestReplies_SettleUnits(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	used := &metering.Meter{Rules: metering.OfService(metering.RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS())))}
	store, measured, tenant := newStore(t), newStore(t), rand.Text()
	measured.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(env.AWS(), used.AttachTo) })
	for i := range 40 {
		writeAs(t, store, tenant, fmt.Sprint("+", 5511900001000+i), strings.Repeat("cancelar ", 80), time.Minute, true)
	}
	settle(t, measured, tenant, map[string]time.Time{writer: later})
	if got := metering.Sum(used.Take()); got.Reads > 1 || got.Writes > 0 {
		t.Errorf("%.1f read and %.1f write units for a number without doubt, want 1 and 0", got.Reads, got.Writes)
	}
	many := map[string]time.Time{}
	for i := range 5_000 {
		many[fmt.Sprint("+", 5511900001000+i)] = time.Time{}
	}
	settle(t, measured, tenant, many)
	if got := metering.Sum(used.Take()); got.Reads > 20 || got.Writes > 40 {
		t.Errorf("%.1f read and %.1f write units for 5,000 numbers of which 40 are in doubt", got.Reads, got.Writes)
	}
	if n, err := store.CountDoubts(t.Context(), tenant, 100); n > 0 || err != nil {
		t.Errorf("%d are left, error %v", n, err)
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
