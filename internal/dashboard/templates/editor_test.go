package templates_test

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

const newPage = "/dashboard/templates/new"

// editor is the form of a template, as a browser without scripts shows it.
type editor struct {
	t      *testing.T
	b      *bench
	action string
	page   webtest.Answer
	fields url.Values
}

// open opens the form at a path.
func (b *bench) open(t *testing.T, path string) *editor {
	t.Helper()
	e := &editor{t: t, b: b, action: strings.TrimSuffix(strings.TrimSuffix(path, "/new"), "/edit")}
	e.read(b.admin.Get(path))
	return e
}

var (
	control  = regexp.MustCompile(`(?s)<(input) ([^>]*)>|<(textarea) ([^>]*)>([^<]*)</textarea>|<(select) ([^>]*)>(.*?)</select>`)
	selected = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

func attribute(tag, name string) string {
	_, rest, _ := strings.Cut(" "+tag, " "+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}

// read reads the fields of a page's form.
func (e *editor) read(page webtest.Answer) {
	e.t.Helper()
	e.page, e.fields = page, url.Values{}
	_, form, found := strings.Cut(page.Body, `id="editor"`)
	if !found {
		e.t.Fatalf("answered %d, without the form\n%s", page.Status, page.Body)
	}
	for _, c := range control.FindAllStringSubmatch(form, -1) {
		tag, value := c[2]+c[4]+c[7], attribute(c[2], "value")
		switch {
		case c[3] != "":
			value = html.UnescapeString(c[5])
		case c[6] != "":
			value = ""
			if chosen := selected.FindStringSubmatch(c[8]); chosen != nil {
				value = html.UnescapeString(chosen[1])
			}
		case unchecked.MatchString(tag):
			continue
		}
		e.fields.Add(attribute(tag, "name"), value)
	}
}

var unchecked = regexp.MustCompile(`type="(radio|checkbox)" [^>]*"$`)

// set fills in fields of the page.
func (e *editor) set(values map[string]string) *editor {
	e.t.Helper()
	for name, value := range values {
		if !e.fields.Has(name) {
			e.t.Fatalf("the form has no field %s, but %v\n%s", name, e.fields, e.page.Body)
		}
		e.fields.Set(name, value)
	}
	return e
}

// press presses buttons of the form.
func (e *editor) press(commands ...string) *editor {
	e.t.Helper()
	for _, command := range commands {
		if !strings.Contains(e.page.Body, `value="`+command+`"`) {
			e.t.Fatalf("there is no button %s\n%s", command, e.page.Body)
		}
		form := maps.Clone(e.fields)
		form.Set("do", command)
		e.read(e.b.admin.Post(e.action, form))
		if e.page.Status != http.StatusOK {
			e.t.Fatalf("%s answered %d", command, e.page.Status)
		}
	}
	return e
}

// save saves the template and returns what is stored.
func (e *editor) save() campaign.Template {
	e.t.Helper()
	got := e.b.admin.Post(e.action, e.fields)
	if got.Status != http.StatusSeeOther {
		e.t.Fatalf("answered %d\n%s", got.Status, got.Body)
	}
	saved, err := e.b.store.Template(e.t.Context(), strings.TrimPrefix(got.Location, "/dashboard/templates/"))
	if err != nil {
		e.t.Fatal(err)
	}
	return saved
}

// A suggestion of each kind: what is entered, and what is stored.
var kinds = map[string]struct {
	enter map[string]string
	want  content.Suggestion
}{
	"reply": {nil, content.Suggestion{Kind: content.Reply}},
	"browser": {
		map[string]string{"kind": "openUrl", "url": "https://e.example/{{id}}", "phone": "left over"},
		content.Suggestion{Kind: content.OpenURL, URL: "https://e.example/{{id}}"},
	},
	"webview": {
		map[string]string{"kind": "openUrl", "url": "https://e.example/", "webview": "tall"},
		content.Suggestion{Kind: content.OpenURL, URL: "https://e.example/", Webview: content.TallWebview},
	},
	"counted link": {
		map[string]string{"kind": "openUrl", "url": "https://e.example/", "clicks": "count"},
		content.Suggestion{Kind: content.OpenURL, URL: "https://e.example/", CountClicks: true},
	},
	"dial": {map[string]string{"kind": "dial", "phone": "+551133334444"}, content.Suggestion{Kind: content.Dial, Phone: "+551133334444"}},
	"point": {
		map[string]string{"kind": "showLocation", "latitude": "-23,5505", "longitude": "-46.6333", "label": "Loja {{loja}}"},
		content.Suggestion{Kind: content.ShowLocation, Location: &content.Location{Latitude: -23.5505, Longitude: -46.6333, Label: "Loja {{loja}}"}},
	},
	"search": {
		map[string]string{"kind": "showLocation", "query": "farmácia"},
		content.Suggestion{Kind: content.ShowLocation, Location: &content.Location{Query: "farmácia"}},
	},
	"ask": {map[string]string{"kind": "requestLocation"}, content.Suggestion{Kind: content.RequestLocation}},
	"event": {
		map[string]string{"kind": "calendarEvent", "title": "Feira", "details": "No parque", "start": "2037-12-01T10:00", "end": "2037-12-01T11:30"},
		content.Suggestion{Kind: content.CalendarEvent, Event: &content.Event{
			Title: "Feira", Description: "No parque",
			Start: time.Date(2037, 12, 1, 13, 0, 0, 0, time.UTC), End: time.Date(2037, 12, 1, 14, 30, 0, 0, time.UTC),
		}},
	},
}

// A message of each form: what is entered, what is stored, and the prefixes of its lists
// of suggestions with the place of each.
var forms = map[string]struct {
	enter map[string]string
	want  content.Content
	lists map[string]func(*content.Content) *[]content.Suggestion
}{
	"text": {
		map[string]string{"kind": "text", "body": "Olá {{nome}}"},
		content.Content{Text: "Olá {{nome}}"},
		map[string]func(*content.Content) *[]content.Suggestion{"": below},
	},
	"card": {
		map[string]string{"kind": "card", "card-title": "Oferta", "card-description": "Só hoje", "card-media": "https://e.example/a.png", "card-height": "tall"},
		content.Content{Card: &content.Card{Title: "Oferta", Description: "Só hoje", Media: &content.Media{URL: "https://e.example/a.png", Height: content.Tall}}},
		map[string]func(*content.Content) *[]content.Suggestion{"": below, "card-": func(c *content.Content) *[]content.Suggestion { return &c.Card.Suggestions }},
	},
	"horizontal card": {
		map[string]string{"kind": "card", "card-title": "Oferta", "card-layout": "right", "card-media": "https://e.example/a.mp4", "card-thumbnail": "https://e.example/a.png"},
		content.Content{Card: &content.Card{Title: "Oferta", Horizontal: true, MediaRight: true, Media: &content.Media{URL: "https://e.example/a.mp4", ThumbnailURL: "https://e.example/a.png"}}},
		map[string]func(*content.Content) *[]content.Suggestion{"": below, "card-": func(c *content.Content) *[]content.Suggestion { return &c.Card.Suggestions }},
	},
	"carousel": {
		map[string]string{"kind": "carousel", "width": "small", "cards-height": "short", "c1-title": "Um", "c1-media": "https://e.example/1.png", "c2": `{"t":"Dois","m":"https://e.example/2.png"}`},
		content.Content{Carousel: &content.Carousel{Width: content.SmallWidth, Cards: []content.Card{
			{Title: "Um", Media: &content.Media{URL: "https://e.example/1.png", Height: content.Short}},
			{Title: "Dois", Media: &content.Media{URL: "https://e.example/2.png", Height: content.Short}},
		}}},
		map[string]func(*content.Content) *[]content.Suggestion{"": below, "c1-": func(c *content.Content) *[]content.Suggestion { return &c.Carousel.Cards[0].Suggestions }},
	},
	"file": {
		map[string]string{"kind": "file", "file": "https://e.example/a.pdf", "file-thumbnail": "https://e.example/a.png"},
		content.Content{File: &content.File{URL: "https://e.example/a.pdf", ThumbnailURL: "https://e.example/a.png"}},
		map[string]func(*content.Content) *[]content.Suggestion{"": below},
	},
}

func below(c *content.Content) *[]content.Suggestion { return &c.Suggestions }

func copyOf(t *testing.T, c content.Content) (copied content.Content) {
	t.Helper()
	document, err := json.Marshal(c)
	if err != nil || json.Unmarshal(document, &copied) != nil {
		t.Fatal(err)
	}
	return copied
}

func TestEditor_FormsAndSuggestions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for form, entered := range forms {
		for prefix, list := range entered.lists {
			for kind, suggestion := range kinds {
				t.Run(form+"/"+prefix+kind, func(t *testing.T) {
					t.Parallel()
					fields := map[string]string{prefix + "s1-text": "Toque"}
					for name, value := range suggestion.enter {
						fields[prefix+"s1-"+name] = value
					}
					e := b.open(t, newPage).set(entered.enter).set(map[string]string{"name": "n", "traffic": "transaction"})
					saved := e.press("add " + prefix + "s").set(fields).save()

					want, button := copyOf(t, entered.want), suggestion.want
					button.Text = "Toque"
					*list(&want) = []content.Suggestion{button}
					if diff := cmp.Diff(want, saved.Content, cmpopts.EquateEmpty()); diff != "" || saved.Traffic != campaign.Transaction {
						t.Errorf("traffic %s, content (-want +got):\n%s", saved.Traffic, diff)
					}
					again := b.open(t, "/dashboard/templates/"+saved.ID+"/edit").save()
					if diff := cmp.Diff(saved.Content, again.Content); diff != "" || again.Version != 2 {
						t.Errorf("version %d, saved unchanged (-first +second):\n%s", again.Version, diff)
					}
				})
			}
		}
	}
}

func TestEditor_Rearranged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.open(t, newPage).set(map[string]string{"kind": "carousel", "name": "Ofertas", "c1-title": "Um \"1\"", "c1-media": "https://e.example/1.png"})
	e.press("open c2").set(map[string]string{"c2-title": "Dois & <2>", "c2-description": "Linha\nde baixo"})
	e.press("add c2-s").set(map[string]string{"c2-s1-text": "A", "c2-s1-kind": "showLocation", "c2-s1-latitude": "norte"})
	e.press("add c2-s").set(map[string]string{"c2-s2-text": "B"})
	e.press("up c2-s2", "add c").set(map[string]string{"c3-title": "Três"})
	e.press("add s").set(map[string]string{"s1-text": "Sair"})
	e.press("down c1", "add c", "remove c4", "open c1", "open c1-s2")
	if got := e.fields.Get("c1-s2-latitude"); got != "norte" {
		t.Errorf("the latitude is %q", got)
	}
	saved := e.set(map[string]string{"c1-s2-latitude": "-23.5", "c1-s2-longitude": "-46.6"}).save()
	want := content.Content{
		Carousel: &content.Carousel{Cards: []content.Card{
			{Title: "Dois & <2>", Description: "Linha\nde baixo", Suggestions: []content.Suggestion{
				{Kind: content.Reply, Text: "B"}, {Kind: content.ShowLocation, Text: "A", Location: &content.Location{Latitude: -23.5, Longitude: -46.6}},
			}},
			{Title: "Um \"1\"", Media: &content.Media{URL: "https://e.example/1.png"}},
			{Title: "Três"},
		}},
		Suggestions: content.Replies("Sair"),
	}
	if diff := cmp.Diff(want, saved.Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestEditor_OtherFormKeepsFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.open(t, newPage).set(map[string]string{"body": "Olá", "card-title": "Título", "file": "https://e.example/a.pdf", "c1-title": "Um", "kind": "card"})
	e.press("add card-s", "add s")
	for name, want := range map[string]string{"body": "Olá", "card-title": "Título", "file": "https://e.example/a.pdf", "c1-title": "Um", "kind": "card"} {
		if got := e.fields.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// The button that was used, or the first field of what it opened, has the focus.
func TestEditor_Focus(t *testing.T) {
	t.Parallel()
	e := newBench(t).open(t, newPage)
	for _, test := range []struct{ press, name, value string }{
		{"add c", "c3-title", ""},
		{"up c3", "do", "up c2"},
		{"up c2", "do", "down c1"},
		{"close c1", "do", "open c1"},
		{"remove c3", "do", "open c2"},
		{"add s", "s1-kind", ""},
		{"remove s1", "do", "add s"},
	} {
		e.press(test.press)
		focused := regexp.MustCompile(`<[^>]* autofocus>`).FindAllString(e.page.Body, -1)
		if len(focused) != 1 || attribute(focused[0], "name") != test.name || test.value != "" && attribute(focused[0], "value") != test.value {
			t.Errorf("after %s, the focus is on %q", test.press, focused)
		}
	}
}

// What a card or suggestion button answers to htmx is the form alone.
func TestEditor_Fragment(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.admin.Header.Set("Hx-Request", "true")
	got := b.admin.Post("/dashboard/templates", url.Values{"do": {"add s"}, "card-title": {""}, "kind": {"text"}, "body": {"Olá"}})
	contains(t, got, http.StatusOK, `<form`, `name="s1-text"`, ">Olá</textarea>")
	if strings.Contains(got.Body, "<html") || !strings.HasPrefix(strings.TrimSpace(got.Body), "<form") {
		t.Errorf("the fragment is\n%s", got.Body)
	}
	if all, err := b.store.Templates(t.Context(), b.tenant); err != nil || len(all) > 0 {
		t.Errorf("saved: %v %v", all, err)
	}
}

// Cards and suggestions that nobody opens are those of the version that was opened, also
// after another version was saved.
func TestEditor_UnchangedParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := b.keep(campaign.Template{ID: templateID(0), Name: "n", Content: content.Content{
		Carousel: &content.Carousel{Cards: []content.Card{
			{Title: "Um", Suggestions: content.Replies("A", "B")}, {Title: "Dois", Media: &content.Media{URL: "https://e.example/{{x}}"}}, {Title: "Três"},
		}},
		Suggestions: content.Replies("C", "D"),
	}})
	path := "/dashboard/templates/" + before.ID
	e := b.open(t, path+"/edit")
	b.open(t, path+"/edit").press("remove c2", "remove s1").save()
	e.press("up c3", "open c1", "up c1-s2", "down s1")
	e.fields.Set("over", "2") // told of the version that was saved meanwhile
	saved := e.set(map[string]string{"c1-title": "Primeiro"}).save()
	want := content.Content{
		Carousel: &content.Carousel{Cards: []content.Card{
			{Title: "Primeiro", Suggestions: content.Replies("B", "A")}, {Title: "Três"}, {Title: "Dois", Media: &content.Media{URL: "https://e.example/{{x}}"}},
		}},
		Suggestions: content.Replies("D", "C"),
	}
	if diff := cmp.Diff(want, saved.Content); diff != "" || saved.Version != 3 {
		t.Errorf("version %d (-want +got):\n%s", saved.Version, diff)
	}

	form := url.Values{"kind": {"carousel"}, "card-title": {""}, "c1": {"@c1"}, "base": {"1"}, "id": {before.ID}}
	contains(t, b.admin.Post("/dashboard/templates/preview", form), http.StatusOK, "Um")
	other := b.SignIn("t-other", web.RoleAdmin)
	contains(t, other.Post("/dashboard/templates/preview", form), http.StatusNotFound)
	for name, value := range map[string]string{"c1": "@c9", "base": "9", "id": "x"} {
		wrong := maps.Clone(form)
		wrong.Set(name, value)
		if page := b.admin.Post("/dashboard/templates/preview", wrong); page.Status >= http.StatusInternalServerError || strings.Contains(page.Body, "Um<") {
			t.Errorf("%s=%s: answered %d", name, value, page.Status)
		}
	}
}

// Each limit one over is refused at its field, which has the focus.
func TestEditor_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := func(n int) string { return strings.Repeat("ã", n) }
	address := "https://e.example/" + strings.Repeat("a", content.MaxURL-17)
	text := map[string]string{"kind": "text", "body": "Olá"}
	card := map[string]string{"kind": "card", "card-title": "Oferta"}
	carousel := map[string]string{"kind": "carousel", "c1-title": "Um", "c2": `{"t":"Dois"}`}
	many := func(prefix string, n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint(prefix, "s", i+1)] = `{"t":"Sim"}`
		}
		return all
	}
	cards := map[string]string{}
	for i := range content.MaxCards + 1 {
		cards[fmt.Sprint("c", i+1)] = `{"t":"a"}`
	}
	for name, test := range map[string]struct {
		form  map[string]string
		extra map[string]string // also fields that the form does not have
		field string
		says  string
	}{
		"name":               {text, map[string]string{"name": strings.Repeat("n", 201)}, "name", "Name: 201 characters without the variables, at most 200"},
		"text":               {text, map[string]string{"body": long(3073)}, "body", "Text: 3,073 characters without the variables, at most 3,072"},
		"blank text":         {text, map[string]string{"body": " "}, "body", "Text: it is blank"},
		"variables":          {text, map[string]string{"body": manyVariables(51)}, "", "Variables: 51, at most 50"},
		"traffic":            {text, map[string]string{"traffic": "news"}, "traffic", "Purpose: there is no such value"},
		"suggestions":        {text, many("", 12), "", "Button: 12, at most 11"},
		"blank card":         {card, map[string]string{"card-title": ""}, "card-title", "Card: it is blank"},
		"title":              {card, map[string]string{"card-title": long(201)}, "card-title", "Title: 201 characters without the variables, at most 200"},
		"description":        {card, map[string]string{"card-description": long(2001)}, "card-description", "at most 2,000"},
		"media":              {card, map[string]string{"card-media": address}, "card-media", "2,049 characters without the variables, at most 2,048"},
		"media over http":    {card, map[string]string{"card-media": "http://e.example/"}, "card-media", "begins with https://"},
		"thumbnail alone":    {card, map[string]string{"card-thumbnail": "https://e.example/"}, "card-media", "it is blank"},
		"thumbnail":          {card, map[string]string{"card-media": "https://e.example/", "card-thumbnail": "e.example"}, "card-thumbnail", "begins with https://"},
		"card height":        {card, map[string]string{"card-media": "https://e.example/", "card-height": "huge"}, "card-height", "there is no such value"},
		"card suggestions":   {card, many("card-", 5), "", "Button: 5, at most 4"},
		"card suggestion":    {card, map[string]string{"card-s1": `{"t":""}`, "s1": `{"t":"Sim"}`}, "card-s1-text", "Button 1: it is blank"},
		"message suggestion": {card, map[string]string{"card-s1": `{"t":"Sim"}`, "s1": `{"t":"` + long(26) + `"}`}, "s1-text", "Button 1: 26 characters without the variables, at most 25"},
		"cards":              {carousel, cards, "", "Cards: 11, at most 10"},
		"width":              {carousel, map[string]string{"width": "large"}, "width", "there is no such value"},
		"small and tall": {
			carousel,
			map[string]string{"width": "small", "cards-height": "tall", "c1-media": "https://e.example/", "c2": `{"m":"https://e.example/"}`},
			"cards-height", "the tall height does not fit small cards",
		},
		"closed card's title":       {carousel, map[string]string{"c2": `{"t":"` + long(201) + `"}`}, "c2-title", "Title, card 2: 201 characters"},
		"closed card's suggestion":  {carousel, map[string]string{"c2": `{"t":"a","s":[{"t":"Ver","k":"openUrl","u":"http://e.example/"}]}`}, "c2-s1-url", "Link URL of button 1, card 2"},
		"closed card's suggestions": {carousel, map[string]string{"c2": `{"t":"a","s":[{"t":"a"},{"t":"a"},{"t":"a"},{"t":"a"},{"t":"a"}]}`}, "", "Button, card 2: 5, at most 4"},
		"file":                      {map[string]string{"kind": "file", "file": ""}, nil, "file", "File URL: it is blank"},
		"file's thumbnail":          {map[string]string{"kind": "file", "file": "https://e.example/"}, map[string]string{"file-thumbnail": "x"}, "file-thumbnail", "begins with https://"},
		"blank URL":                 {text, map[string]string{"s1": `{"t":"a","k":"openUrl"}`}, "s1-url", "it is blank"},
		"long URL":                  {text, map[string]string{"s1": `{"t":"a","k":"openUrl","u":"` + address + `"}`}, "s1-url", "at most 2,048"},
		"webview":                   {text, map[string]string{"s1": `{"t":"a","k":"openUrl","u":"https://e.example","w":"x"}`}, "s1-webview", "there is no such value"},
		"phone":                     {text, map[string]string{"s1": `{"t":"a","k":"dial","p":"11 3333"}`}, "s1-phone", "+ and 7 to 15 digits"},
		"no location":               {text, map[string]string{"s1": `{"t":"a","k":"showLocation"}`}, "s1-latitude", "write a latitude and a longitude"},
		"latitude":                  {text, map[string]string{"s1": `{"t":"a","k":"showLocation","la":"90.1"}`}, "s1-latitude", "the latitude (-90 to 90)"},
		"longitude in words":        {text, map[string]string{"s1": `{"t":"a","k":"showLocation","lo":"oeste"}`}, "s1-latitude", "the longitude (-180 to 180)"},
		"label":                     {text, map[string]string{"s1": `{"t":"a","k":"showLocation","q":"b","l":"` + long(101) + `"}`}, "s1-label", "at most 100"},
		"query":                     {text, map[string]string{"s1": `{"t":"a","k":"showLocation","q":"` + long(101) + `"}`}, "s1-query", "at most 100"},
		"event without a title":     {text, map[string]string{"s1": `{"t":"a","k":"calendarEvent"}`}, "s1-title", "it is blank"},
		"event's title":             {text, map[string]string{"s1": `{"t":"a","k":"calendarEvent","e":"` + long(101) + `","b":"2037-12-01T10:00","f":"2037-12-01T11:00"}`}, "s1-title", "at most 100"},
		"event's description":       {text, map[string]string{"s1": `{"t":"a","k":"calendarEvent","e":"b","d":"` + long(501) + `","b":"2037-12-01T10:00","f":"2037-12-01T11:00"}`}, "s1-details", "at most 500"},
		"event's end":               {text, map[string]string{"s1": `{"t":"a","k":"calendarEvent","e":"b","b":"2037-12-01T10:00","f":"2037-12-01T10:00"}`}, "s1-end", "the end must be later"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := b.open(t, newPage).set(map[string]string{"name": "n"}).set(test.form)
			for field, value := range test.extra {
				e.fields.Set(field, value)
			}
			page := b.admin.Post(e.action, e.fields)
			contains(t, page, http.StatusUnprocessableEntity, "The template was not saved")
			focused := regexp.MustCompile(`<[^>]* autofocus[ >]`).FindAllString(page.Body, -1)
			if len(focused) != 1 {
				t.Fatalf("the focus is on %q", focused)
			}
			if test.field != "" && (attribute(focused[0], "name") != test.field || !strings.Contains(focused[0], `aria-invalid="true"`)) {
				t.Errorf("the focus is on %s, want %s", focused[0], test.field)
			}
			if n := strings.Count(page.Text(), test.says); n < 2 {
				t.Errorf("%q is there %d times, want it in the summary and at its field", test.says, n)
			}
		})
	}
}

