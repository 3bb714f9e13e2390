package rollout_test

import (
	"math"
	"slices"
	"testing"

	"campaign-dispatch/internal/rollout"
)

func TestShare_Interval(t *testing.T) {
	t.Parallel()
	for share, want := range map[rollout.Share][2]float64{
		// R. G. Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998),
		// table I, method 3.
		{81, 263}: {0.2553, 0.3662},
		{15, 148}: {0.0624, 0.1605},
		{0, 20}:   {0, 0.1611},
		{1, 29}:   {0.0061, 0.1718},
		// The same from the other side.
		{20, 20}: {0.8389, 1},
		{28, 29}: {0.8282, 0.9939},
		// One of one is no proof.
		{1, 1}: {0.2065, 1},
		{0, 0}: {0, 1},
		// The canary of a large campaign.
		{96, 4630}: {0.0170, 0.0253},
	} {
		low, high := share.Interval()
		if math.Abs(low-want[0]) > 0.00005 || math.Abs(high-want[1]) > 0.00005 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.4f to %.4f", share.K, share.N, low, high, want[0], want[1])
		}
	}
}

// The share itself is in its interval, and both are between 0 and 1, also after rounding.
func TestShare_IntervalBounds(t *testing.T) {
	t.Parallel()
	for n := 1; n < 3000; n += 7 {
		for k := range n + 1 {
			low, high := rollout.Share{K: k, N: n}.Interval()
			if p := float64(k) / float64(n); !slices.IsSorted([]float64{0, low, p, high, 1}) || math.IsNaN(low+high) {
				t.Fatalf("%d of %d: %g to %g", k, n, low, high)
			}
		}
	}
}
