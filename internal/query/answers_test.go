package query_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach"
)

// counting is a store with the campaigns of a map. It counts the reads of whole campaigns and of their summaries.
type counting struct {
	query.Store

	campaigns        map[campaign.ID]*campaign.Campaign
	whole, summaries int
}

func (s *counting) Campaign(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	s.whole++
	if c := s.campaigns[id]; c != nil {
		return *c, nil
	}
	return campaign.Campaign{}, fmt.Errorf("read: %w", campaign.ErrNotFound)
}

func (s *counting) Standings(_ context.Context, tenant string, ids []string) (map[string]campaign.Summary, error) {
	s.summaries++
	found := map[string]campaign.Summary{}
	for _, id := range ids {
		c := s.campaigns[campaign.ID{Tenant: tenant, CampaignID: id}]
		if c == nil {
			continue
		}
		summary := campaign.Summary{
			Name: c.Name, Batches: c.BatchCount, Moves: c.Move.Revision, CancelledAt: c.CancelledAt, PausedAt: c.PausedAt, Submission: c.Submission,
		}
		for _, b := range c.Batches {
			if b.State == campaign.BatchCompleted {
				summary.Completed++
			}
		}
		found[id] = summary
	}
	return found, nil
}

func (*counting) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return reach.TenantHours{}, nil
}

// cached is a service on a counting store, with one campaign and a clock.
type cached struct {
	*counting

	t     *testing.T
	now   time.Time
	id    campaign.ID
	mux   *http.ServeMux
	holds *holder
}

func newCached(t *testing.T) *cached {
	t.Helper()
	d := &cached{t: t, now: noon, id: campaign.ID{Tenant: "a", CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"}, mux: http.NewServeMux()}
	d.holds = &holder{tenant: d.id.Tenant}
	d.counting = &counting{campaigns: map[campaign.ID]*campaign.Campaign{d.id: {ID: d.id, Name: "Natal", CreatedAt: noon}}}
	for range 3 {
		d.add(campaign.BatchSent)
	}
	(&query.Service{Tokens: d.holds, Store: d.counting, Now: func() time.Time { return d.now }}).Register(d.mux)
	return d
}

func (d *cached) campaign() *campaign.Campaign { return d.campaigns[d.id] }

// add adds a batch with one sent message.
func (d *cached) add(state campaign.BatchState) {
	c := d.campaign()
	c.BatchCount++
	c.Batches = append(c.Batches, campaign.BatchProgress{
		Batch: campaign.Batch{
			BatchRef: campaign.BatchRef{ID: d.id, BatchID: strconv.Itoa(c.BatchCount)}, Ordinal: c.BatchCount, Accepted: 1, Due: noon, State: state,
		},
		Head: campaign.LedgerSummary{Counts: map[campaign.Outcome]int{campaign.OutcomeSent: 1}},
	})
}

func (d *cached) get(suffix string) (status int, body string) {
	d.t.Helper()
	w := httptest.NewRecorder()
	d.mux.ServeHTTP(w, httptest.NewRequestWithContext(d.t.Context(), http.MethodGet, "/api/v1/external/campaigns/"+suffix, nil))
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return w.Code, string(text)
}

// deliver delivers the message of a batch.
func (d *cached) deliver(batch int) {
	d.campaign().Batches[batch].Head.Counts = map[campaign.Outcome]int{campaign.OutcomeDelivered: 1}
}

// Counts are at most 2 seconds old. Until then the batches are not read again.
func TestCampaign_Cached(t *testing.T) {
	t.Parallel()
	d := newCached(t)
	_, first := d.get(d.id.CampaignID)
	d.deliver(0)
	d.now = d.now.Add(2*time.Second - 1)
	if _, again := d.get(d.id.CampaignID); again != first || d.whole != 1 || d.summaries != 1 {
		t.Errorf("within 2 seconds: %d reads of the campaign, %d of its summary, the answer is the same: %t", d.whole, d.summaries, again == first)
	}
	d.now = d.now.Add(1)
	if _, now := d.get(d.id.CampaignID); !strings.Contains(now, `"delivered":1`) || d.whole != 2 {
		t.Errorf("after 2 seconds, read %d times: %s", d.whole, now)
	}
}

// What somebody does with a campaign shows at once: only counts can be old.
func TestCampaign_ChangesShowAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(d *cached)
		shows  string
	}{
		"another call":      {func(d *cached) { d.add(campaign.BatchSent) }, `"accepted":4`},
		"a completed batch": {func(d *cached) { d.deliver(1); d.campaign().Batches[1].State = campaign.BatchCompleted }, `"delivered":1`},
		"a cancellation":    {func(d *cached) { d.campaign().CancelledAt = noon }, `"cancellation":`},
		"a pause":           {func(d *cached) { d.campaign().PausedAt = noon; d.campaign().Batches[0].Accepted = 2 }, `"pausedAt":`},
		"a part of its file": {func(d *cached) {
			d.campaign().Submission = campaign.SubmissionTotals{Lines: 5, People: 5, PartsToCome: 1}
		}, `"submission":`},
		"its deletion": {func(d *cached) { delete(d.campaigns, d.id) }, `"campaign_not_found"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newCached(t)
			d.get(d.id.CampaignID)
			test.change(d)
			if _, body := d.get(d.id.CampaignID); !strings.Contains(body, test.shows) {
				t.Errorf("the next answer lacks %s: %s", test.shows, body)
			}
		})
	}
}

// A campaign whose batch can still get another time, and one that is being cancelled, are read each time.
func TestCampaign_NotCached(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(d *cached){
		"a batch waits for its time": func(d *cached) { d.add(campaign.BatchPending) },
		"cancelled":                  func(d *cached) { d.campaign().CancelledAt = noon },
	} {
		d := newCached(t)
		change(d)
		for range 3 {
			d.get(d.id.CampaignID)
		}
		if d.whole != 3 {
			t.Errorf("%s: %d reads, want 3", name, d.whole)
		}
	}
}

// An answer is that of its tenant, of its cursor, and of the ID as it was written.
func TestCampaign_CachedFor(t *testing.T) {
	t.Parallel()
	d := newCached(t)
	d.get(d.id.CampaignID)
	upper := strings.ToUpper(d.id.CampaignID)
	if _, body := d.get(upper); !strings.Contains(body, upper) {
		t.Errorf("the answer does not have the ID as it was written: %s", body)
	}
	if _, body := d.get(d.id.CampaignID + "?cursor=2"); strings.Count(body, `"batchId"`) != 1 {
		t.Errorf("the page after the second batch: %s", body)
	}
	d.holds.tenant = "b"
	if status, body := d.get(d.id.CampaignID); status != http.StatusNotFound || strings.Contains(body, "Natal") {
		t.Errorf("another tenant's answer: %d %s", status, body)
	}
}
