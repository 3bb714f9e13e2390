package phone_test

import (
	"testing"

	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/phonetest"
)

// Each form of a number has one verdict at each door, and one E.164 at all. The packages of the doors test
// that they take these verdicts.
func TestParse_Doors(t *testing.T) {
	t.Parallel()
	forms := phonetest.Forms()
	if len(forms) < 60 {
		t.Errorf("%d forms", len(forms))
	}
	for _, f := range forms {
		if got := verdict(phone.Parse([]byte(f.Text))); got != f.Call {
			t.Errorf("Parse(%q) = %s, want %s", f.Text, got, f.Call)
		}
		if got := verdict(phone.ParseTyped(f.Text)); got != f.Typed {
			t.Errorf("ParseTyped(%q) = %s, want %s", f.Text, got, f.Typed)
		}
		sought, found := phone.Seek(f.Text)
		if phonetest.Accepted(f.Typed) && sought.Valid.String() != f.Typed {
			t.Errorf("Seek(%q) = %+v, want %s", f.Text, sought, f.Typed)
		}
		if !found {
			t.Errorf("Seek(%q) found no digits", f.Text)
		}
	}
}

func verdict(n e164.Number, rejection *e164.Rejection) string {
	if rejection != nil {
		return rejection.Code
	}
	return n.String()
}
