package dynamo_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

func pausedCampaigns(t *testing.T, s *dynamotest.Store, tenant string) map[campaign.ID]time.Time {
	t.Helper()
	pauses, err := s.PausedCampaigns(t.Context(), []campaign.Tenant{{ID: tenant}, {ID: "t-without"}})
	if err != nil {
		t.Fatal(err)
	}
	return pauses
}

// A pause is listed until it ends, and its end is listed once.
func TestPauseCampaign(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "t-"+rand.Text()
	b, cancelled := newBatch(tenant, campaign.BatchSending, later, later), newBatch(tenant, campaign.BatchSending, later, later)
	cancelled.CampaignID = "1190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"
	for _, each := range []campaign.Batch{b, cancelled} {
		accept(t, s, each)
		for range 2 {
			if since, err := s.PauseCampaign(t.Context(), each.ID, later); err != nil || !since.Equal(later) {
				t.Fatalf("paused since %v, %v", since, err)
			}
		}
	}
	want := map[campaign.ID]time.Time{b.ID: later, cancelled.ID: later}
	if diff := cmp.Diff(want, pausedCampaigns(t, s, tenant)); diff != "" {
		t.Errorf("paused (-want +got):\n%s", diff)
	}
	if err := s.ResumeCampaign(t.Context(), b.ID, later.Add(-time.Hour)); !errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("the end of an earlier pause: %v, want a lost race", err)
	}
	if err := s.ResumeCampaign(t.Context(), b.ID, later); err != nil {
		t.Fatal(err)
	}
	if err := s.CancelCampaign(t.Context(), cancelled.ID, later, false); err != nil {
		t.Fatal(err)
	}
	route, err := s.Route(t.Context(), tenant, "")
	if paused := pausedCampaigns(t, s, tenant); err != nil || len(route.Paused)+len(paused) > 0 {
		t.Errorf("paused after the end: %v, %v, %v", route.Paused, paused, err)
	}
	ended, err := s.Resumed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, subject := range ended {
		if subject == campaign.PauseSubject(b.ID) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the end is listed %d times among %d", n, len(ended))
	}
}

// A campaign whose rows are being deleted is not there to be paused. That is decided at once.
func TestPauseCampaign_Expiring(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "t-"+rand.Text()
	b := newBatch(tenant, campaign.BatchSending, later, later)
	accept(t, s, b)
	l, err := s.Lifetime(t.Context(), b.ID)
	must(t, err)
	if mine, err := s.StartExpiry(t.Context(), l, later); !mine || err != nil {
		t.Fatalf("the expiry began: %v, %v", mine, err)
	}
	var used rowsRead
	if _, err := with(t, s, used.attach).PauseCampaign(t.Context(), b.ID, later); !errors.Is(err, campaign.ErrNotFound) || used.calls != 1 {
		t.Errorf("%v after %d calls, want not found after one", err, used.calls)
	}
}

// complete completes a batch, and ends the pause of its campaign as outcome does.
func complete(t *testing.T, s *dynamotest.Store, b campaign.Batch) {
	t.Helper()
	for moved := false; !moved; {
		var err error
		if moved, err = s.CompleteBatch(t.Context(), b, 0, later); err != nil && !errors.Is(err, campaign.ErrLostRace) {
			t.Error(err)
			return
		}
	}
	p, err := s.Progress(t.Context(), b.ID)
	if err == nil && p.IsCompleted() && !p.PausedAt.IsZero() {
		err = s.EndPause(t.Context(), b.ID, p)
	}
	if err != nil {
		t.Error(err)
	}
}

func pausedAt(t *testing.T, s *dynamotest.Store, b campaign.Batch) time.Time {
	t.Helper()
	c, err := s.Dispatched(t.Context(), b.ID)
	must(t, err)
	return c.PausedAt
}

// pausedCampaign returns the only batch of a paused campaign of a tenant of its own.
func pausedCampaign(t *testing.T) (*dynamotest.Store, campaign.Batch) {
	t.Helper()
	s := newStore(t)
	b := newBatch("t-"+rand.Text(), campaign.BatchSending, later, later)
	accept(t, s, b)
	_, err := s.PauseCampaign(t.Context(), b.ID, later)
	must(t, err)
	return s, b
}

