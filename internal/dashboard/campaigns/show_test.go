package campaigns_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
)

// oneCampaign is a store with a campaign and its template.
type oneCampaign struct {
	campaigns.Store
	campaign campaign.Campaign
	template campaign.Template
}

func (o *oneCampaign) Overview(context.Context, campaign.ID) (campaign.Campaign, error) {
	return o.campaign, nil
}

func (o *oneCampaign) Template(context.Context, string) (campaign.Template, error) {
	return o.template, nil
}

func (o *oneCampaign) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return o.template, nil
}

func (*oneCampaign) KeepResults(context.Context, campaign.ID, insight.Results) error { return nil }

const oneID = "00000000-0000-4000-8000-000000000001"

// serveOne serves the page of a campaign of 100 messages, 50 of which are read.
func serveOne(t *testing.T, c content.Content) (*oneCampaign, *webtest.Dashboard) {
	t.Helper()
	id := campaign.ID{Tenant: "acme", CampaignID: oneID}
	o := &oneCampaign{
		template: campaign.Template{ID: "t", Tenant: "acme", Version: 1, Name: "Oferta", Content: c},
		campaign: campaign.Campaign{ID: id, Name: "Natal", CreatedAt: noon, BatchCount: 1, Batches: []campaign.BatchProgress{{
			Batch: campaign.Batch{
				BatchRef: campaign.BatchRef{ID: id, BatchID: "b"}, Ordinal: 1, TemplateID: "t", TemplateVersion: 1, Accepted: 100,
				AcceptedAt: noon, Due: noon, State: campaign.BatchSending,
			},
			Head: campaign.LedgerSummary{Counts: map[campaign.Outcome]int{campaign.OutcomeRead: 50}},
		}}},
	}
	now := func() time.Time { return noon }
	return o, webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: o, Now: now}, now)
}

// The top of the page has what can be done with the campaign. At most one action stands out.
func TestCampaign_Actions(t *testing.T) {
	t.Parallel()
	sending := func(*campaign.Campaign) {}
	paused := func(c *campaign.Campaign) { c.PausedAt = noon }
	completed := func(c *campaign.Campaign) { c.Batches[0].Head.Counts[campaign.OutcomeRead] = 100 }
	cancelled := func(c *campaign.Campaign) {
		c.CancelledAt, c.Batches[0].CancelledAt, c.Batches[0].State = noon, noon, campaign.BatchCancelled
	}
	for name, test := range map[string]struct {
		change  func(c *campaign.Campaign)
		role    web.Role
		actions string
		primary string
	}{
		"sending":   {sending, web.RoleAuthor, "follow-up copy export pause cancel", ""},
		"paused":    {paused, web.RoleAuthor, "follow-up copy export resume cancel", "resume"},
		"completed": {completed, web.RoleAuthor, "follow-up copy export", "follow-up"},
		"cancelled": {cancelled, web.RoleAuthor, "follow-up copy export", "follow-up"},
		"viewer":    {sending, web.RoleViewer, "export", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, d := serveOne(t, content.Content{Text: "Oi"})
			test.change(&o.campaign)
			_, head, _ := strings.Cut(d.SignIn("acme", test.role).Get(campaigns.Path+"/"+oneID).Body, `<div id="head">`)
			head, _, _ = strings.Cut(head, `<div id="live"`)
			if got := strings.Join(between(head, ` id="`, `" href`), " "); got != test.actions && got != "template "+test.actions {
				t.Errorf("the actions are %q, want %q", got, test.actions)
			}
			if got := strings.Join(between(head, `class="button" id="`, `"`), " "); got != test.primary {
				t.Errorf("%q stand out, want %q", got, test.primary)
			}
		})
	}
}

// between returns the texts between two others.
func between(text, start, end string) (found []string) {
	for _, after := range strings.Split(text, start)[1:] {
		if before, _, ok := strings.Cut(after, end); ok && len(before) < 20 {
			found = append(found, before)
		}
	}
	return found
}

