package templates

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/dashboard/web"
)

// fields reads the fields of a form. The field "c2" is the second card of a carousel, and
// "s1" the first suggestion below the message. It holds JSON if the card or suggestion is
// closed, or the name that it has in the base version, such as "@c3", if it is unchanged.
// An open one has an empty field, and fields of its own: "c2-title", "c2-s1-url".
type fields struct {
	form url.Values
	base draft
}

// mark begins a field that names a part of the base version.
const mark = "@"

func (s *Pages) read(p *web.Page, id string) (draft, error) {
	f := fields{form: p.R.PostForm}
	if f.namesBase() {
		base, err := s.baseVersion(p, id, p.Field("base"))
		if err != nil {
			return draft{}, err
		}
		f.base = draftOf(p, base)
	}
	return f.draft(id), nil
}

func (f fields) namesBase() bool {
	for name, values := range f.form {
		if place().MatchString(name) && strings.HasPrefix(values[0], mark) {
			return true
		}
	}
	return false
}

func (s *Pages) baseVersion(p *web.Page, id, version string) (campaign.Template, error) {
	n, err := strconv.ParseUint(version, 10, 31)
	if err != nil {
		return campaign.Template{}, campaign.ErrNotFound
	}
	number := int(n)
	return web.OwnTemplate(p, id, func(ctx context.Context, id string) (campaign.Template, error) {
		return s.Store.TemplateVersion(ctx, id, number)
	})
}

func (f fields) draft(id string) draft {
	edited, _ := strconv.Atoi(f.line("edited"))
	d := draft{ID: id, Base: f.base.Base, Edited: edited, Name: f.line("name"), Traffic: f.line("traffic"), Form: f.messageForm()}
	d.Text, d.Card, d.Layout, d.Height = f.text("body"), f.card("card-"), f.line("card-layout"), f.line("card-height")
	d.Width, d.CardsHeight = f.line("width"), f.line("cards-height")
	d.File, d.FileThumbnail = f.line("file"), f.line("file-thumbnail")
	d.Suggestions, d.Checked = f.suggestions("", content.MaxSuggestions), f.line("checked") != ""
	for n := 1; n <= content.MaxCards+1 && f.form.Has(cardName(n)); n++ {
		d.Cards = append(d.Cards, f.cardOf(n))
	}
	return d
}

// messageForm returns the chosen form of the message, a text if it is unknown.
func (f fields) messageForm() string {
	switch form := f.line("kind"); form {
	case formCard, formCarousel, formFile:
		return form
	}
	return formText
}

func cardName(n int) string { return "c" + strconv.Itoa(n) }

func suggestionName(prefix string, n int) string { return prefix + "s" + strconv.Itoa(n) }

// line returns a field without surrounding white space.
func (f fields) line(name string) string { return strings.TrimSpace(f.form.Get(name)) }

// text returns a field with line ends normalised to \n.
func (f fields) text(name string) string { return strings.ReplaceAll(f.line(name), "\r\n", "\n") }

func (f fields) cardOf(n int) (c draftCard) {
	name := cardName(n)
	closed := f.form.Get(name)
	switch base, named := strings.CutPrefix(closed, mark); {
	case named:
		return f.base.cardOf(base)
	case closed == "":
		c = f.card(name + "-")
		c.open = true
	case json.Unmarshal([]byte(closed), &c) != nil:
		return draftCard{}
	}
	return c
}

// cardOf returns the card of a name, or a blank one.
func (d draft) cardOf(name string) draftCard {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "c"))
	if err != nil || n < 1 || n > len(d.Cards) {
		return draftCard{}
	}
	return d.Cards[n-1]
}

func (f fields) card(prefix string) draftCard {
	return draftCard{
		Title: f.text(prefix + "title"), Description: f.text(prefix + "description"),
		Media: f.line(prefix + "media"), Thumbnail: f.line(prefix + "thumbnail"), MediaText: f.line(prefix + "media-text"),
		Suggestions: f.suggestions(prefix, content.MaxCardSuggestions),
	}
}

// suggestions returns at most one more than most suggestions.
func (f fields) suggestions(prefix string, most int) (all []draftSuggestion) {
	for n := 1; n <= most+1 && f.form.Has(suggestionName(prefix, n)); n++ {
		all = append(all, f.suggestion(suggestionName(prefix, n)))
	}
	return all
}

