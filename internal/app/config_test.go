package app_test

import (
	"testing"
	"time"

	"campaign-dispatch/internal/app"
)

func TestFromEnv_KeysSwitchAt(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	for value, want := range map[string]time.Time{
		"2026-11-20T15:00:00Z": time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC), "": {}, "tomorrow": {},
	} {
		t.Setenv("SIGNING_KEYS_SWITCH_AT", value)
		if got := app.FromEnv().KeysSwitchAt; !got.Equal(want) {
			t.Errorf("%q is read as %s, want %s", value, got, want)
		}
	}
}

func TestFromEnv_LocalWebhooks(t *testing.T) { //nolint:paralleltest // it sets variables of the process
	for _, test := range []struct {
		endpoint, value string
		want            bool
	}{
		{"http://127.0.0.1:4566", "1", true},
		{"http://127.0.0.1:4566", "0", false},
		{"http://127.0.0.1:4566", "true", false},
		{"http://127.0.0.1:4566", "", false},
		{"", "1", false}, // on AWS
	} {
		t.Setenv("AWS_ENDPOINT_URL", test.endpoint)
		t.Setenv("LOCAL_WEBHOOKS", test.value)
		if got := app.FromEnv().LocalWebhooks; got != test.want {
			t.Errorf("with the endpoint %q and the value %q: %v, want %v", test.endpoint, test.value, got, test.want)
		}
	}
}

func TestFromEnv_SweepAfter(t *testing.T) { //nolint:paralleltest // it sets a variable of the process
	for value, want := range map[string]struct{ sweepAfter, delay time.Duration }{
		"2": {2 * time.Second, 2 * time.Second}, "900": {15 * time.Minute, 2 * time.Minute},
		"": {10 * time.Minute, 2 * time.Minute}, "soon": {10 * time.Minute, 2 * time.Minute},
	} {
		t.Setenv("SWEEP_AFTER_SECONDS", value)
		if c := app.FromEnv(); c.SweepAfter != want.sweepAfter || c.SweepDelay() != want.delay {
			t.Errorf("%q gives %s and a delay of %s, want %v", value, c.SweepAfter, c.SweepDelay(), want)
		}
	}
}