// An update replaces the top, the results and the details. The message and its thumbnail stay.
func TestCampaign_Update(t *testing.T) {
	t.Parallel()
	o, d := serveOne(t, content.Content{Card: &content.Card{Title: "Oi", Media: &content.Media{URL: "https://e.example/a.png"}}})
	const thumbnail = `<img class="thumb" src="https://e.example/a.png" alt="" width="56" height="56" loading="lazy">`
	reader := d.SignIn("acme", web.RoleViewer)
	if page := reader.Get(campaigns.Path + "/" + oneID); strings.Count(page.Body, thumbnail) != 1 || strings.Contains(page.Body, "hx-swap-oob") {
		t.Errorf("the page has no thumbnail, or is an update:\n%s", page.Body)
	}
	reader.Header.Set("HX-Request", "true")
	o.campaign.Batches[0].Head.Counts[campaign.OutcomeRead] = 100
	update := reader.Get(campaigns.Path + "/" + oneID).Body
	for _, want := range []string{`<div id="head" hx-swap-oob="true">`, `<div id="live">`, `<details class="card" id="details" hx-swap-oob="true">`} {
		if strings.Count(update, want) != 1 {
			t.Errorf("the update has no %s:\n%s", want, update)
		}
	}
	if strings.Contains(update, "e.example") || strings.Contains(update, "<noscript>") {
		t.Errorf("the update has what does not change:\n%s", update)
	}
}

// The funnel is a picture of how many people each step has, and a list of the steps with their rates.
func TestCampaign_Funnel(t *testing.T) {
	t.Parallel()
	o, d := serveOne(t, content.Content{Text: "Oi"})
	o.campaign.Batches[0].Head.Counts = map[campaign.Outcome]int{campaign.OutcomeSent: 40, campaign.OutcomeDelivered: 40}
	page := d.SignIn("acme", web.RoleViewer).Get(campaigns.Path + "/" + oneID)
	const want = "Recipients 100 100% of the people Sent 80 80% of the people Delivered 40 50% of those sent Read 0 0% of those delivered"
	if !strings.Contains(page.Text(), want) {
		t.Errorf("the page does not say %q:\n%s", want, page.Text())
	}
	for step, path := range map[string]string{
		"the people": `class="c-accepted"><g><path d="M0 0.0H62V100.0H0Z"/><path d="M62 0.0C81 0.0 81 10.0 100 10.0V90.0C81 90.0 81 100.0 62 100.0Z" class="slope"/></g>`,
		"sent":       `class="c-sent"><g><path d="M0 10.0H62V90.0H0Z"/>`,
		"delivered":  `class="c-delivered"><g><path d="M0 30.0H62V70.0H0Z"/>`,
		"no reading": `class="c-read"><g><path d="M0 49.3H62V50.7H0Z"/></g>`,
	} {
		if !strings.Contains(page.Body, path) {
			t.Errorf("the picture of %s has no %s:\n%s", step, path, page.Body)
		}
	}
}