// Errors stay at their fields until they are corrected.
func TestEditor_ErrorsRemain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	e := b.open(t, newPage).set(map[string]string{"name": "n", "kind": "carousel", "c2": `{"t":"Dois","m":"http://e.example/"}`})
	e.read(b.admin.Post(e.action, e.fields))
	contains(t, e.page, http.StatusUnprocessableEntity, `id="c1-title-e">Card 1: it is blank`, `<p class="flaw">Image or video URL, card 2`)
	e.set(map[string]string{"c1-title": "Um"}).press("open c2")
	contains(t, e.page, http.StatusOK, `id="c2-media-e">Image or video URL, card 2`)
	e.set(map[string]string{"c2-media": ""})
	if page := e.press("open c1").page; strings.Contains(page.Body, "aria-invalid") || strings.Contains(page.Body, `class="flaw"`) {
		t.Error("errors remain after their corrections")
	}
	e.save()
}

func TestEditor_ClassHint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.admin.Header.Set("Hx-Request", "true")
	for name, test := range map[string]struct {
		form map[string]string
		says []string
	}{
		"short":            {map[string]string{"body": "Ola"}, []string{"Basic message", "3 of 160 bytes"}},
		"accents":          {map[string]string{"body": "Olá, não é você"}, []string{"19 of 160 bytes", "á (2 bytes), ã (2 bytes), é (2 bytes), ê (2 bytes)"}},
		"crosses":          {map[string]string{"body": strings.Repeat("a", 155) + "bcdeé"}, []string{"Single message", "161 of 160 bytes", "stops being basic at “é” after “aaaaaaaabcde”"}},
		"one variable":     {map[string]string{"body": strings.Repeat("a", 100) + "{{nome}}"}, []string{"Basic message", "Basic as long as {{nome}} has up to 60 bytes"}},
		"twice":            {map[string]string{"body": strings.Repeat("a", 100) + "{{nome}}{{nome}}"}, []string{"{{nome}} has up to 30 bytes"}},
		"two variables":    {map[string]string{"body": "Oi {{a}} {{b}}"}, []string{"up to 156 bytes in all: a, b", "Values of up to"}},
		"with a button":    {map[string]string{"body": "Ola", "s1": `{"t":"Sim"}`}, []string{"Single message", "With a button"}},
		"card":             {map[string]string{"kind": "card", "card-title": "Ola"}, []string{"Single message", "Only a text"}},
		"URL of a value":   {map[string]string{"body": "Ola", "s1": `{"t":"Ver","k":"openUrl","u":"{{link}}"}`}, []string{"depends on the value of a variable"}},
		"URL with a value": {map[string]string{"body": "Ola", "s1": `{"t":"Ver","k":"openUrl","u":"https://e.example/{{id}}"}`}, []string{"Values of up to"}},
	} {
		form := url.Values{"kind": {"text"}, "card-title": {""}}
		for field, value := range test.form {
			form.Set(field, value)
		}
		page := b.admin.Post("/dashboard/templates/preview", form)
		for _, says := range test.says {
			if !strings.Contains(page.Text(), says) {
				t.Errorf("%s: the page lacks %q: %s", name, says, page.Text())
			}
		}
		if name == "URL with a value" && strings.Contains(page.Text(), "depends on the value of a variable") {
			t.Errorf("%s: the page warns of its address", name)
		}
	}
}

