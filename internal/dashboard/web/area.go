package web

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Area is a part of the dashboard, with its files: pages *.html, and texts.json. A page and
// the texts of an area are parsed when a request first needs them, because parsing all of
// them takes longer than the rest of a cold start.
type Area struct {
	Files fs.FS
	// Texts are the words before the first dot of the keys in texts.json.
	Texts []string
}

//go:embed pages
var pages embed.FS

// own returns the area of the pages and texts that all areas use.
func own() (Area, error) {
	files, err := fs.Sub(pages, "pages")
	return Area{Files: files, Texts: []string{"ui", "refusal", "rejection", "phone", "media"}}, err
}

// page is a file of an area with the parts that it uses.
type page struct {
	files     fs.FS
	templates func() (*template.Template, error) // parsed once
}

// areaTexts returns the texts of an area, parsed once.
type areaTexts func() (map[string]text, error)

// text is an entry of texts.json: {"area.key": {"pt": …, "en": …}}. The arguments
// replace {0}, {1} and so on.
type text struct {
	PT string `json:"pt"`
	EN string `json:"en"`
}

var (
	errTexts  = errors.New("a text lacks a language, is repeated, or has a key that its area does not declare")
	errPages  = errors.New("two areas have a page of this name")
	errNoPage = errors.New("no area has this page")
)

// Load registers the areas. Call it once, before serving. The file names of pages must be
// unique.
func (ui *UI) Load(areas ...Area) error {
	shared, err := own()
	if err != nil {
		return err
	}
	ui.translations, ui.pages, ui.texts = newTranslations(), map[string]page{}, map[string][]areaTexts{}
	for _, a := range append([]Area{shared}, areas...) {
		if err := ui.load(a); err != nil {
			return err
		}
	}
	return nil
}

// Share registers the areas of another UI, with the pages and texts that it has parsed. It is for tests, because parsing
// takes longer than most of them.
func (ui *UI) Share(of *UI) {
	ui.translations, ui.pages, ui.texts = newTranslations(), of.pages, of.texts
}

func (ui *UI) load(a Area) error {
	names, err := fs.Glob(a.Files, "*.html")
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, taken := ui.pages[name]; taken {
			return fmt.Errorf("%s: %w", name, errPages)
		}
		ui.pages[name] = page{a.Files, sync.OnceValues(func() (*template.Template, error) { return ui.parse(name) })}
	}
	read := sync.OnceValues(func() (map[string]text, error) { return readTexts(a) })
	for _, word := range a.Texts {
		ui.texts[word] = append(ui.texts[word], read)
	}
	return nil
}

// Check parses all pages and texts and returns their first fault. It is for tests: otherwise
// a fault shows only in the first request for the page.
func (ui *UI) Check() error {
	for word, areas := range ui.texts {
		if err := checkTexts(word, areas); err != nil {
			return err
		}
	}
	for name := range ui.pages {
		if err := ui.checkPage(name); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts returns an error if two areas have a text whose key begins with the word.
func checkTexts(word string, areas []areaTexts) error {
	keys := map[string]bool{}
	for _, read := range areas {
		texts, err := read()
		if err != nil {
			return err
		}
		for key := range texts {
			if wordOf(key) == word && keys[key] {
				return fmt.Errorf("%s: %w", key, errTexts)
			}
			keys[key] = true
		}
	}
	return nil
}

// checkPage parses a page, and looks up the parts that it uses.
func (ui *UI) checkPage(name string) error {
	templates, err := ui.templatesOf(name)
	if err != nil {
		return err
	}
	// Without data most pages fail, but only after html/template has escaped them.
	if fault, ok := errors.AsType[*template.Error](templates.Execute(io.Discard, nil)); ok {
		return fault
	}
	return nil
}

func readTexts(a Area) (map[string]text, error) {
	raw, err := fs.ReadFile(a.Files, "texts.json")
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	var all map[string]text
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	for key, t := range all {
		if t.PT == "" || t.EN == "" || !slices.Contains(a.Texts, wordOf(key)) {
			return nil, fmt.Errorf("%s: %w", key, errTexts)
		}
	}
	return all, nil
}

// wordOf returns the word of a text's key by which areas declare it.
func wordOf(key string) string {
	word, _, _ := strings.Cut(key, ".")
	return word
}

// text returns the text of a key in the language, "" if there is none.
func (ui *UI) text(in *translation, key string) string {
	for _, read := range ui.texts[wordOf(key)] {
		texts, err := read()
		if err != nil {
			panic(err) // texts are embedded in the binary, and checked by tests
		}
		if t, ok := texts[key]; ok {
			return in.of(t)
		}
	}
	return ""
}

// templatesOf returns the template of a page, with the parts that it uses.
func (ui *UI) templatesOf(name string) (*template.Template, error) {
	p, ok := ui.pages[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, errNoPage)
	}
	return p.templates()
}

func (ui *UI) parse(name string) (*template.Template, error) {
	page := template.New("")
	if err := ui.include(page, name); err != nil {
		return nil, err
	}
	return page.Lookup(name), nil
}

// include parses a file and the files that it uses into a page. A part that several files use
// has a file of its own, named as the part.
func (ui *UI) include(page *template.Template, name string) error {
	p, ok := ui.pages[name]
	if !ok {
		return fmt.Errorf("%s: %w", name, errNoPage)
	}
	source, err := fs.ReadFile(p.files, name)
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	text := unindented(string(source))
	if _, err := page.New(name).Parse(text); err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	for _, part := range partsOf(text) {
		if page.Lookup(part) == nil {
			if err := ui.include(page, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// partsOf returns the files that a page's source uses.
func partsOf(source string) (names []string) {
	for _, after := range strings.Split(source, `template "`)[1:] {
		if name, _, _ := strings.Cut(after, `"`); strings.HasSuffix(name, ".html") {
			names = append(names, name)
		}
	}
	return names
}

// unindented returns a page without the white space at the start of its lines.
func unindented(page string) string {
	var b strings.Builder
	b.Grow(len(page))
	for line := range strings.Lines(page) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
}

// languages are the dashboard's languages. The first one is the default.
var languages = []language.Tag{language.BrazilianPortuguese, language.English}

var matcher = language.NewMatcher(languages)

// translation is a language of the dashboard.
type translation struct {
	code    string // "pt" or "en", as in texts.json
	tag     language.Tag
	of      func(text) string
	numbers *message.Printer
	// thousands separates the thousands of a whole number, as numbers does.
	thousands byte
	instant   string // layout of a date and time
	day       string // layout of a date without its year
	date      string // layout of a date
}

func newTranslations() []*translation {
	translations := []*translation{
		{code: "pt", tag: languages[0], of: func(t text) string { return t.PT }, thousands: '.', instant: "02/01/2006 15:04", day: "02/01", date: "02/01/2006"},
		{code: "en", tag: languages[1], of: func(t text) string { return t.EN }, thousands: ',', instant: "2 Jan 2006, 15:04", day: "2 Jan", date: "2 Jan 2006"},
	}
	for _, t := range translations {
		t.numbers = message.NewPrinter(t.tag)
	}
	return translations
}

func fill(text string, args []any) string {
	for i, a := range args {
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", fmt.Sprint(a))
	}
	return text
}
