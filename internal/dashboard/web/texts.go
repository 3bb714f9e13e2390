package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a Lambda image has no time zones

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Languages are the dashboard's languages. The first one is the default.
var languages = []language.Tag{language.BrazilianPortuguese, language.English}

var matcher = language.NewMatcher(languages)

// tongue is a language of the dashboard.
type tongue struct {
	code    string // "pt" or "en", as in texts.json
	tag     language.Tag
	texts   map[string]string
	numbers *message.Printer
	instant string // layout of a date and time
	day     string
}

// text is an entry of texts.json: {"area.key": {"pt": …, "en": …}}. The arguments
// replace {0}, {1} and so on.
type text struct {
	PT string `json:"pt"`
	EN string `json:"en"`
}

var errTexts = errors.New("a text lacks a language or is repeated")

// readTexts reads the texts of the areas in both languages.
func readTexts(areas []Area) ([]*tongue, error) {
	pt := &tongue{code: "pt", tag: languages[0], texts: map[string]string{}, instant: "02/01/2006 15:04", day: "02/01/2006"}
	en := &tongue{code: "en", tag: languages[1], texts: map[string]string{}, instant: "2 Jan 2006, 15:04", day: "2 Jan 2006"}
	for _, a := range areas {
		raw, err := fs.ReadFile(a.Files, "texts.json")
		if err != nil {
			return nil, fmt.Errorf("read texts: %w", err)
		}
		var all map[string]text
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, fmt.Errorf("read texts: %w", err)
		}
		for key, t := range all {
			if t.PT == "" || t.EN == "" || pt.texts[key] != "" {
				return nil, fmt.Errorf("%s: %w", key, errTexts)
			}
			pt.texts[key], en.texts[key] = t.PT, t.EN
		}
	}
	for _, t := range []*tongue{pt, en} {
		t.numbers = message.NewPrinter(t.tag)
	}
	return []*tongue{pt, en}, nil
}

// fill inserts the arguments into a text.
func fill(text string, args []any) string {
	for i, a := range args {
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", fmt.Sprint(a))
	}
	return text
}

var saoPaulo = func() *time.Location {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err) // the time zones are embedded in the binary
	}
	return zone
}()
