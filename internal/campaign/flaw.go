package campaign

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the provider takes of a template, in characters, and what we take of its
// name.
const (
	MaxTemplateName    = 200
	MaxTemplateText    = 3072
	MaxCardTitle       = 200
	MaxCardDescription = 2000
	MaxSuggestion      = 25
	MaxSuggestions     = 4
	// MaxRenderedBytes is the size of a whole request to the provider in bytes.
	MaxRenderedBytes = 250 << 10
)

// MaxTemplateVariables is how many variables we take in a template. What they are
// called may make a text as long again as the provider takes.
const MaxTemplateVariables = 50

// Flaw is one thing that keeps a template from being saved.
type Flaw struct {
	Part  TemplatePart
	Index int // of a suggestion, from 1
	Code  FlawCode
	Have  int // characters, or suggestions
	Most  int
}

// TemplatePart is a part of a template that may be flawed.
type TemplatePart string

// The parts of a template.
const (
	PartName        TemplatePart = "name"
	PartText        TemplatePart = "text"
	PartCard        TemplatePart = "card" // all of its texts together
	PartTitle       TemplatePart = "title"
	PartDescription TemplatePart = "description"
	PartMedia       TemplatePart = "media"
	PartSuggestion  TemplatePart = "suggestion"
	PartVariables   TemplatePart = "variables"
)

// FlawCode says what is wrong with a part.
type FlawCode string

// What may be wrong with a part of a template.
const (
	FlawBlank    FlawCode = "blank"
	FlawTooLong  FlawCode = "too_long"  // without its variables
	FlawTooWordy FlawCode = "too_wordy" // with them
	FlawTooMany  FlawCode = "too_many"
	FlawBraces   FlawCode = "braces" // {{ or }} that is no variable
	FlawNotHTTPS FlawCode = "not_https"
	FlawControl  FlawCode = "control" // a control character in a name, or a NUL in a text
	FlawEncoding FlawCode = "encoding"
)

// Flaws returns what is wrong with the template, as it is with every variable
// empty: what the variables add is judged when they are known.
func (t Template) Flaws() []Flaw {
	flaws, variables := nameFlaws(t.Name), len(t.Variables())
	if variables > MaxTemplateVariables {
		flaws = append(flaws, Flaw{Part: PartVariables, Code: FlawTooMany, Have: variables, Most: MaxTemplateVariables})
	}
	skeleton := t.Render(make([]string, variables))
	if t.Card != nil {
		return append(flaws, cardFlaws(*t.Card, *skeleton.Card)...)
	}
	if Blank(t.Text) {
		return append(flaws, Flaw{Part: PartText, Code: FlawBlank})
	}
	return append(flaws, partFlaws(PartText, 0, t.Text, skeleton.Text, MaxTemplateText)...)
}

func nameFlaws(name string) []Flaw {
	n := utf8.RuneCountInString(name)
	switch {
	case Blank(name):
		return []Flaw{{Part: PartName, Code: FlawBlank}}
	case !utf8.ValidString(name):
		return []Flaw{{Part: PartName, Code: FlawEncoding}}
	case strings.ContainsFunc(name, unicode.IsControl):
		return []Flaw{{Part: PartName, Code: FlawControl}}
	case n > MaxTemplateName:
		return []Flaw{{Part: PartName, Code: FlawTooLong, Have: n, Most: MaxTemplateName}}
	}
	return nil
}

func cardFlaws(card, skeleton Card) []Flaw {
	if Blank(card.Title + card.Description + card.MediaURL) {
		return []Flaw{{Part: PartCard, Code: FlawBlank}}
	}
	flaws := partFlaws(PartTitle, 0, card.Title, skeleton.Title, MaxCardTitle)
	flaws = append(flaws, partFlaws(PartDescription, 0, card.Description, skeleton.Description, MaxCardDescription)...)
	flaws = append(flaws, mediaFlaws(card.MediaURL, skeleton.MediaURL)...)
	if n := len(card.Suggestions); n > MaxSuggestions {
		return append(flaws, Flaw{Part: PartSuggestion, Code: FlawTooMany, Have: n, Most: MaxSuggestions})
	}
	for i, s := range card.Suggestions {
		if Blank(s) {
			flaws = append(flaws, Flaw{Part: PartSuggestion, Index: i + 1, Code: FlawBlank})
			continue
		}
		flaws = append(flaws, partFlaws(PartSuggestion, i+1, s, skeleton.Suggestions[i], MaxSuggestion)...)
	}
	return flaws
}

// mediaFlaws judges a picture's address, which may be a variable altogether.
func mediaFlaws(address, skeleton string) []Flaw {
	if address != "" && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "{{") {
		return []Flaw{{Part: PartMedia, Code: FlawNotHTTPS}}
	}
	return partFlaws(PartMedia, 0, address, skeleton, MaxTemplateText)
}

// partFlaws judges a text as it is written, and as it is with its variables empty.
func partFlaws(part TemplatePart, index int, written, skeleton string, most int) []Flaw {
	flaw := Flaw{Part: part, Index: index}
	n, all := utf8.RuneCountInString(skeleton), utf8.RuneCountInString(written)
	switch {
	case !utf8.ValidString(skeleton):
		flaw.Code = FlawEncoding
	case strings.ContainsRune(skeleton, 0):
		flaw.Code = FlawControl
	case n > most:
		flaw.Code, flaw.Have, flaw.Most = FlawTooLong, n, most
	case all > max(2*most, MaxTemplateText):
		flaw.Code, flaw.Have, flaw.Most = FlawTooWordy, all, max(2*most, MaxTemplateText)
	case strings.Contains(skeleton, "{{") || strings.Contains(skeleton, "}}"):
		flaw.Code = FlawBraces
	default:
		return nil
	}
	return []Flaw{flaw}
}
