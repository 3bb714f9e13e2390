package content

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign/pattern"
)

var e164Form = pattern.AtFirstUse(`^\+[1-9]\d{6,14}$`)

// Flaw is a reason why a content cannot be saved as a template.
type Flaw struct {
	Place

	Part Part
	Code FlawCode
	Have int // characters, cards or suggestions
	Most int // or, for FlawTooFew, the least
	// Why is the reason of FlawUnusable, Detail a sentence about it in English.
	Why, Detail string
}

// FlawCode is the stable code of a flaw.
type FlawCode string

// The flaw codes.
const (
	FlawBlank    FlawCode = "blank"
	FlawSeveral  FlawCode = "several"   // more than one of text, card, carousel and file
	FlawTooLong  FlawCode = "too_long"  // without its variables
	FlawTooWordy FlawCode = "too_wordy" // with its variables
	FlawTooMany  FlawCode = "too_many"
	FlawTooFew   FlawCode = "too_few"
	FlawBraces   FlawCode = "braces" // {{ or }} outside a variable
	FlawNotHTTPS FlawCode = "not_https"
	FlawControl  FlawCode = "control" // NUL in a text
	FlawEncoding FlawCode = "encoding"
	FlawUnknown  FlawCode = "unknown" // a value that is not one of the listed ones
	FlawMixed    FlawCode = "mixed"   // media heights that differ within a carousel
	FlawInvalid  FlawCode = "invalid"
	FlawUnusable FlawCode = "unusable" // a media file that the provider could not fetch
	FlawHost     FlawCode = "host"     // a variable in the scheme or the host of a URL that is more than this variable
	FlawPlus     FlawCode = "plus"     // {{+name}} outside a URL
)

// Flaws returns the flaws of the content with every variable empty. Unsendable checks rendered contents.
func (c Content) Flaws() (flaws []Flaw) {
	flaws = append(flaws, c.shapeFlaws()...)
	skeleton := c.render(make([]string, len(c.Variables())), asWritten)
	empty := slices.Collect(skeleton.fields())
	for written := range c.fields() {
		flaws = append(flaws, written.flaws(*empty[0].value)...)
		empty = empty[1:]
	}
	if len(flaws) == 0 && c.Render(make([]string, len(c.Variables()))).Unsendable() == CodeTextTooLong {
		flaws = append(flaws, Flaw{Part: PartContent, Code: FlawTooLong})
	}
	return flaws
}

func asWritten(address string) string { return address }

// length returns the number of characters that a message has for the field.
func (f field) length(skeleton string) int {
	if f.url {
		skeleton = browserURL(skeleton)
	}
	return utf8.RuneCountInString(skeleton)
}

// flaws checks a field as written, and its skeleton: its value with empty variables.
func (f field) flaws(skeleton string) []Flaw {
	flaw := Flaw{Place: f.Place, Part: f.part}
	n, all := f.length(skeleton), utf8.RuneCountInString(*f.value)
	switch {
	case !utf8.ValidString(skeleton):
		flaw.Code = FlawEncoding
	case strings.ContainsRune(skeleton, 0):
		flaw.Code = FlawControl
	case n > f.most:
		flaw.Code, flaw.Have, flaw.Most = FlawTooLong, n, f.most
	case all > max(2*f.most, MaxText):
		flaw.Code, flaw.Have, flaw.Most = FlawTooWordy, all, max(2*f.most, MaxText)
	case strings.Contains(skeleton, "{{") || strings.Contains(skeleton, "}}"):
		flaw.Code = FlawBraces
	case !f.url && hasOpen(*f.value):
		flaw.Code = FlawPlus
	case f.url && *f.value != "":
		flaw.Code = urlFlaw(*f.value, skeleton)
	}
	if flaw.Code == "" {
		return nil
	}
	return []Flaw{flaw}
}

// urlFlaw checks a URL as written, and with empty variables. Its host never comes from a value, unless the whole URL is
// one variable.
func urlFlaw(address, skeleton string) FlawCode {
	switch {
	case fixedHost(address) && !ValidURL(skeleton):
		return FlawNotHTTPS
	case fixedHost(address), skeleton == "" && oneVariable(address):
		return ""
	case strings.HasPrefix(address, "{{") || strings.HasPrefix(address, "https://"):
		return FlawHost
	}
	return FlawNotHTTPS
}

func oneVariable(address string) bool {
	n := 0
	for range pieces(address) {
		n++
	}
	return n == 1
}

// shapeFlaws checks everything but the texts.
func (c Content) shapeFlaws() (flaws []Flaw) {
	switch n := count(!blank(c.Text), c.Card != nil, c.Carousel != nil, c.File != nil); {
	case n == 0:
		return []Flaw{{Part: PartText, Code: FlawBlank}}
	case n > 1:
		return []Flaw{{Part: PartContent, Code: FlawSeveral, Have: n, Most: 1}}
	}
	if c.Card != nil {
		flaws = c.Card.shapeFlaws(0)
	}
	if c.Carousel != nil {
		flaws = c.Carousel.shapeFlaws()
	}
	if c.File != nil && blank(c.File.URL) {
		flaws = append(flaws, Flaw{Part: PartFile, Code: FlawBlank})
	}
	return append(flaws, suggestionFlaws(0, c.Suggestions, MaxSuggestions)...)
}