// The editor warns of buttons that read as an opt-out: a tap opts out for "Parar" only.
func TestEditor_WarnsOfStops(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.admin.Header.Set("Hx-Request", "true")
	for button, warns := range map[string]bool{
		`{"t":"Sair"}`: true, `{"t":"Cancelar"}`: true, `{"t":"Não quero mais receber"}`: true,
		`{"t":"Parar"}`: false, `{"t":"PARAR!"}`: false, `{"t":"Cancelar consulta"}`: false, `{"t":"Sim"}`: false,
		`{"t":"Sair","k":"openUrl","u":"https://e.example/"}`: false,
	} {
		page := b.admin.Post(list+"/preview", url.Values{"kind": {"text"}, "card-title": {""}, "body": {"Ola"}, "s1": {button}})
		if got := strings.Contains(page.Text(), "does not opt out"); got != warns {
			t.Errorf("%s: warns %v: %s", button, got, page.Text())
		}
	}
}

// A phone's notification shows the first button that does not ask for the location.
func TestEditor_Notification(t *testing.T) {
	t.Parallel()
	who := editing(t, campaign.Template{ID: templateID(0), Content: content.Content{Text: "Oi"}})
	who.Header.Set("Hx-Request", "true")
	for name, test := range map[string]struct {
		first, second, says string
	}{
		"replies":  {`{"t":"Sim"}`, `{"t":"Não"}`, "one button, the first: “Sim”"},
		"location": {`{"t":"Onde?","k":"requestLocation"}`, `{"t":"Não"}`, "one button, the first: “Não”"},
		"none":     {`{"t":"Onde?","k":"requestLocation"}`, `{"t":" "}`, ""},
	} {
		page := who.Post(list+"/preview", url.Values{"kind": {"text"}, "card-title": {""}, "body": {"Oi"}, "s1": {test.first}, "s2": {test.second}})
		if got := strings.Contains(page.Text(), "notification"); got != (test.says != "") || !strings.Contains(page.Text(), test.says) {
			t.Errorf("%s: %s", name, page.Text())
		}
	}
}

