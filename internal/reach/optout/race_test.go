//go:build race

package optout_test

// recorded is the number of opt-outs in tests of large tenants. It is lower here
// because the race detector is slow.
const recorded = 300_000
