//go:build race

package optout_test

// recorded is how many numbers the tests of large tenants record: with the race
// detector they would take minutes.
const recorded = 300_000
