// Package testsize chooses how many cases a test tries.
package testsize

import "os"

// Crash is a call at which a process ends, before it or after it, without its answer.
type Crash struct {
	At    int // of all calls, counted from 1
	After bool
}

// Crashes returns the crashes that a test tries, given the kinds of the calls: in `make prove` before and after each
// call. Otherwise after each of the Steps, and before the first call of each kind: what is stored before it may be of a
// call that is neither the first nor the last of its kind. The kind of a call that stores nothing is "".
func Crashes(kinds []string) (all []Crash) {
	tried := map[string]bool{"": true}
	for _, step := range Steps(kinds) {
		if kind := kinds[step-1]; Proof() || !tried[kind] {
			all, tried[kind] = append(all, Crash{step, false}), true
		}
		all = append(all, Crash{step, true})
	}
	return all
}

// Variable is the environment variable that `make prove` sets to "1".
const Variable = "PROOF_SIZE"

// Proof reports whether the test runs in `make prove`.
func Proof() bool { return os.Getenv(Variable) == "1" }

// Of returns the usual number of cases, or in `make prove` the number that the proofs name.
func Of(usual, proof int) int {
	if Proof() {
		return proof
	}
	return usual
}

// Steps returns the steps of a scenario that a test tries, counted from 1: in `make prove` all of them, otherwise the
// first step, and the first and the last step of each kind. It leaves out the steps of the kind "" unless one is first.
func Steps(kinds []string) []int {
	first, last := map[string]int{"": -1}, map[string]int{"": -1}
	for i, kind := range kinds {
		if _, ok := first[kind]; !ok {
			first[kind] = i
		}
		if kind != "" {
			last[kind] = i
		}
	}
	var steps []int
	for i, kind := range kinds {
		if Proof() || i == 0 || i == first[kind] || i == last[kind] {
			steps = append(steps, i+1)
		}
	}
	return steps
}
