package overview_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// readers are campaigns with the times at which messages of each were read: one message at one o'clock, or many.
type readers []time.Time

func (r readers) ListCampaigns(context.Context, string, string, int32) (list []campaign.Listed, _ error) {
	for i := range r {
		list = append(list, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: strconv.Itoa(i)}})
	}
	return list, nil
}

func (r readers) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	found := map[string]campaign.Summary{}
	for _, id := range ids {
		found[id] = campaign.Summary{Batches: 1}
	}
	return found, nil
}

func (r readers) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	var i int
	if _, err := fmt.Sscan(id.CampaignID, &i); err != nil {
		return campaign.Campaign{}, err
	}
	read := 1500
	if r[i].Hour() == 1 {
		read = 1
	}
	line := campaign.Timeline{Start: r[i], Slots: []campaign.Slot{{Net: map[campaign.Outcome]int{campaign.OutcomeRead: read}}}}
	return campaign.Campaign{Batches: []campaign.BatchProgress{{Head: campaign.LedgerSummary{Timeline: line}}}}, nil
}

func (r readers) viewer(t *testing.T) webtest.Person {
	t.Helper()
	clock := func() time.Time { return now }
	pages := &overview.Pages{Reads: &recent.Reads{Store: r, Now: clock}, Now: clock}
	return webtest.New(t, overview.Area(), pages, clock).SignIn("acme", web.RoleViewer)
}

// The hours in which messages were read are a picture and a table, in São Paulo's time.
func TestReads(t *testing.T) {
	t.Parallel()
	saturday := time.Date(2037, 2, 28, 2, 10, 0, 0, time.UTC) // Friday in São Paulo
	who := readers{saturday, saturday.Add(time.Minute), now.Add(-time.Hour)}.viewer(t)
	const path = overview.Path + "/reads"
	const most = "Your recipients read most on Fridays from 23:00 to 24:00: 3,000 of 4,500 reads."
	a := webtest.Light(t, who, path)
	if !strings.Contains(a.Text(), "leem mais às sextas-feiras, das 23:00 às 24:00: 3.000 de 4.500 leituras.") {
		t.Errorf("the page in Portuguese: %s", a.Text())
	}
	a = who.Get(path)
	for _, want := range []string{most, "Friday, 23:00 to 24:00: 3,000 reads", "Saturday, 21:00 to 22:00: 1,500 reads", "last 3 campaigns", "Show as a table"} {
		if !strings.Contains(a.Text(), want) {
			t.Errorf("the picture does not say %q: %s", want, a.Text())
		}
	}
	if n := strings.Count(a.Body, `class="h5"><title>`); n != 1 {
		t.Errorf("%d hours have the darkest shade, want 1", n)
	}
	if !strings.Contains(a.Body, `role="img" aria-label="When messages are read. `+most) {
		t.Errorf("the picture has no text: %s", a.Body)
	}
	table := who.Get(path + "?chart=table").Text()
	for _, want := range []string{most, "Hour Monday Tuesday Wednesday Thursday Friday Saturday Sunday 00:00 0 0", "21:00 0 0 0 0 0 1,500 0", "23:00 0 0 0 0 3,000 0 0", "Show as a chart"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q: %s", want, table)
		}
	}
	who.Header.Set("HX-Request", "true")
	if a := who.Get(path); strings.Contains(a.Body, "<h1") || !strings.Contains(a.Text(), most) {
		t.Errorf("the part of the overview: %s", a.Body)
	}
}

// One read is in the singular.
func TestReads_One(t *testing.T) {
	t.Parallel()
	one := time.Date(2037, 2, 28, 1, 10, 0, 0, time.UTC)
	who := readers{one, one.Add(time.Hour)}.viewer(t)
	who.Language = "pt"
	if text := who.Get(overview.Path + "/reads").Text(); !strings.Contains(text, "das 22:00 às 23:00: 1 leitura ") {
		t.Errorf("the page says: %s", text)
	}
}

// Without many reads there is nothing to see yet.
func TestReads_Few(t *testing.T) {
	t.Parallel()
	for name, few := range map[string]readers{"none": {}, "one": {time.Date(2037, 2, 28, 1, 10, 0, 0, time.UTC)}} {
		a := few.viewer(t).Get(overview.Path + "/reads")
		if !strings.Contains(a.Text(), "Appears from 100 reads of the last campaigns on.") || strings.Contains(a.Text(), "Show as") {
			t.Errorf("with %s, the page says: %s", name, a.Text())
		}
	}
}
