package phone_test

import (
	"testing"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
)

// An error file has the code and the Reason in English alone.
func TestInPortuguese_OfAReason(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"", "abc", "(11) 98765-4321", "+0511987654321", "011987654321", "119876543210987", "5511987", "987654321", "08001234567",
		"1087654321", "11187654321", "1107654321", "1187654321", "+999123456", "+351", "+351212345678901", "+351912", "+14155550100000",
		"00351912345678", "0051987654321", "\u200e11987654321",
	} {
		_, call := phone.Parse([]byte(written))
		_, file := phone.ParseTyped(written)
		for _, r := range []*e164.Rejection{call, file} {
			if r == nil {
				continue
			}
			if got, want := e164.InPortuguese(r.Code, r.Reason), r.InPortuguese(); got != want {
				t.Errorf("%q: %q in Portuguese is %q, want %q", written, r.Reason, got, want)
			}
		}
	}
	if got := e164.InPortuguese(e164.WrongLength, "Of an earlier release."); got != "O número tem dígitos a mais ou a menos." {
		t.Errorf("the reason of an earlier release is %q", got)
	}
	if got := e164.InPortuguese("new", "New."); got != "" {
		t.Errorf("an unknown code is %q", got)
	}
}
