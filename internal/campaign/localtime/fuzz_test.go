package localtime_test

import (
	"encoding/json"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign/localtime"
)

// FuzzParse checks that a parsed time can be formatted and parsed again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"2026-12-24T18:30:00", "2026-12-24T21:30:00Z", "2018-11-04t00:30", "2026-02-29 10:00", "2024-02-29 10:00:59,123456789123+0530",
		"0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00",
	} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, err := localtime.Parse(text)
		if err != nil {
			return
		}
		if _, err := json.Marshal(at); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := localtime.Parse(at.Format(time.RFC3339Nano))
		if err != nil || !again.Equal(at) {
			t.Errorf("%q is %s, which is %s (%v)", text, at, again, err)
		}
		due, fault := localtime.ParseSchedule(text, now, time.Minute)
		if fault == nil && (due.Before(now.Add(time.Minute)) || due.After(now.AddDate(1, 0, 0))) {
			t.Errorf("%q was scheduled for %s", text, due)
		}
	})
}
