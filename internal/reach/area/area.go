// Package area has the time zones of the area codes of Brazil.
package area

import (
	"cmp"

	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/phone/e164"
)

// zones are the zones of the area codes that are not in the zone of São Paulo. Source: the comments of zone.tab in the
// IANA time zone database. A code in two zones has the one of most people, but for 97.
var zones = map[int]window.Zone{
	63: window.Araguaina,
	65: window.Cuiaba, 66: window.Cuiaba, 67: window.CampoGrande, 68: window.RioBranco, 69: window.PortoVelho,
	71: window.Bahia, 73: window.Bahia, 74: window.Bahia, 75: window.Bahia, 77: window.Bahia,
	79: window.Maceio, 82: window.Maceio,
	81: window.Recife, 87: window.Recife,
	83: window.Fortaleza, 84: window.Fortaleza, 85: window.Fortaleza, 86: window.Fortaleza, 88: window.Fortaleza,
	89: window.Fortaleza, 98: window.Fortaleza, 99: window.Fortaleza,
	91: window.Belem, 94: window.Belem, 96: window.Belem,
	92: window.Manaus, 93: window.Santarem, 95: window.BoaVista, 97: window.Amazonas,
}

// Code returns the area code of a Brazilian number, and 0 for any other. number is an E.164 number without the +.
func Code(number uint64) int {
	for _, size := range [...]uint64{1e9, 1e8} { // mobile and landline numbers
		if country := number / size / 100; country == 55 {
			code := int(number / size % 100)
			if e164.HasAreaCode(code) {
				return code
			}
		}
	}
	return 0
}

// Zone returns the time zone of a Brazilian number, and the zero Zone for a foreign number or an unknown area code.
func Zone(number uint64) window.Zone {
	code := Code(number)
	if code == 0 {
		return 0
	}
	return cmp.Or(zones[code], window.SaoPaulo)
}
