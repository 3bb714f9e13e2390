package testsize_test

import (
	"testing"

	"campaign-dispatch/localstack/testsize"
)

func TestOf(t *testing.T) { //nolint:paralleltest // sets the environment
	for value, want := range map[string]int{"": 20, "1": 100} {
		t.Setenv(testsize.Variable, value)
		if got := testsize.Of(20, 100); got != want {
			t.Errorf("%s=%q: %d cases, want %d", testsize.Variable, value, got, want)
		}
	}
}
