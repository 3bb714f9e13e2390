package testsize_test

import (
	"slices"
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

func TestSteps(t *testing.T) { //nolint:paralleltest // sets the environment
	kinds := []string{"", "write", "", "queue", "write", "write", "queue", ""}
	for value, want := range map[string][]int{"": {1, 2, 4, 6, 7}, "1": {1, 2, 3, 4, 5, 6, 7, 8}} {
		t.Setenv(testsize.Variable, value)
		if got := testsize.Steps(kinds); !slices.Equal(got, want) {
			t.Errorf("%s=%q: steps %v, want %v", testsize.Variable, value, got, want)
		}
	}
}

func TestCrashes(t *testing.T) { //nolint:paralleltest // sets the environment
	kinds := []string{"", "write", "", "write", "write", "queue"}
	usual := []testsize.Crash{{1, true}, {2, false}, {2, true}, {5, true}, {6, false}, {6, true}}
	var proof []testsize.Crash
	for i := range kinds {
		proof = append(proof, testsize.Crash{i + 1, false}, testsize.Crash{i + 1, true})
	}
	for value, want := range map[string][]testsize.Crash{"": usual, "1": proof} {
		t.Setenv(testsize.Variable, value)
		if got := testsize.Crashes(kinds); !slices.Equal(got, want) {
			t.Errorf("%s=%q: crashes %v, want %v", testsize.Variable, value, got, want)
		}
	}
}
