package overview_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/intake/submission"
)

// inWaves is a campaign of 3 of 30 people whose second wave waits, or whose first one is scheduled.
func (s shop) inWaves(name string, change func(b *campaign.Batch)) campaign.ID {
	s.t.Helper()
	id := campaign.ID{Tenant: s.tenant, CampaignID: "0198d3a0-0000-4000-8000-" + rand.Text()[:12]}
	_, err := s.store.SaveSubmission(s.t.Context(), submission.Submission{ID: id, Name: name, State: submission.StateHolding, CreatedAt: now})
	s.must(err)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: id, BatchID: campaign.BatchID("1")}, Name: "1", Part: "part",
		Ordinal: 1, Accepted: 3, AcceptedAt: now, Due: now, State: campaign.BatchSending, NextCheck: now.Add(time.Hour),
	}
	_, _ = rand.Read(b.Key[:])
	change(&b)
	totals := campaign.SubmissionTotals{
		Lines: 30, People: 30, Accepted: 3, PartsToCome: 2, Parts: 3, PartsDone: 1, Until: now.AddDate(0, 0, 14),
		Cells: campaign.Cells{{Until: 50, Parts: 1, Wave: 1}, {Until: 1000, Parts: 1, Wave: 2}, {Until: 10_000, Parts: 1, Wave: 3}},
	}
	s.must(s.store.Accept(s.t.Context(), acceptance.Command{Batch: b, Campaign: name, Ordinal: 1, Packed: []byte{0}, Submission: totals}, rand.Text()))
	return id
}

// Who can open a wave sees that it waits, however many campaigns went since. A pause is shown instead.
func TestShow_Waves(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	id := s.inWaves("Natal", func(b *campaign.Batch) { b.AcceptedAt, b.Due = now.Add(-24*time.Hour), now.Add(-24*time.Hour) })
	viewer, author := s.SignIn(s.tenant, web.RoleViewer), s.SignIn(s.tenant, web.RoleAuthor)
	author.Language = "pt-BR"
	const want = "Uma campanha aguarda uma decisão sobre a onda 2 de 3: Natal"
	if a := author.Get(overview.Path); !strings.Contains(a.Text(), want) || !strings.Contains(a.Body, `href="/dashboard/campaigns/`+id.CampaignID) {
		t.Errorf("the author sees %s", a.Text())
	}
	if text := viewer.Get(overview.Path).Text(); !strings.Contains(text, "A campaign waits for a decision about wave 2 of 3: Natal") {
		t.Errorf("the viewer sees %s", text)
	}
	for i := range 16 {
		s.accept(fmt.Sprint("Later ", i), func(*campaign.Batch) {})
	}
	if text := author.Get(overview.Path).Text(); strings.Count(text, want) != 1 {
		t.Errorf("among many, the author sees %s", text)
	}
	_, err := s.store.PauseCampaign(t.Context(), id, now)
	s.must(err)
	if text := author.Get(overview.Path).Text(); strings.Contains(text, "abra a onda") || !strings.Contains(text, "O envio de uma campanha está pausado: Natal") {
		t.Errorf("of a paused campaign, the author sees %s", text)
	}
}

// With a scheduled campaign, the people of its first wave go.
func TestShow_ScheduledWave(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.inWaves("Natal", func(b *campaign.Batch) { b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(time.Hour) })
	if text := s.admin.Get(overview.Path).Text(); !strings.Contains(text, "Natal 3 people") || strings.Contains(text, "opens wave") {
		t.Errorf("the page shows %s", text)
	}
}
