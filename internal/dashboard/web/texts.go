package web

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Languages are the dashboard's languages. The first one is the default.
var languages = []language.Tag{language.BrazilianPortuguese, language.English}

var matcher = language.NewMatcher(languages)

// translation is a language of the dashboard.
type translation struct {
	code    string // "pt" or "en", as in texts.json
	tag     language.Tag
	of      func(text) string
	numbers *message.Printer
	instant string // layout of a date and time
	day     string
}

func newTongues() []*translation {
	translations := []*translation{
		{code: "pt", tag: languages[0], of: func(t text) string { return t.PT }, instant: "02/01/2006 15:04", day: "02/01/2006"},
		{code: "en", tag: languages[1], of: func(t text) string { return t.EN }, instant: "2 Jan 2006, 15:04", day: "2 Jan 2006"},
	}
	for _, t := range translations {
		t.numbers = message.NewPrinter(t.tag)
	}
	return translations
}

// fill inserts the arguments into a text.
func fill(text string, args []any) string {
	for i, a := range args {
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", fmt.Sprint(a))
	}
	return text
}
