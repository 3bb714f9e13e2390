package submission

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// Check is how far the file was read and checked, and what was found.
type Check struct {
	// Number is the number of times that the file was checked.
	Number int   `json:"number,omitempty"`
	Rows   int   `json:"rows"`           // lines that are not empty, and are in the written parts or left out
	Parts  int   `json:"parts"`          // written parts
	Outs   int   `json:"outs,omitempty"` // written files of lines that were left out
	Bytes  int64 `json:"bytes"`          // read from the file
	// Hash is the SHA-256 over the parts in order, hex.
	Hash string `json:"hash"`
	// ANSI reports whether lines of the file are not UTF-8. They are read in Reading.Encoding, those of the previous version
	// in Windows-1252.
	ANSI bool `json:"ansi,omitempty"`
	// Accents is the part with words that show how the file was read.
	Accents Accents `json:"accents,omitzero"`
	// Cells are what the cells of a divided file have, in their order. A file that is not divided has none.
	Cells []Cell `json:"cells,omitempty"`
	// At is the time at which the check ended. Opt-outs are counted as of then.
	At       time.Time `json:"at,omitzero"`
	Findings Findings  `json:"findings"`
}

// Accents is a part with words with accents.
type Accents struct {
	Cell int  `json:"cell,omitempty"`
	Part int  `json:"part"`           // its number in the cell, 0 for none
	ANSI bool `json:"ansi,omitempty"` // whether they are in lines that are not UTF-8
}

// MaxShown is the maximum number of lines that are listed for each kind of fault.
const MaxShown = 20

// Findings are what was found in the lines that were checked.
type Findings struct {
	Accepted int `json:"accepted"` // messages to valid numbers
	OptedOut int `json:"optedOut"` // of Accepted, numbers that opted out
	// Suppressed are numbers of Accepted that a list keeps from the message, by the number of the list.
	Suppressed map[int]int `json:"suppressed,omitempty"`
	Rejected   []LineFault `json:"rejected"` // invalid numbers, by kind
	Repeated   Lines       `json:"repeated"` // numbers of an earlier line, which are left out
	Omitted    []LineFault `json:"omitted"`  // lines that are left out, by kind
	BadURLs    Lines       `json:"badURLs"`  // messages with a URL that is not https
	// Doubled are messages in which a value repeats the word next to its variable, by variable: R$ R$ 129,90.
	Doubled []LineFault `json:"doubled,omitempty"`
	// Nine are the lines of Accepted whose number got the ninth digit.
	Nine Lines `json:"nine,omitzero"`
	// Abroad are the lines of Accepted with numbers of other countries, by country: its code is that of phone.Country, and
	// Elsewhere for the countries after the first mostCountries.
	Abroad  []LineFault          `json:"abroad,omitempty"`
	General []string             `json:"general"` // codes of refusals of the campaign
	Classes campaign.ClassCounts `json:"classes"` // of all accepted messages
	// OptedOutClasses are the classes of the OptedOut. They reserve budget, and get no message.
	OptedOutClasses campaign.ClassCounts `json:"optedOutClasses"`
	// SuppressedClasses are the classes of the Suppressed. They reserve budget too.
	SuppressedClasses campaign.ClassCounts `json:"suppressedClasses"`
	// Zones count the People by the time zone of their area code. The zone of other numbers is 0.
	Zones   map[window.Zone]int `json:"zones,omitempty"`
	ByZones Bookings            `json:"byZones,omitempty"`

	// Outs are the files of left out lines in which a kind of line is for the first time.
	Outs []int `json:"outs,omitempty"`
}

// Kinds returns the number of kinds of lines that get no message, or are noted.
func (f Findings) Kinds() int {
	return len(f.Omitted) + len(f.Rejected) + len(f.Suppressed) + len(f.Abroad) + min(1, f.Repeated.Count) + min(1, f.OptedOut) + min(1, f.Nine.Count)
}

// mostByZones is the maximum number of ByZones, which are saved after each part. The parts after it count as having all
// zones.
const mostByZones = 64

// AddPart adds the accepted messages of a part with the time zones among them.
func (f *Findings) AddPart(zones window.Set, accepted campaign.ClassCounts) {
	if f.ByZones == nil {
		f.ByZones = Bookings{}
	}
	f.ByZones.add(zones, accepted, mostByZones)
}

