//go:build !race

package optout_test

// recorded is the number of opt-outs in tests of large tenants.
const recorded = 5_000_000
