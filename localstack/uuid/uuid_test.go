package uuid_test

import (
	"regexp"
	"testing"

	"campaign-dispatch/localstack/uuid"
)

func TestNew_Version4(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		u := uuid.New()
		if !form.MatchString(u) || seen[u] {
			t.Fatalf("got %s, want a new UUID of version 4", u)
		}
		seen[u] = true
	}
}
