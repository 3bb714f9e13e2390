// Package testsize chooses how many cases a test tries.
package testsize

import "os"

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
