//go:build !race

package optout_test

// recorded is how many numbers the tests of large tenants record.
const recorded = 5_000_000
