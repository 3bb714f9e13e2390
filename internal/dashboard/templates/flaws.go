package templates

import (
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
)

// flawsOf returns the flaws of a template. Those of a single card have the place of card
// 1, so that its suggestions differ from those below the message.
func flawsOf(t campaign.Template) (flaws []content.Flaw) {
	all := t.Flaws()
	if t.Card == nil || len(all) == 0 {
		return all
	}
	card := content.Content{Card: t.Card}
	for _, f := range all {
		if f.Suggestion == 0 && f.Part != content.PartSuggestion {
			flaws = append(flaws, f)
		}
	}
	for _, f := range card.Flaws() {
		if f.Suggestion > 0 || f.Part == content.PartSuggestion {
			f.Card = 1
			flaws = append(flaws, f)
		}
	}
	below := content.Content{Text: "-", Suggestions: t.Suggestions}
	return append(flaws, below.Flaws()...)
}

// fieldNames are the names of the fields that flaws concern, without their prefix.
var fieldNames = map[content.Part]string{
	campaign.PartName: "name", campaign.PartTraffic: "traffic", campaign.PartVariables: "kind", content.PartContent: "kind",
	content.PartText: "body", content.PartCards: "c", content.PartFile: "file", content.PartWidth: "width",
	content.PartCard: "title", content.PartTitle: "title", content.PartDescription: "description",
	content.PartMedia: "media", content.PartThumbnail: "thumbnail", content.PartMediaText: "media-text",
	content.PartSuggestion: "s",
}

var suggestionFields = map[content.Part]string{
	content.PartSuggestion: "text", content.PartURL: "url", content.PartWebview: "webview", content.PartPhone: "phone",
	content.PartLocation: "latitude", content.PartLabel: "label", content.PartQuery: "query",
	content.PartEventTitle: "title", content.PartEventText: "details", content.PartEventDuration: "end",
}

func (d draft) fieldOf(f content.Flaw) string {
	prefix := d.prefixOf(f)
	switch {
	case f.Suggestion > 0:
		return suggestionName(prefix, f.Suggestion) + "-" + suggestionFields[f.Part]
	case f.Part == content.PartHeight && d.Form == formCarousel:
		return "cards-height"
	case f.Part == content.PartHeight:
		return "card-height"
	case f.Part == content.PartThumbnail && d.Form == formFile:
		return "file-thumbnail"
	}
	return prefix + fieldNames[f.Part]
}

var wholeParts = []content.Part{
	campaign.PartName, campaign.PartTraffic, campaign.PartVariables, content.PartContent, content.PartText, content.PartCards,
	content.PartFile, content.PartWidth,
}

func (d draft) prefixOf(f content.Flaw) string {
	if slices.Contains(wholeParts, f.Part) {
		return ""
	}
	ofCard := f.Card > 0 || f.Suggestion == 0 && f.Part != content.PartSuggestion
	switch {
	case d.Form == formCard && ofCard:
		return "card-"
	case d.Form == formCarousel && f.Card > 0:
		return cardName(f.Card) + "-"
	}
	return ""
}

// show opens the card and the suggestion of a flaw, so that its field can have the focus.
func (d *draft) show(f content.Flaw) {
	if d.Form == formCarousel && f.Card > 0 {
		d.change("open " + cardName(f.Card))
	}
	if f.Suggestion > 0 {
		d.change("open " + suggestionName(d.prefixOf(f), f.Suggestion))
	}
}

func describe(p *web.Page, form string, f content.Flaw) string {
	what := p.T("templates.part." + string(f.Part))
	if f.Suggestion > 0 && f.Part == content.PartSuggestion {
		what += " " + p.Number(f.Suggestion)
	} else if f.Suggestion > 0 {
		what += p.T("templates.of_suggestion", p.Number(f.Suggestion))
	}
	switch {
	case f.Card == 0 || form != formCarousel:
	case f.Part == content.PartCard:
		what += " " + p.Number(f.Card)
	default:
		what += p.T("templates.of_card", p.Number(f.Card))
	}
	if f.Code == content.FlawUnusable {
		return p.T("templates.flaw.unusable", what, p.T("media.fault."+f.Why))
	}
	key := "templates.flaw." + string(f.Code)
	if special := key + "." + string(f.Part); p.Has(special) {
		key = special
	}
	return p.T(key, what, p.Number(f.Have), p.Number(f.Most))
}