// A completed campaign is not paused: its completion ends a pause, and no pause begins after it.
func TestPauseCampaign_Completed(t *testing.T) {
	t.Parallel()
	s, b := pausedCampaign(t)
	complete(t, s, b)
	if at, paused := pausedAt(t, s, b), pausedCampaigns(t, s, b.Tenant); !at.IsZero() || len(paused) > 0 {
		t.Errorf("paused at %v, with a place: %v", at, paused)
	}
	if _, err := s.PauseCampaign(t.Context(), b.ID, later); !errors.Is(err, campaign.ErrCompleted) {
		t.Errorf("%v, want completed", err)
	}
	route, err := s.Route(t.Context(), b.Tenant, "")
	if err != nil || len(route.Paused) > 0 {
		t.Errorf("held: %v, %v", route.Paused, err)
	}
	ended, err := s.Resumed(t.Context())
	if must(t, err); !slices.Contains(ended, campaign.PauseSubject(b.ID)) {
		t.Error("sweep does not look at a batch that is added now and held by a function that still knows the pause")
	}
}

// A batch that is added when the campaign completes keeps it paused.
func TestEndPause_Extended(t *testing.T) {
	t.Parallel()
	s, b := pausedCampaign(t)
	if moved, err := s.CompleteBatch(t.Context(), b, 0, later); !moved || err != nil {
		t.Fatalf("completed: %t, %v", moved, err)
	}
	p, err := s.Progress(t.Context(), b.ID)
	must(t, err)
	next := newBatch(b.Tenant, campaign.BatchPending, later, later)
	next.CampaignID, next.Ordinal = b.CampaignID, 2
	must(t, s.Accept(t.Context(), acceptance.Command{Batch: next, Campaign: rand.Text(), Ordinal: 2, Packed: []byte{0}, CreatedAt: later}, rand.Text()))
	must(t, s.EndPause(t.Context(), b.ID, p))
	if at := pausedAt(t, s, b); !at.Equal(later) || len(pausedCampaigns(t, s, b.Tenant)) != 1 {
		t.Errorf("paused at %v, want %v", at, later)
	}
}

// Whatever comes first, a campaign that is paused while its last batch completes is not paused in the end.
func TestPauseCampaign_WhileCompleting(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "t-"+rand.Text()
	for range 16 {
		b := newBatch(tenant, campaign.BatchSending, later, later)
		accept(t, s, b)
		var calls sync.WaitGroup
		calls.Go(func() { complete(t, s, b) })
		calls.Go(func() {
			if _, err := s.PauseCampaign(t.Context(), b.ID, later); err != nil && !errors.Is(err, campaign.ErrCompleted) {
				t.Error(err)
			}
		})
		calls.Wait()
		if at := pausedAt(t, s, b); !at.IsZero() {
			t.Fatalf("paused at %v", at)
		}
	}
	if paused := pausedCampaigns(t, s, tenant); len(paused) > 0 {
		t.Errorf("%d places are kept", len(paused))
	}
}

func TestPauseCampaign_TooMany(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "t-"+rand.Text()
	b := newBatch(tenant, campaign.BatchSending, later, later)
	accept(t, s, b)
	ids := []string{}
	for i := range campaign.MaxPaused {
		ids = append(ids, strconv.Itoa(i))
	}
	full := dynamo.Item{
		"pk": &types.AttributeValueMemberS{Value: "PAUSE#campaigns#" + tenant}, "sk": &types.AttributeValueMemberS{Value: "PAUSE"},
		"campaigns": &types.AttributeValueMemberSS{Value: ids},
	}
	table := s.Tables().Campaigns
	if _, err := s.Tables().Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: full}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PauseCampaign(t.Context(), b.ID, later); !errors.Is(err, campaign.ErrTooManyPaused) {
		t.Errorf("%v, want too many", err)
	}
	c, err := s.Dispatched(t.Context(), b.ID)
	if err != nil || !c.PausedAt.IsZero() {
		t.Errorf("paused at %v, %v", c.PausedAt, err)
	}
}

// The campaigns of all tenants are read with few calls, whatever their number.
func TestPausedCampaigns_Calls(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), "t-"+rand.Text()
	const paused = 5
	for range paused {
		b := newBatch(tenant, campaign.BatchSending, later, later)
		accept(t, s, b)
		_, err := s.PauseCampaign(t.Context(), b.ID, later)
		must(t, err)
	}
	var used rowsRead
	if pauses := pausedCampaigns(t, with(t, s, used.attach), tenant); len(pauses) != paused || used.calls != 2 {
		t.Errorf("%d paused campaigns were read with %d calls, want %d with 2", len(pauses), used.calls, paused)
	}
}
