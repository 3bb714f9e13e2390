package templates

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
)

// fields reads the fields of a form. The field "c2" is the second card of a carousel, and
// "s1" the first suggestion below the message. It holds JSON if the card or suggestion is
// closed. An open one has an empty field, and fields of its own: "c2-title", "c2-s1-url".
type fields struct{ form url.Values }

// readDraft returns what was entered.
func readDraft(p *web.Page, id string) draft {
	f := fields{p.R.PostForm}
	d := draft{ID: id, Name: f.line("name"), Traffic: f.line("traffic"), Form: f.line("kind")}
	if !f.form.Has("card-title") {
		f.readBefore(&d)
		return d
	}
	d.Text, d.Card, d.Layout, d.Height = f.text("body"), f.card("card-"), f.line("card-layout"), f.line("card-height")
	d.Width, d.CardsHeight = f.line("width"), f.line("cards-height")
	d.File, d.FileThumbnail = f.line("file"), f.line("file-thumbnail")
	d.Suggestions, d.Checked = f.suggestions("", content.MaxSuggestions), f.line("checked") != ""
	for n := 1; n <= content.MaxCards+1 && f.form.Has(cardName(n)); n++ {
		d.Cards = append(d.Cards, f.cardOf(n))
	}
	return d
}

// readBefore reads the form of the version before, which has a text or one card with
// replies.
func (f fields) readBefore(d *draft) {
	blank := newDraft()
	d.Cards, d.Text = blank.Cards, f.text("text")
	media := f.line("media")
	d.Card = draftCard{Title: f.text("title"), Description: f.text("description"), Media: media, Verbatim: media}
	for _, s := range f.form["suggestion"] {
		if s = strings.TrimSpace(s); s != "" && len(d.Card.Suggestions) < content.MaxCardSuggestions {
			d.Card.Suggestions = append(d.Card.Suggestions, draftSuggestion{Kind: string(content.Reply), Text: s})
		}
	}
}

func cardName(n int) string { return "c" + strconv.Itoa(n) }

// line returns a field without surrounding white space.
func (f fields) line(name string) string { return strings.TrimSpace(f.form.Get(name)) }

// text returns a field with line ends normalised to \n.
func (f fields) text(name string) string { return strings.ReplaceAll(f.line(name), "\r\n", "\n") }

// cardOf returns a card of the carousel.
func (f fields) cardOf(n int) (c draftCard) {
	if closed := f.form.Get(cardName(n)); closed != "" {
		if json.Unmarshal([]byte(closed), &c) != nil {
			return draftCard{}
		}
		return c
	}
	c = f.card(cardName(n) + "-")
	c.open = true
	return c
}

func (f fields) card(prefix string) draftCard {
	return draftCard{
		Title: f.text(prefix + "title"), Description: f.text(prefix + "description"),
		Media: f.line(prefix + "media"), Thumbnail: f.line(prefix + "thumbnail"), Verbatim: f.line(prefix + "verbatim"),
		Suggestions: f.suggestions(prefix, content.MaxCardSuggestions),
	}
}

// suggestions returns at most one more than most suggestions.
func (f fields) suggestions(prefix string, most int) (all []draftSuggestion) {
	for n := 1; n <= most+1 && f.form.Has(prefix+"s"+strconv.Itoa(n)); n++ {
		all = append(all, f.suggestion(prefix+"s"+strconv.Itoa(n)))
	}
	return all
}

func (f fields) suggestion(name string) (s draftSuggestion) {
	if closed := f.form.Get(name); closed != "" {
		if json.Unmarshal([]byte(closed), &s) != nil {
			return draftSuggestion{}
		}
		return s
	}
	in := func(field string) string { return f.line(name + "-" + field) }
	return draftSuggestion{
		Kind: in("kind"), Text: in("text"), URL: in("url"), Webview: in("webview"), Phone: in("phone"),
		Latitude: in("latitude"), Longitude: in("longitude"), Label: in("label"), Query: in("query"),
		Title: in("title"), Details: f.text(name + "-details"), Start: in("start"), End: in("end"), open: true,
	}
}
