package random_test

import (
	"regexp"
	"testing"

	"campaign-dispatch/internal/base/random"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		generate func() string
		form     string
	}{
		"token": {func() string { return random.Token(16) }, `^[A-Za-z0-9_-]{22}$`},
		"hex":   {func() string { return random.Hex(16) }, `^[0-9a-f]{32}$`},
		"uuid":  {random.UUID, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := test.generate(), test.generate()
			if form := regexp.MustCompile(test.form); !form.MatchString(one) || !form.MatchString(other) {
				t.Errorf("%q and %q do not match %s", one, other, test.form)
			}
			if one == other {
				t.Errorf("%q twice", one)
			}
		})
	}
}