// The page shows how often each button was tapped or its link was clicked, in a table and on the phone. Its updates
// too.
func TestCampaign_Buttons(t *testing.T) {
	t.Parallel()
	o, d := serveOne(t, content.Content{
		Carousel: &content.Carousel{Cards: []content.Card{
			{Title: "A", Suggestions: content.Replies("Quero!")},
			{Title: "B", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver <tudo>", URL: "https://e.example/", CountClicks: true}}},
		}},
		Suggestions: content.Replies("Agora não"),
	})
	b := &o.campaign.Batches[0]
	b.TapKey, b.CountsClicks, b.Head.Tapped, b.Head.Clicked = []byte{1}, true, 20, 3
	b.Head.TappedBy, b.Head.ClickedBy, b.Head.TouchedBy = []int{20, 5}, []int{0, 3}, []int{20, 7}
	reader := d.SignIn("acme", web.RoleViewer)
	page := reader.Get(campaigns.Path + "/" + oneID)
	const table = "Button Taps Link clicks Card 1 Quero! 20 40% of those delivered – Card 2 Ver <tudo> 5 10% of those delivered 3 6% of those delivered Agora não 0 0% of those delivered –"
	if !strings.Contains(page.Text(), table) {
		t.Errorf("the page does not say %q:\n%s", table, page.Text())
	}
	for _, want := range []string{
		`Quero! <b id="note-1">40%</b>`, `Ver &lt;tudo&gt; <b id="note-2">14%</b>`, `Agora não <b id="note-3">0%</b>`,
		`<rect width="40.0%"`, `<rect width="10.0%"`, `<rect width="6.0%"`, `<rect width="0.0%"`, // of the delivered messages
		"noted=1",
	} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page has no %s:\n%s", want, page.Body)
		}
	}
	reader.Header.Set("HX-Request", "true")
	b.Head.ClickedBy, b.Head.TouchedBy = []int{0, 4}, []int{20, 8}
	update := reader.Get(campaigns.Path + "/" + oneID + "?noted=1&was=sending")
	if !strings.Contains(update.Body, `<b id="note-2" hx-swap-oob="true">16%</b>`) || !strings.Contains(update.Text(), "Ver <tudo> 5 10% of those delivered 4 8% of those delivered") {
		t.Errorf("the update does not have the new click:\n%s", update.Body)
	}
	if old := reader.Get(campaigns.Path + "/" + oneID + "?was=sending"); strings.Contains(old.Body, "note-") {
		t.Error("a page without the message gets updates of its buttons")
	}
}

// The buttons of each version have a table, on its own delivered messages. Those of a deleted one have numbers.
func TestCampaign_ButtonsOfVersions(t *testing.T) {
	t.Parallel()
	o, d := serveOne(t, content.Content{Text: "Oi", Suggestions: content.Replies("Sim")})
	first := o.campaign.Batches[0]
	first.TapKey, first.Head.TappedBy = []byte{1}, []int{5}
	second := first
	second.TemplateVersion, second.Head = 2, campaign.LedgerSummary{
		Counts: map[campaign.Outcome]int{campaign.OutcomeDelivered: 20}, TappedBy: []int{10},
	}
	o.campaign.Batches = []campaign.BatchProgress{first, second}
	text := d.SignIn("acme", web.RoleViewer).Get(campaigns.Path + "/" + oneID).Text()
	for _, want := range []string{"Oferta, version 1 Button Taps Sim 5 10% of those delivered", "Oferta, version 2 Button Taps Sim 10 50% of those delivered"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	o, d = serveOne(t, content.Content{Text: "Oi", Suggestions: content.Replies("Sim")})
	o.template.Tenant = "another"
	o.campaign.Batches = []campaign.BatchProgress{first}
	if text := d.SignIn("acme", web.RoleViewer).Get(campaigns.Path + "/" + oneID).Text(); !strings.Contains(text, "Button 1 5 10%") {
		t.Errorf("without the template, the page does not count the taps:\n%s", text)
	}
}

// pictured are campaigns with a template.
type pictured struct{ manyCampaigns }

func (pictured) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	return campaign.Campaign{ID: id, BatchCount: 1, Batches: []campaign.BatchProgress{{Batch: campaign.Batch{TemplateID: "t", Due: noon}}}}, nil
}

func (pictured) Templates(context.Context, string) ([]campaign.Template, error) {
	return []campaign.Template{{ID: "t", Name: "Oferta", Content: content.Content{Card: &content.Card{Media: &content.Media{URL: "https://e.example/a.png"}}}}}, nil
}

// The list shows the image of a campaign's template.
func TestList_Thumbnails(t *testing.T) {
	t.Parallel()
	store := pictured{manyCampaigns{list: []campaign.Listed{{ID: campaign.ID{Tenant: "acme", CampaignID: oneID}, Name: "Natal", Cursor: "1"}}}}
	now := func() time.Time { return noon }
	page := webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: store, Now: now}, now).SignIn("acme", web.RoleViewer).Get(campaigns.Path)
	if !strings.Contains(page.Body, `<img class="thumb" src="https://e.example/a.png" alt=""`) || !strings.Contains(page.Text(), "Natal Oferta") {
		t.Errorf("the list has no thumbnail:\n%s", page.Body)
	}
}
