// Package phone validates telephone numbers from campaign files.
//
// The format determines the country. The result is that of libphonenumber's
// IsValidNumber; Brazilian numbers use a table.
package phone

import "campaign-dispatch/internal/phone/e164"

// Parse parses a number in one of the formats of e164.Parse. An impossible number
// returns a Rejection, which is nil otherwise. s is not kept.
func Parse(s []byte) (e164.Number, *e164.Rejection) { return e164.Parse(s, parseForeign) }
