package campaigns_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach/optout"
)

const (
	comparedID   = "00000000-0000-4000-8000-000000000000"
	comparedPath = campaigns.Path + "/" + comparedID + "/compared"
)

// earlier has a campaign of 100 messages that went two days ago, and those before it.
type earlier struct {
	manyCampaigns
	t       *testing.T
	results map[string]insight.Results
	prices  campaign.Prices
	sent    time.Time
	now     time.Time
	times   int // as many messages of the campaign
	optOuts *optOutRows
}

func newEarlier(t *testing.T) *earlier {
	t.Helper()
	return &earlier{
		t: t, results: map[string]insight.Results{}, sent: noon.AddDate(0, 0, -2), now: noon, times: 1,
		optOuts: &optOutRows{shards: map[int]campaign.OptOuts{}, numbers: map[string][]uint64{}},
	}
}

// add adds a campaign that went some days before.
func (e *earlier) add(days int, r insight.Results, change ...func(c *campaign.Listed)) {
	first := e.sent.AddDate(0, 0, -days)
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", len(e.list)+1)
	r.At, r.First, r.Last = noon, first, first
	c := campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}, Cursor: campaign.CursorAt(first) + id}
	for _, change := range change {
		change(&c)
	}
	e.list, e.results[id] = append(e.list, c), r
}

func (e *earlier) Results(_ context.Context, _ string, ids []string) (map[string]insight.Results, error) {
	found := map[string]insight.Results{}
	for _, id := range ids {
		if r, ok := e.results[id]; ok {
			found[id] = r
		}
	}
	return found, nil
}

func (e *earlier) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	if id.Tenant != "acme" {
		return campaign.Campaign{}, campaign.ErrNotFound
	}
	if id.CampaignID != comparedID {
		e.t.Errorf("the page reads campaign %s", id.CampaignID)
	}
	b := campaign.Batch{
		Accepted: 100 * e.times, Due: e.sent, State: campaign.BatchSending, Prices: e.prices, Classes: campaign.Classes{Basic: 100 * e.times},
		CountsClicks: true,
	}
	head := campaign.LedgerSummary{Counts: map[campaign.Outcome]int{
		campaign.OutcomeExpired: 20 * e.times, campaign.OutcomeDelivered: 40 * e.times, campaign.OutcomeRead: 40 * e.times,
	}, Clicked: 8 * e.times}
	return campaign.Campaign{ID: id, Name: "Natal", BatchCount: 1, Batches: []campaign.BatchProgress{{Batch: b, Head: head}}}, nil
}

func (e *earlier) reader(language string) webtest.Person {
	who := e.dashboard().SignIn("acme", web.RoleViewer)
	who.Language = language
	return who
}

func (e *earlier) dashboard() *webtest.Dashboard {
	now := func() time.Time { return e.now }
	return webtest.New(e.t, campaigns.Area(), &campaigns.Pages{
		Store: e, Now: now, OptOuts: &optout.Book{Store: e.optOuts, Now: now}, Messages: &query.Service{Store: e.optOuts, Now: now},
	}, now)
}

func (e *earlier) see(language string, want ...string) {
	e.t.Helper()
	text := e.reader(language).Get(comparedPath).Text()
	for _, w := range want {
		if !strings.Contains(text, w) {
			e.t.Errorf("the page does not say %q:\n%s", w, text)
		}
	}
}

// A campaign is compared with the middle of the last ten before it. Tests, later, small and young ones do not count, and no
// other campaign is read.
func TestCompared(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	e.prices = campaign.Prices{Basic: 50_000, Single: 50_000}
	wrong := insight.Results{Sent: 1000, Delivered: 10, Read: 1}
	e.add(1, wrong, func(c *campaign.Listed) { c.Test = true })
	e.add(2, insight.Results{Sent: 19})
	e.add(3, insight.Results{})
	e.add(4, wrong) // went later
	late := e.results[e.list[3].CampaignID]
	late.First, late.Last = noon, noon
	e.results[e.list[3].CampaignID] = late
	for i := range 10 {
		r := insight.Results{Sent: 1000, Delivered: 800, Read: 370 + 2*i, Cost: campaign.Money(40_000_000 + 100_000*i)}
		if i < 3 {
			r.Clickable, r.Clicked = true, 80
		}
		e.add(5+i, r)
	}
	e.add(20, wrong)
	e.see("en",
		"Delivered (of those sent) 80% 80% as usual", "Read (of those delivered) 50% 47.4% 2.6 points above the usual",
		"Link clicked (of those delivered) 10% 10% in 3 campaigns as usual", "Cost per read R$ 0.10 R$ 0.11 R$ 0.01 below the usual",
		"middle value of the 10 campaigns before this one")
	e.see("pt", "50% 47,4% 2,6 pontos acima do habitual", "R$ 0,10 R$ 0,11 R$ 0,01 abaixo do habitual")
	if a := e.reader("en").Get(comparedPath); !strings.Contains(a.Body, `class="better"`) || strings.Contains(a.Body, `class="worse"`) {
		t.Errorf("more reads and a lower cost are not better: %s", a.Body)
	}
}

// A difference of less than two points is singular in Portuguese.
func TestCompared_Point(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	for i := range 3 {
		e.add(1+i, insight.Results{Sent: 1000, Delivered: 815, Read: 400})
	}
	e.see("pt", "80% 81,5% 1,5 ponto abaixo do habitual", "Com clique no link (das entregues) 10% – pouco para comparar")
	e.see("en", "80% 81.5% 1.5 points below the usual")
}

// The difference is that of the two values as they are shown.
func TestCompared_ShownValues(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	for i := range 3 {
		e.add(1+i, insight.Results{Sent: 100_000, Delivered: 99_970})
	}
	e.see("en", "80% 99.9% 19.9 points below the usual")
}

// With fewer than three campaigns, the page says how many there are.
func TestCompared_Few(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	e.see("en", "3 earlier campaigns with results are needed")
	e.add(1, insight.Results{Sent: 1000, Delivered: 800})
	e.see("en", "too little to compare with yet: 1 earlier campaign has results")
	e.add(2, insight.Results{Sent: 1000, Delivered: 800})
	e.see("pt", "2 campanhas anteriores têm resultados, e são necessárias 3")
}

// While a campaign is young, the page says that reads still arrive.
func TestCompared_Young(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	for i := range 3 {
		e.add(3+i, insight.Results{Sent: 1000, Delivered: 800, Read: 600})
	}
	e.sent = noon.Add(-23 * time.Hour)
	e.see("en", "50% 75% 25.0 points below the usual", "sent less than a day ago and still gets reads")
}

// The page of a campaign loads the comparison once something was sent. Another tenant gets none.
func TestCompared_Card(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b, unsent := d.running("Natal"), d.accept(uuid(), "Carnaval", 1, 10, nil)
	if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Body, `hx-get="`+pathOf(b)+`/compared"`) {
		t.Error("the page does not load the comparison")
	}
	if a := d.admin().Get(pathOf(unsent)); strings.Contains(a.Body, "/compared") {
		t.Error("a campaign that sent nothing is compared")
	}
	if text := d.admin().Get(pathOf(unsent) + "/compared").Text(); !strings.Contains(text, "Nothing has been sent yet") {
		t.Errorf("of a campaign that sent nothing, the page says: %s", text)
	}
	if a := d.SignIn("t-other", web.RoleAdmin).Get(pathOf(b) + "/compared"); a.Status != 404 {
		t.Errorf("another tenant gets %d", a.Status)
	}
}
