package web

import (
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// Rejection returns why a number is refused, in the reader's language, with the number that may be meant.
func (p *Page) Rejection(r *e164.Rejection) string {
	text := r.Reason
	if p.translation.code == "pt" {
		text = r.InPortuguese()
	}
	if text == "" {
		return p.Known("rejection."+r.Code, r.Reason)
	}
	return text
}

// RefusedNumber is Rejection for a number of a file that was refused with a code.
func (p *Page) RefusedNumber(written, code string) string {
	if r := phone.Refusal(written, code); r != nil {
		return p.Rejection(r)
	}
	return p.Known("rejection."+code, code)
}
