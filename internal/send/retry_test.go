package send

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		attempt int
		asked   time.Duration
		random  float64
		want    time.Duration
	}{
		"the first, soonest":        {1, 0, 0, time.Second},
		"the first, latest":         {1, 0, 1, 2 * time.Second},
		"the second":                {2, 0, 0.5, 3 * time.Second},
		"the seventh":               {7, 0, 0, 64 * time.Second},
		"the provider asks":         {1, 40 * time.Second, 1, 40 * time.Second},
		"the provider asks less":    {7, time.Second, 0, 64 * time.Second},
		"the provider asks a lot":   {1, 24 * time.Hour, 0, 15 * time.Minute},
		"an attempt beyond measure": {1 << 40, 0, 1, 15 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := retryDelay(tt.attempt, tt.asked, tt.random); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestRetryDelay_Bounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(1, 100).Draw(t, "attempt")
		asked := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "asked"))
		delay := retryDelay(attempt, asked, rapid.Float64Range(0, 1).Draw(t, "random"))
		if delay < time.Second || delay > maxDelay || delay < min(asked, maxDelay) {
			t.Fatalf("attempt %d, %v asked: %v", attempt, asked, delay)
		}
	})
}

// All attempts of a task are over before sweep checks its batch, so that it does not
// requeue tasks in progress.
func TestRetryDelay_EndsBeforeSweep(t *testing.T) {
	t.Parallel()
	total := time.Duration(0)
	for attempt := 1; attempt < maxAttempts; attempt++ {
		total += retryDelay(attempt, 0, 1)
	}
	if total > 10*time.Minute {
		t.Errorf("the attempts take %v", total)
	}
}
