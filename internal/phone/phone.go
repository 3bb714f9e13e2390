// Package phone decides whether telephone numbers, as people write them into
// campaign files, can exist.
//
// The form decides the country, and then the verdict is that of
// libphonenumber's IsValidNumber. Brazilian numbers are judged by a table.
package phone

import "campaign-dispatch/internal/phone/e164"

// Parse reads a number in one of the forms that e164.Parse knows. A number that
// cannot exist comes back as a Rejection, which is nil otherwise. s is not kept.
func Parse(s []byte) (e164.Number, *e164.Rejection) { return e164.Parse(s, parseForeign) }