func (f fields) suggestion(name string) (s draftSuggestion) {
	closed := f.form.Get(name)
	switch base, named := strings.CutPrefix(closed, mark); {
	case named:
		return f.base.suggestionOf(base)
	case closed != "" && json.Unmarshal([]byte(closed), &s) != nil:
		return draftSuggestion{}
	case closed != "":
		return s
	}
	in := func(field string) string { return f.line(name + "-" + field) }
	return draftSuggestion{
		Kind: in("kind"), Text: in("text"), URL: in("url"), Webview: in("webview"), Clicks: in("clicks"), Phone: in("phone"),
		Latitude: in("latitude"), Longitude: in("longitude"), Label: in("label"), Query: in("query"),
		Title: in("title"), Details: f.text(name + "-details"), Start: in("start"), End: in("end"), shown: shown{open: true},
	}
}

// suggestionOf returns the suggestion of a name, or a blank one.
func (d draft) suggestionOf(name string) draftSuggestion {
	at := place().FindStringSubmatch(name)
	if at == nil {
		return draftSuggestion{}
	}
	list, _ := d.suggestionsOf(at[1])
	n, _ := strconv.Atoi(at[3])
	if n < 1 || n > len(*list) {
		return draftSuggestion{}
	}
	return (*list)[n-1]
}

// place matches the name of a card ("c2"), of a suggestion ("s1", "card-s1", "c2-s1"), or
// of a list of them without the last number.
var place = pattern.AtFirstUse(`^(?:(card|c\d+)-)?([cs])(\d*)$`)

// change adds, opens, closes, removes or moves a card or a suggestion, by a command such
// as "up c2". It returns the name of the element that gets the focus.
func (d *draft) change(command string) (focus string) {
	verb, name, _ := strings.Cut(command, " ")
	at := place().FindStringSubmatch(name)
	if at == nil {
		return ""
	}
	n, _ := strconv.Atoi(at[3]) // 0 to add one
	if at[2] == "c" {
		d.Cards, n = edit(d.Cards, verb, n, openCard)
		return focusOf(verb, "c", n, len(d.Cards), "title")
	}
	list, prefix := d.suggestionsOf(at[1])
	if verb == "open" || verb == "add" {
		d.closeSuggestions()
	}
	*list, n = edit(*list, verb, n, openSuggestion)
	return focusOf(verb, prefix+"s", n, len(*list), "kind")
}

func openCard(c *draftCard, open bool)             { c.set(open) }
func openSuggestion(s *draftSuggestion, open bool) { s.set(open) }

// set opens or closes the card or the suggestion. An open one no longer refers to the base
// version, because its fields can differ from it.
func (s *shown) set(open bool) {
	if s.open = open; open {
		s.base = ""
	}
}

// suggestionsOf returns the suggestions of a card, or those below the message, and the
// prefix of their names.
func (d *draft) suggestionsOf(card string) (list *[]draftSuggestion, prefix string) {
	switch n, _ := strconv.Atoi(strings.TrimPrefix(card, "c")); {
	case card == "card":
		return &d.Card.Suggestions, "card-"
	case n > 0 && n <= len(d.Cards):
		return &d.Cards[n-1].Suggestions, card + "-"
	}
	return &d.Suggestions, ""
}

func (d *draft) closeSuggestions() {
	lists := [][]draftSuggestion{d.Suggestions, d.Card.Suggestions}
	for _, c := range d.Cards {
		lists = append(lists, c.Suggestions)
	}
	for _, list := range lists {
		for i := range list {
			list[i].open = false
		}
	}
}

// edit changes a list at its nth element, and returns the element that the change leads
// to, 0 for none.
func edit[T any](all []T, verb string, n int, open func(*T, bool)) (edited []T, at int) {
	if verb == "add" {
		all, n = append(all, *new(T)), len(all)+1
	}
	if n < 1 || n > len(all) {
		return all, 0
	}
	switch verb {
	case "add", "open":
		for i := range all {
			open(&all[i], i == n-1)
		}
	case "close":
		open(&all[n-1], false)
	case "remove":
		all = slices.Delete(all, n-1, n)
		return all, min(n, len(all))
	case "up":
		n = swap(all, n, n-1)
	case "down":
		n = swap(all, n, n+1)
	}
	return all, n
}

// swap swaps two elements, if both exist, and returns the new place of the first one.
func swap[T any](all []T, from, to int) int {
	if to < 1 || to > len(all) {
		return from
	}
	all[from-1], all[to-1] = all[to-1], all[from-1]
	return to
}

// focusOf returns the name of the element that gets the focus after a change of the nth
// of a list's elements: the first field of what was opened, else a button.
func focusOf(verb, list string, n, last int, field string) string {
	name := list + strconv.Itoa(n)
	switch {
	case n == 0:
		return "add " + list
	case verb == "add" || verb == "open":
		return name + "-" + field
	case verb == "up" && n == 1 && last > 1:
		return "down " + name
	case verb == "down" && n == last && last > 1:
		return "up " + name
	case verb == "up" || verb == "down":
		return verb + " " + name
	}
	return "open " + name
}
