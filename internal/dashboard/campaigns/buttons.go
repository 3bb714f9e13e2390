package campaigns

import (
	"context"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/preview"
	"campaign-dispatch/internal/dashboard/web"
	charts "campaign-dispatch/internal/dashboard/web/chart"
	"campaign-dispatch/internal/insight"
)

const (
	maxTemplates = 200 // versions in memory
	// A page shows the buttons of tablesShown versions, and of no further version after buttonsShown buttons.
	tablesShown  = 3
	buttonsShown = 10
	buttonWeight = 120 // bytes of a button's text
)

// version returns a version of a template, the zero Template if it is deleted or not the tenant's.
func (s *Pages) version(ctx context.Context, tenant, id string, version int) (campaign.Template, error) {
	t, err := s.templates.Get(campaign.VersionKey{ID: id, Version: version}, s.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxTemplates},
		func() (campaign.Template, error) { return s.Store.TemplateVersion(ctx, id, version) })
	t, err = campaign.OwnTemplate(tenant, t, err)
	return t, campaign.IgnoreNotFound(err)
}

// buttonTable shows the taps and the clicks on the buttons of one version of a template.
type buttonTable struct {
	Name      string // of the template, "" if the campaign has only one version or the template is deleted
	Version   int
	Clickable bool // some buttons count clicks
	Buttons   []button
}

// button is a suggestion with its taps, and its clicks if it counts them.
type button struct {
	preview.Suggestion
	Number    int
	Card      int // of a carousel, from 1; 0 for a button that is not on its cards
	Clickable bool

	Tapped, Clicked rateBar
}

// rateBar is a rate with a bar of the same part of the track.
type rateBar struct{ insight.Rate }

func (r rateBar) Width() string {
	return charts.Decimal(100*float64(min(r.N, r.Of))/float64(max(1, r.Of))) + "%"
}

// addButtons adds what was tapped and clicked in delivered messages.
func (s *Pages) addButtons(p *web.Page, v *view) error {
	all, shown := insight.ReactionsOf(v.Campaign), 0
	for _, r := range all {
		if r.Delivered == 0 {
			continue
		}
		if v.MoreTables = len(v.Tables) == tablesShown || shown > buttonsShown; v.MoreTables {
			return nil
		}
		t, err := s.version(p.R.Context(), v.Tenant, r.TemplateID, r.TemplateVersion)
		if err != nil {
			return err
		}
		table := newButtonTable(p, t, r)
		if len(all) > 1 {
			table.Name = web.Short(t.Name, titleWeight)
		}
		v.Tables = append(v.Tables, table)
		shown += len(table.Buttons)
	}
	return nil
}

func newButtonTable(p *web.Page, t campaign.Template, r insight.Reactions) buttonTable {
	table := buttonTable{Version: r.TemplateVersion}
	suggestions := t.AllSuggestions()
	short := func(text string) string { return web.Short(text, buttonWeight) }
	shown := preview.Writer{Word: func(key string) string { return p.T(key) }, Text: short}.Suggestions(suggestions)
	for n := 1; n <= max(len(shown), len(r.TappedBy), len(r.ClickedBy)); n++ {
		b := button{Number: n, Card: cardOf(t.Content, n)}
		if n <= len(shown) {
			b.Suggestion, b.Clickable = shown[n-1], r.CountsClicks && suggestions[n-1].CountClicks
		}
		b.Tapped, b.Clicked = rateBar{r.Rate(insight.StepTapped, n)}, rateBar{r.Rate(insight.StepClicked, n)}
		b.Clickable = b.Clickable || b.Clicked.N > 0
		table.Clickable = table.Clickable || b.Clickable
		table.Buttons = append(table.Buttons, b)
	}
	return table
}

// cardOf returns the number of the carousel's card with a suggestion, 0 for none.
func cardOf(c content.Content, suggestion int) int {
	if c.Carousel == nil {
		return 0
	}
	for i, card := range c.Carousel.Cards {
		if suggestion -= len(card.Suggestions); suggestion <= 0 {
			return i + 1
		}
	}
	return 0
}

// notesOf returns what the phone shows on the suggestions of the campaign's first message: the part of the
// delivered messages with a tap or a click. It is nil if they count neither.
func (s *Pages) notesOf(p *web.Page, c campaign.Campaign) ([]preview.Note, error) {
	all := insight.ReactionsOf(c)
	if len(all) == 0 || len(c.Batches[0].TapKey) == 0 {
		return nil, nil
	}
	r := all[0]
	t, err := s.version(p.R.Context(), c.Tenant, r.TemplateID, r.TemplateVersion)
	var notes []preview.Note
	for i := range t.AllSuggestions() {
		rate := r.Touched(i + 1)
		notes = append(notes, preview.Note{Number: i + 1, Text: p.Percent(rate.N, rate.Of)})
	}
	return notes, err
}
