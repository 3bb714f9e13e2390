package awsconf_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/awsconf"
)

func TestInstant(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	for value, want := range map[string]time.Time{
		"2026-11-20T15:00:00Z": time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), "": {}, "tomorrow": {},
	} {
		t.Setenv("SIGNING_KEYS_SWITCH_AT", value)
		if got := awsconf.Instant("SIGNING_KEYS_SWITCH_AT"); !got.Equal(want) {
			t.Errorf("%q is read as %s, want %s", value, got, want)
		}
	}
}
