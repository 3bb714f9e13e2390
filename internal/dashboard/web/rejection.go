package web

import (
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// Rejection returns why a number is refused, in the reader's language, with the number that may be meant.
func (p *Page) Rejection(r *e164.Rejection) string {
	if p.translation.code == "pt" {
		return r.InPortuguese()
	}
	return r.Reason
}

// RefusedNumber returns why a number of a file was refused with a code, without the number that may be meant. An empty number
// stands for all with the code.
func (p *Page) RefusedNumber(written, code string) string {
	r := phone.Refusal(written, code)
	switch {
	case r == nil:
		return code
	case p.translation.code == "pt":
		return r.Portuguese
	}
	return r.English
}
