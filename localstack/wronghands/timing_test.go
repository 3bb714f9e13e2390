package wronghands

import (
	"testing"
	"time"
)

func TestOdds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b []time.Duration
		want float64
	}{
		"the same":       {[]time.Duration{1, 2, 3}, []time.Duration{3, 2, 1}, 0.5},
		"always slower":  {[]time.Duration{4, 5}, []time.Duration{1, 2}, 1},
		"always faster":  {[]time.Duration{1, 2}, []time.Duration{4, 5}, 0},
		"mostly slower":  {[]time.Duration{2, 4}, []time.Duration{1, 3}, 0.75},
		"all are equals": {[]time.Duration{1, 1}, []time.Duration{1}, 0.5},
	} {
		if got := odds(test.a, test.b); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
