package templates

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
)

func (f *form) T(key string, args ...any) string { return f.page.T(key, args...) }

func (f *form) Focus(name string) bool { return f.focus == name }

func (f *form) Error(name string) string { return f.errors[name] }

type input struct {
	Name, Type, Label, Value string
	Hint, Error              string
	Focus                    bool
	Options                  []option // of a selection
	Upload                   string   // label of the button that uploads a file, of a media URL
}

type option struct {
	Value, Label string
	Selected     bool
}

// Input returns a field. A type is that of HTML, "textarea", "url", which can contain
// variables, or "media", the URL of a file. The hint can be omitted.
func (f *form) Input(kind, name, label, value string, hint ...string) input {
	in := input{Name: name, Type: kind, Label: f.T(label), Value: value, Error: f.Error(name), Focus: f.Focus(name)}
	for _, key := range hint {
		in.Hint = f.T(key)
	}
	if kind == "media" {
		in.Upload = f.T("templates.upload")
	}
	return in
}

// Select returns a selection. The texts of its options have the prefix in their keys. An
// unknown value is shown as it is.
func (f *form) Select(name, label, value, prefix string, values ...string) input {
	in := f.Input("select", name, label, value)
	known := false
	for _, v := range values {
		in.Options = append(in.Options, option{v, f.T(prefix + v), v == value})
		known = known || v == value
	}
	if !known {
		in.Options = append(in.Options, option{value, value, true})
	}
	return in
}

const mostInsertable = 8 // variables that have a button

// Insertable returns the variables that a button inserts: those of the template, or an
// example.
func (f *form) Insertable() []string {
	if len(f.Variables) == 0 {
		return []string{f.T("templates.insert_example")}
	}
	return f.Variables[:min(len(f.Variables), mostInsertable)]
}

func (f *form) Forms() []option {
	return f.Select("kind", "", f.Form, "templates.form.", formText, formCard, formCarousel, formFile).Options
}

func (f *form) Fields(prefix string, c draftCard) []input {
	return []input{
		f.Input("text", prefix+"title", "templates.card_title", c.Title),
		f.Input("textarea", prefix+"description", "templates.description", c.Description),
		f.Input("media", prefix+"media", "templates.media", c.Media, "templates.media_hint"),
		f.Input("media", prefix+"thumbnail", "templates.thumbnail", c.Thumbnail),
		f.Input("text", prefix+"media-text", "templates.media_text", c.MediaText, "templates.media_text_hint"),
	}
}

type list struct {
	Form       *form
	Name       string // "c", "s", "card-s" or "c2-s"
	Title      string
	Hint, Most string
	Error      string
	Focus      bool // the error gets the focus
	Items      []item
	Full       bool
	Add        string // text of the button
}

type item struct {
	Form       *form
	Name       string // "c2", "s1", "c2-s1"
	N          string
	What       string // "card 2"
	Summary    string
	Kind       string
	Value      string // JSON of a closed one
	Open       bool
	Errors     []string // of a closed one
	Buttons    []button
	card       draftCard
	suggestion draftSuggestion
}

type button struct {
	Command string
	Symbol  string
	Label   string // what it does
	Focus   bool
}

// Fields returns the fields of an open card.
func (it item) Fields() []input { return it.Form.Fields(it.Name+"-", it.card) }

func (it item) SuggestionList() list { return it.Form.SuggestionList(it.Name+"-", it.card.Suggestions) }

// kindInputs are the fields of a kind of suggestion, "" for all kinds.
type kindInputs struct {
	Kind   string
	Inputs []input
}

func (it item) Inputs() []kindInputs {
	if !it.Open {
		return nil
	}
	f, s, in := it.Form, it.suggestion, func(kind, field, value string, hint ...string) input {
		return it.Form.Input(kind, it.Name+"-"+field, "templates.field."+field, value, hint...)
	}
	return []kindInputs{
		{"", []input{
			f.Select(
				it.Name+"-kind", "templates.field.kind", cmp.Or(s.Kind, "reply"), "templates.kind.",
				"reply", "openUrl", "dial", "showLocation", "requestLocation", "calendarEvent",
			),
			in("text", "text", s.Text, "templates.field.text_hint"),
		}},
		{"openUrl", append([]input{
			in("url", "url", s.URL, "templates.field.url_hint"),
			f.Select(it.Name+"-webview", "templates.field.webview", s.Webview, "templates.webview.", "", "full", "tall", "half"),
		}, it.clicks()...)},
		{"dial", []input{in("tel", "phone", s.Phone, "templates.field.phone_hint")}},
		{"showLocation", []input{
			in("text", "latitude", s.Latitude, "templates.field.latitude_hint"), in("text", "longitude", s.Longitude),
			in("text", "label", s.Label), in("text", "query", s.Query, "templates.field.query_hint"),
		}},
		{"calendarEvent", []input{
			in("text", "title", s.Title), in("textarea", "details", s.Details),
			in("datetime-local", "start", s.Start), in("datetime-local", "end", s.End),
		}},
	}
}

