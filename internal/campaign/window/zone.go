package window

import (
	"maps"
	"slices"
	"sync"
	"time"
	_ "time/tzdata" // a Lambda image has no time zones
)

// Zone is a time zone of Brazil. Stored batches have its number: append only, and never more than 32.
type Zone byte

// The zones. The zero Zone is none of them.
const (
	SaoPaulo Zone = iota + 1
	Araguaina
	Bahia
	Maceio
	Recife
	Fortaleza
	Belem
	Santarem
	Cuiaba
	CampoGrande
	PortoVelho
	Manaus
	BoaVista
	RioBranco
	// Amazonas is the zone of area code 97, which spans two: a window is open there when it is open in both.
	Amazonas
)

// zones are the zones by number. The name of a zone is that of the IANA time zone database, its offset the hours from UTC.
var zones = [...]struct{ name, other, offset string }{
	SaoPaulo:    {name: "America/Sao_Paulo", offset: "−3"},
	Araguaina:   {name: "America/Araguaina", offset: "−3"},
	Bahia:       {name: "America/Bahia", offset: "−3"},
	Maceio:      {name: "America/Maceio", offset: "−3"},
	Recife:      {name: "America/Recife", offset: "−3"},
	Fortaleza:   {name: "America/Fortaleza", offset: "−3"},
	Belem:       {name: "America/Belem", offset: "−3"},
	Santarem:    {name: "America/Santarem", offset: "−3"},
	Cuiaba:      {name: "America/Cuiaba", offset: "−4"},
	CampoGrande: {name: "America/Campo_Grande", offset: "−4"},
	PortoVelho:  {name: "America/Porto_Velho", offset: "−4"},
	Manaus:      {name: "America/Manaus", offset: "−4"},
	BoaVista:    {name: "America/Boa_Vista", offset: "−4"},
	RioBranco:   {name: "America/Rio_Branco", offset: "−5"},
	Amazonas:    {name: "America/Eirunepe", other: "America/Manaus", offset: "−5/−4"},
}

// All returns the zones, in the order of their numbers.
func All() []Zone {
	all := make([]Zone, 0, len(zones)-1)
	for z := SaoPaulo; int(z) < len(zones); z++ {
		all = append(all, z)
	}
	return all
}

// Known reports whether the number is that of a zone.
func (z Zone) Known() bool { return z >= SaoPaulo && int(z) < len(zones) }

// Named returns the zone with an IANA name, and the zero Zone for any other.
func Named(name string) Zone {
	for _, z := range All() {
		if zones[z].name == name {
			return z
		}
	}
	return 0
}

// String returns the IANA name of the zone, "" for an unknown one.
func (z Zone) String() string {
	if !z.Known() {
		return ""
	}
	return zones[z].name
}

// Offset returns the hours by which the zone's clock differs from UTC, as −3, and those of both clocks of Amazonas.
func (z Zone) Offset() string {
	if !z.Known() {
		return ""
	}
	return zones[z].offset
}

// Local returns an instant on the clock of the zone. That of Amazonas is the one by which a window opens last.
func (z Zone) Local(at time.Time) time.Time { return at.In(z.locations()[0]) }

// locations returns the zones of the IANA database in which a window must be open. They are read at their
// first use: no cold start waits for them.
func (z Zone) locations() []*time.Location {
	if !z.Known() {
		z = SaoPaulo
	}
	return loaded()[z]
}

var loaded = sync.OnceValue(func() (all [len(zones)][]*time.Location) {
	for z, names := range zones {
		for _, name := range []string{names.name, names.other} {
			if name == "" {
				continue
			}
			location, err := time.LoadLocation(name)
			if err != nil {
				panic(err) // the zones are embedded in the binary
			}
			all[z] = append(all[z], location)
		}
	}
	return all
})

// Set is a set of zones. Stored batches have it.
type Set uint32

// Everywhere returns all zones.
func Everywhere() (s Set) {
	for _, z := range All() {
		s = s.With(z)
	}
	return s
}

// SetOf returns the zones of counts.
func SetOf(counts []Count) (s Set) {
	for _, c := range counts {
		s = s.With(c.Zone)
	}
	return s
}

// With returns the set with a zone.
func (s Set) With(z Zone) Set { return s | 1<<z }

// Has reports whether the set has the zone.
func (s Set) Has(z Zone) bool { return s&(1<<z) != 0 }

// Zones returns the zones of the set, in the order of their numbers.
func (s Set) Zones() []Zone {
	var of []Zone
	for _, z := range All() {
		if s.Has(z) {
			of = append(of, z)
		}
	}
	return of
}

// Count is the number of messages to recipients in a zone.
type Count struct {
	Zone     Zone
	Messages int
}

// Counts returns the numbers of messages by zone, in the order of the zones.
func Counts(messages map[Zone]int) []Count {
	counts := make([]Count, 0, len(messages))
	for _, z := range slices.Sorted(maps.Keys(messages)) {
		counts = append(counts, Count{z, messages[z]})
	}
	return counts
}
