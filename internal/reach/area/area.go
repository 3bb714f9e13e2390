// Package area has the time zones of the area codes of Brazil.
package area

import "campaign-dispatch/internal/campaign/window"

// Source of the codes: Anatel, resolution 263/2001, annex. Source of the zones: the comments of zone.tab in the IANA
// time zone database. A code in two zones has the one of most people, but for 97.
var zones = map[uint64]window.Zone{
	11: window.SaoPaulo, 12: window.SaoPaulo, 13: window.SaoPaulo, 14: window.SaoPaulo, 15: window.SaoPaulo,
	16: window.SaoPaulo, 17: window.SaoPaulo, 18: window.SaoPaulo, 19: window.SaoPaulo,
	21: window.SaoPaulo, 22: window.SaoPaulo, 24: window.SaoPaulo, 27: window.SaoPaulo, 28: window.SaoPaulo,
	31: window.SaoPaulo, 32: window.SaoPaulo, 33: window.SaoPaulo, 34: window.SaoPaulo, 35: window.SaoPaulo,
	37: window.SaoPaulo, 38: window.SaoPaulo,
	41: window.SaoPaulo, 42: window.SaoPaulo, 43: window.SaoPaulo, 44: window.SaoPaulo, 45: window.SaoPaulo,
	46: window.SaoPaulo, 47: window.SaoPaulo, 48: window.SaoPaulo, 49: window.SaoPaulo,
	51: window.SaoPaulo, 53: window.SaoPaulo, 54: window.SaoPaulo, 55: window.SaoPaulo,
	61: window.SaoPaulo, 62: window.SaoPaulo, 64: window.SaoPaulo,
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
			code := number / size % 100
			if _, known := zones[code]; known {
				return int(code)
			}
		}
	}
	return 0
}

// Exists reports whether Brazil has an area code.
func Exists(code int) bool {
	_, known := zones[uint64(code)] //nolint:gosec // a negative code is none
	return known
}

// Zone returns the time zone of a Brazilian number, and the zero Zone for a foreign number or an unknown area code.
func Zone(number uint64) window.Zone { return zones[uint64(Code(number))] } //nolint:gosec // a code is not negative