// Booked returns ByZones with all parts. Those that the previous version of this service has checked are not in ByZones:
// they count as having the zones of all People.
func (f Findings) Booked() Bookings {
	rest, all, zones := f.Classes, Bookings{}, window.Set(0)
	for set, classes := range f.ByZones {
		all[set], rest = classes, rest.Less(classes)
	}
	for z := range f.Zones {
		zones = zones.With(z)
	}
	if rest != (campaign.ClassCounts{}) {
		rest.Add(all[zones])
		all[zones] = rest
	}
	return all
}

// AddZones adds people by zone.
func (f *Findings) AddZones(people map[window.Zone]int) {
	if f.Zones == nil && len(people) > 0 {
		f.Zones = map[window.Zone]int{}
	}
	for z, n := range people {
		f.Zones[z] += n
	}
}

// AddWithheldClass adds the class of a message that is withheld. code is campaign.CodeOptedOut or
// campaign.CodeSuppressed.
func (f *Findings) AddWithheldClass(code string, class campaign.ClassCounts) {
	if code == campaign.CodeOptedOut {
		f.OptedOutClasses.Add(class)
	} else {
		f.SuppressedClasses.Add(class)
	}
}

// SentClasses returns the classes of the messages to People.
func (f Findings) SentClasses() campaign.ClassCounts {
	return f.Classes.Less(f.OptedOutClasses).Less(f.SuppressedClasses)
}

// OnLists returns the number of people whom lists keep from the message.
func (f Findings) OnLists() (n int) {
	for _, people := range f.Suppressed {
		n += people
	}
	return n
}

// Withheld returns the number of people of Accepted who get no message.
func (f Findings) Withheld() int { return f.OptedOut + f.OnLists() }

const (
	// Elsewhere is the code of several countries.
	Elsewhere = "other"
	// mostCountries is the maximum number of countries that are counted apart.
	mostCountries = 20
)

// countAbroad counts a line with a number of another country.
func (f *Findings) countAbroad(line int, country string) {
	known := slices.ContainsFunc(f.Abroad, func(c LineFault) bool { return c.Code == country })
	if !known && len(f.Abroad) >= mostCountries {
		country = Elsewhere
	}
	f.Abroad = Count(f.Abroad, line, country, "")
}

// OtherCountries returns the number of people of Accepted whose number is one of another country.
func (f Findings) OtherCountries() int { return total(f.Abroad) }

// Clone returns findings that can be changed apart.
func (f Findings) Clone() Findings {
	f.Rejected, f.Omitted = slices.Clone(f.Rejected), slices.Clone(f.Omitted)
	f.Doubled, f.Abroad = slices.Clone(f.Doubled), slices.Clone(f.Abroad)
	f.General, f.Outs = slices.Clone(f.General), slices.Clone(f.Outs)
	f.Suppressed, f.Zones, f.ByZones = maps.Clone(f.Suppressed), maps.Clone(f.Zones), maps.Clone(f.ByZones)
	return f
}

// withoutLines returns the findings with the numbers of lines, but not which.
func (f Findings) withoutLines() Findings {
	f = f.Clone()
	f.Repeated.First, f.BadURLs.First, f.Nine.First, f.Outs = nil, nil, nil, nil
	for _, faults := range [][]LineFault{f.Rejected, f.Omitted, f.Doubled, f.Abroad} {
		for n := range faults {
			faults[n].First = nil
		}
	}
	return f
}

// Lines is a number of lines, with the first MaxShown.
type Lines struct {
	Count int   `json:"count"`
	First []int `json:"first,omitempty"`
}

// Add counts a line.
func (l *Lines) Add(line int) {
	if l.Count++; len(l.First) < MaxShown {
		l.First = append(l.First, line)
	}
}

// LineFault is a kind of fault with its lines.
type LineFault struct {
	Code   string `json:"code"`
	Column string `json:"column,omitempty"` // the variable, or uid
	Lines
}

// Count counts a line of a kind.
func Count(all []LineFault, line int, code, column string) []LineFault {
	for n := range all {
		if all[n].Code == code && all[n].Column == column {
			all[n].Add(line)
			return all
		}
	}
	f := LineFault{Code: code, Column: column}
	f.Add(line)
	return append(all, f)
}

