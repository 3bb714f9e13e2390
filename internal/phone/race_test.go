//go:build race

package phone_test

// compared is how many strings the table and the library both judge.
const compared = 100_000