func (c *Carousel) shapeFlaws() (flaws []Flaw) {
	switch n := len(c.Cards); {
	case n < MinCards:
		flaws = append(flaws, Flaw{Part: PartCards, Code: FlawTooFew, Have: n, Most: MinCards})
	case n > MaxCards:
		flaws = append(flaws, Flaw{Part: PartCards, Code: FlawTooMany, Have: n, Most: MaxCards})
	}
	if !slices.Contains([]Width{"", SmallWidth, MediumWidth}, c.Width) {
		flaws = append(flaws, Flaw{Part: PartWidth, Code: FlawUnknown})
	}
	heights := map[Height]bool{}
	for i, card := range c.Cards {
		flaws = append(flaws, card.shapeFlaws(i+1)...)
		if card.Media != nil {
			heights[card.Media.height()] = true
		}
		if card.Horizontal {
			flaws = append(flaws, Flaw{Place: Place{Card: i + 1}, Part: PartCard, Code: FlawInvalid})
		}
	}
	if len(heights) > 1 {
		flaws = append(flaws, Flaw{Part: PartHeight, Code: FlawMixed})
	}
	if c.Width == SmallWidth && heights[Tall] {
		flaws = append(flaws, Flaw{Part: PartHeight, Code: FlawInvalid})
	}
	return flaws
}

func (c *Card) shapeFlaws(n int) (flaws []Flaw) {
	at := Place{Card: n}
	if blank(c.Title) && blank(c.Description) && (c.Media == nil || blank(c.Media.URL)) {
		return []Flaw{{Place: at, Part: PartCard, Code: FlawBlank}}
	}
	if c.Media != nil {
		flaws = append(flaws, c.Media.shapeFlaws(at)...)
	}
	return append(flaws, suggestionFlaws(n, c.Suggestions, MaxCardSuggestions)...)
}

func (m *Media) shapeFlaws(at Place) (flaws []Flaw) {
	if blank(m.URL) {
		flaws = append(flaws, Flaw{Place: at, Part: PartMedia, Code: FlawBlank})
	}
	if !slices.Contains([]Height{Short, Medium, Tall}, m.height()) {
		flaws = append(flaws, Flaw{Place: at, Part: PartHeight, Code: FlawUnknown})
	}
	return flaws
}

// height returns the height, medium if none is set.
func (m *Media) height() Height { return cmp.Or(m.Height, Medium) }

func suggestionFlaws(card int, all []Suggestion, most int) (flaws []Flaw) {
	if n := len(all); n > most {
		return []Flaw{{Place: Place{Card: card}, Part: PartSuggestion, Code: FlawTooMany, Have: n, Most: most}}
	}
	for i, s := range all {
		at := Place{card, i + 1}
		if blank(s.Text) {
			flaws = append(flaws, Flaw{Place: at, Part: PartSuggestion, Code: FlawBlank})
		}
		if part, code := s.flaw(); code != "" {
			flaws = append(flaws, Flaw{Place: at, Part: part, Code: code})
		}
	}
	return flaws
}

// flaw checks the fields of the suggestion's kind.
func (s Suggestion) flaw() (Part, FlawCode) {
	switch s.Kind {
	case Reply, RequestLocation:
		return "", ""
	case OpenURL:
		return s.urlFlaw()
	case Dial:
		return s.phoneFlaw()
	case ShowLocation:
		return s.Location.flaw()
	case CalendarEvent:
		return s.Event.flaw()
	}
	return PartSuggestion, FlawUnknown
}

func (s Suggestion) urlFlaw() (Part, FlawCode) {
	switch {
	case blank(s.URL):
		return PartURL, FlawBlank
	case !slices.Contains([]Webview{"", FullWebview, HalfWebview, TallWebview}, s.Webview):
		return PartWebview, FlawUnknown
	}
	return "", ""
}

func (s Suggestion) phoneFlaw() (Part, FlawCode) {
	switch {
	case blank(s.Phone):
		return PartPhone, FlawBlank
	case !e164Form().MatchString(s.Phone):
		return PartPhone, FlawInvalid
	}
	return "", ""
}

func (l *Location) flaw() (Part, FlawCode) {
	switch {
	case l == nil || (l.Query == "" && l.Latitude == 0 && l.Longitude == 0):
		return PartLocation, FlawBlank
	case l.Latitude < -90 || l.Latitude > 90 || l.Longitude < -180 || l.Longitude > 180:
		return PartLocation, FlawInvalid
	}
	return "", ""
}

func (e *Event) flaw() (Part, FlawCode) {
	switch {
	case e == nil || blank(e.Title):
		return PartEventTitle, FlawBlank
	case e.Start.IsZero() || !e.End.After(e.Start) || !writable(e.Start) || !writable(e.End):
		return PartEventDuration, FlawInvalid
	}
	return "", ""
}

// writable reports whether JSON can contain an instant in UTC, in which it is sent.
func writable(at time.Time) bool {
	const lastYear = 9999
	year := at.UTC().Year()
	return year >= 0 && year <= lastYear
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}