// clicks returns the choice to count clicks. It is offered if the stack has an address for
// links, and shown if it was made before.
func (it item) clicks() []input {
	if !it.Form.links && it.suggestion.Clicks == "" {
		return nil
	}
	return []input{it.Form.Select(it.Name+"-clicks", "templates.field.clicks", it.suggestion.Clicks, "templates.clicks.", "", countClicks)}
}

func (f *form) CardList() list {
	l := f.list("c", "templates.cards", "templates.cards_hint", "templates.add_card", len(f.Cards), content.MaxCards)
	for i, c := range f.Cards {
		it := f.item(cardName(i+1), "templates.card_n", i+1, len(f.Cards), c.shown, c)
		it.card, it.Summary = c, web.Short(cmp.Or(c.Title, c.Description, c.Media), summaryWeight)
		l.Items = append(l.Items, it)
	}
	return l
}

// SuggestionList returns the list of the suggestions of a card, or of those below the
// message if the prefix is "".
func (f *form) SuggestionList(prefix string, all []draftSuggestion) list {
	title, most := "templates.suggestions", content.MaxSuggestions
	if prefix != "" {
		title, most = "templates.card_suggestions", content.MaxCardSuggestions
	}
	l := f.list(prefix+"s", title, "", "templates.add_suggestion", len(all), most)
	for i, s := range all {
		it := f.item(suggestionName(prefix, i+1), "templates.suggestion_n", i+1, len(all), s.shown, s)
		it.suggestion, it.Summary = s, web.Short(s.Text, summaryWeight)
		it.Kind = f.T("templates.kind." + cmp.Or(s.Kind, string(content.Reply)))
		l.Items = append(l.Items, it)
	}
	return l
}

func (f *form) list(name, title, hint, add string, have, most int) list {
	l := list{Form: f, Name: name, Title: f.T(title), Add: f.T(add), Full: have >= most, Error: f.errors[name], Focus: f.focus == name}
	l.Most = f.T("templates.of_most", f.page.Number(have), f.page.Number(most))
	if hint != "" {
		l.Hint = f.T(hint)
	}
	return l
}

func (f *form) item(name, what string, n, last int, shown shown, draft any) item {
	it := item{Form: f, Name: name, N: f.page.Number(n), What: f.T(what, f.page.Number(n)), Open: shown.open}
	it.Buttons = f.buttons(name, n, last, shown.open)
	if it.Open {
		return it
	}
	if it.Value = mark + shown.base; shown.base == "" {
		it.Value = encode(draft)
	}
	for field, text := range f.errors {
		if strings.HasPrefix(field, name+"-") {
			it.Errors = append(it.Errors, text)
		}
	}
	slices.Sort(it.Errors)
	return it
}

func encode(draft any) string {
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // the page escapes it
	if err := encoder.Encode(draft); err != nil {
		panic(err) // a draft consists of texts
	}
	return strings.TrimSpace(encoded.String())
}

// symbols are what the buttons of a card or a suggestion show. They are no emoji, and most systems have them.
var symbols = map[string]string{"open": "✎", "close": "✓", "up": "↑", "down": "↓", "remove": "✕"}

func (f *form) buttons(name string, n, last int, open bool) []button {
	verbs := []string{"open"}
	if open {
		verbs = []string{"close"}
	}
	if n > 1 {
		verbs = append(verbs, "up")
	}
	if n < last {
		verbs = append(verbs, "down")
	}
	buttons := make([]button, 0, len(verbs)+1)
	for _, verb := range append(verbs, "remove") {
		b := button{Command: verb + " " + name, Symbol: symbols[verb], Label: f.T("templates." + verb)}
		b.Focus = f.focus == b.Command || verb == "close" && f.focus == "open "+name
		buttons = append(buttons, b)
	}
	return buttons
}

const summaryWeight = 60 // bytes