// LeftOut is a line that gets no message, or one of a Noted kind. One whose number is invalid or withheld stays in its
// part, so that the error file or the campaign lists it.
type LeftOut struct {
	Line   int    `json:"line"`
	Kind   Kind   `json:"kind"`
	Code   string `json:"code,omitempty"`   // of KindAbroad, the country
	Column string `json:"column,omitempty"` // the variable, or uid
	List   int    `json:"list,omitempty"`   // the number of the list of KindSuppressed
	Phone  string `json:"phone"`            // as in the file
	// Meant is the number in E.164 that was read in place of Phone, or that an invalid one may be, "" if there is none.
	Meant string            `json:"meant,omitempty"`
	UID   string            `json:"uid"`
	Vars  map[string]string `json:"vars,omitempty"`
}

// Cause is what the lines of a kind have in common, see LeftOut.
type Cause struct {
	Kind         Kind
	Code, Column string
	List         int
}

// Cause returns why the line is listed.
func (l LeftOut) Cause() Cause { return Cause{l.Kind, l.Code, l.Column, l.List} }

// Kind is why a line gets no message.
type Kind string

// The kinds of lines that get no message.
const (
	KindFaulty     Kind = "faulty"
	KindInvalid    Kind = "invalid"
	KindRepeated   Kind = "repeated"
	KindOptedOut   Kind = campaign.CodeOptedOut   // at the time of the check
	KindSuppressed Kind = campaign.CodeSuppressed // by a list, at the time of the check
)

// The kinds of lines that get a message, and that a person sees before.
const (
	KindNine   Kind = "nine"   // its number got the ninth digit
	KindAbroad Kind = "abroad" // its number is one of another country
)

// Noted reports whether a line gets a message.
func (k Kind) Noted() bool { return k == KindNine || k == KindAbroad }

// Accepted reports whether a message to the person is accepted.
func (k Kind) Accepted() bool { return k.Noted() || k.Withheld() }

// Withheld reports whether a message to the person is accepted, but not sent.
func (k Kind) Withheld() bool { return k == KindOptedOut || k == KindSuppressed }

// Count counts a line that gets no message, or one of a Noted kind.
func (f *Findings) Count(l LeftOut) {
	switch l.Kind {
	case KindFaulty:
		f.Omitted = Count(f.Omitted, l.Line, l.Code, l.Column)
	case KindInvalid:
		f.Rejected = Count(f.Rejected, l.Line, l.Code, "")
	case KindRepeated:
		f.Repeated.Add(l.Line)
	case KindOptedOut:
		f.OptedOut++
	case KindSuppressed:
		if f.Suppressed == nil {
			f.Suppressed = map[int]int{}
		}
		f.Suppressed[l.List]++
	case KindNine:
		f.Nine.Add(l.Line)
	case KindAbroad:
		f.countAbroad(l.Line, l.Code)
	}
}

func total(all []LineFault) (n int) {
	for _, f := range all {
		n += f.Count
	}
	return n
}

// LeftOut returns the number of lines that are not accepted. Those of withheld people are: an opt-out or a list
// can end before the message goes.
func (f Findings) LeftOut() int { return f.Invalid() + f.Faulty() + f.Repeated.Count }

// Faulty returns the number of lines that are left out because of a fault.
func (f Findings) Faulty() int { return total(f.Omitted) }

// ToDownload returns the number of lines that were left out, withheld or noted.
func (f Findings) ToDownload() int {
	return f.LeftOut() + f.Withheld() + f.Nine.Count + f.OtherCountries()
}

// Invalid returns the number of invalid numbers.
func (f Findings) Invalid() int { return total(f.Rejected) }

// People returns the number of people who get a message.
func (f Findings) People() int { return max(0, f.Accepted-f.Withheld()) }

// Fits reports whether the campaign may be sent.
func (f Findings) Fits() bool { return len(f.General) == 0 && f.Accepted > 0 }

// EncodeLeftOut encodes lines that get no message, or are noted, each as a line of JSON.
func EncodeLeftOut(all []LeftOut) []byte {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, l := range all {
		_ = lines.Encode(l) // texts and numbers always encode
	}
	return b.Bytes()
}