// The description of a card's image is saved, and is the alternative text of its preview.
func TestEditor_MediaText(t *testing.T) {
	t.Parallel()
	who := editing(t, campaign.Template{ID: templateID(0), Content: content.Content{Card: &content.Card{
		Title: "Oi", Media: &content.Media{URL: "https://e.example/a.png", ContentDescription: "Um tênis \"azul\""},
	}}})
	page := who.Get(list + "/" + templateID(0) + "/edit")
	for _, want := range []string{`name="card-media-text" type="text" autocomplete="off" value="Um tênis &#34;azul&#34;"`, `alt="Um tênis &#34;azul&#34;"`} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	who.Header.Set("Hx-Request", "true")
	sent := url.Values{"kind": {"card"}, "card-title": {"Oi"}, "card-media": {"https://e.example/a.png"}, "card-media-text": {strings.Repeat("ã", 201)}}
	if page := who.Post(list+"/preview", sent); !strings.Contains(page.Text(), "Description of the image or the video: 201 characters") {
		t.Errorf("the preview says %s", page.Text())
	}
}

// Only a change of the billing class is announced.
func TestPreview_AnnouncesTheClass(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.admin.Header.Set("HX-Request", "true")
	form := textForm("n", "Olá")
	for class, announced := range map[string]bool{"basic": false, "single": true} {
		form.Set("class", class)
		page := b.admin.Post(list+"/preview", form)
		if got := strings.Contains(page.Body, `role="status" hx-swap-oob="true">Basic message`); got != announced {
			t.Errorf("after a %s message: announced %t, want %t\n%s", class, got, announced, page.Body)
		}
	}
}
