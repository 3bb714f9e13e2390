package campaign

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Template limits, in characters. MaxTemplateName is the service's own limit; the others
// are the provider's.
const (
	MaxTemplateName    = 200
	MaxTemplateText    = 3072
	MaxCardTitle       = 200
	MaxCardDescription = 2000
	MaxSuggestion      = 25
	MaxSuggestions     = 4
	// MaxRenderedBytes is the maximum size of a request to the provider, in bytes.
	MaxRenderedBytes = 250 << 10
)

// MaxTemplateVariables is the maximum number of variables in a template. Their names can
// double the length of a text.
const MaxTemplateVariables = 50

// Flaw is one reason why a template cannot be saved.
type Flaw struct {
	Part  TemplatePart
	Index int // of a suggestion, from 1
	Code  FlawCode
	Have  int // characters, or suggestions
	Most  int
}

// TemplatePart is the part of a template that has a flaw.
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

// FlawCode is the stable code of a flaw.
type FlawCode string

// The flaw codes.
const (
	FlawBlank    FlawCode = "blank"
	FlawTooLong  FlawCode = "too_long"  // without its variables
	FlawTooWordy FlawCode = "too_wordy" // with its variables
	FlawTooMany  FlawCode = "too_many"
	FlawBraces   FlawCode = "braces" // {{ or }} outside a variable
	FlawNotHTTPS FlawCode = "not_https"
	FlawControl  FlawCode = "control" // a control character in a name, or a NUL in a text
	FlawEncoding FlawCode = "encoding"
)

// Flaws returns the flaws of the template with every variable empty. Rendered messages are
// checked by TooLong.
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

// mediaFlaws checks the address of a card's media. The whole address can be a variable.
func mediaFlaws(address, skeleton string) []Flaw {
	if address != "" && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "{{") {
		return []Flaw{{Part: PartMedia, Code: FlawNotHTTPS}}
	}
	return partFlaws(PartMedia, 0, address, skeleton, MaxTemplateText)
}

// partFlaws checks a text as written, and its skeleton: the text with its variables empty.
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
