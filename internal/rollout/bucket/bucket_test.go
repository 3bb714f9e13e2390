package bucket_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout/bucket"
	"campaign-dispatch/localstack/testsize"
)

const campaignID = "0d9f2f4c-5c1e-4b7a-9a53-2f6f1f0a7b11"

// Clients compute the same buckets: docs/api.md publishes these.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scope  string
		number e164.Number
		want   int
	}{
		{bucket.Wave(campaignID), 5511987654321, 1219},
		{"variant/" + campaignID, 5511987654321, 8352},
		{"holdout/acme/2026Q4", 5511987654321, 4809},
		{"holdout/acme/2026Q4", 5592987654321, 2397},
	} {
		if got := bucket.Of(tt.scope, tt.number); got != tt.want {
			t.Errorf("bucket of %s in %s is %d, want %d", tt.number, tt.scope, got, tt.want)
		}
	}
}

// A scope may have any text and any length.
func FuzzOf(f *testing.F) {
	for _, scope := range []string{"", "\n", bucket.Wave(campaignID), strings.Repeat("x", 99), strings.Repeat("x", 1000), "\xff"} {
		f.Add(scope, uint64(5511987654321))
		f.Add(scope, uint64(math.MaxUint64))
		f.Add(scope, uint64(1))
	}
	f.Add("no number", uint64(0))
	f.Fuzz(func(t *testing.T, scope string, number uint64) {
		got := bucket.Of(scope, e164.Number(number))
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s", scope, e164.Number(number)))
		want := new(big.Int).Mod(new(big.Int).SetBytes(sum[:8]), big.NewInt(bucket.Count))
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Errorf("bucket of +%d in %q is %d, want %s", number, scope, got, want)
		}
	})
}

//nolint:paralleltest // allocations are counted for the whole process
func TestOf_NoAllocations(t *testing.T) {
	for _, scope := range []string{bucket.Wave(campaignID), strings.Repeat("x", 100)} {
		if n := testing.AllocsPerRun(100, func() { bucket.Of(scope, math.MaxUint64) }); n != 0 {
			t.Errorf("%v allocations for a number in %s, want none", n, scope)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	scope, number := bucket.Wave(campaignID), e164.Number(5511900000000)
	b.ReportAllocs()
	for b.Loop() {
		bucket.Of(scope, number)
		number++
	}
}

// classes is the number of classes of buckets that are compared, of 1,000 buckets each.
const classes = 10

// Neither scope says anything about the other: people of one wave are in each variant and in each holdout as often as
// the people of another wave. Numbers in a row, as a company sells them, are the hardest for a hash.
func TestOf_Independent(t *testing.T) {
	t.Parallel()
	scopes := []string{
		bucket.Wave(campaignID), "variant/" + campaignID, "holdout/" + campaignID, "holdout/acme/2026Q4", "holdout/acme/2027Q1",
	}
	buckets := bucketsOf(scopes, testsize.Of(100_000, 1_000_000))
	for i, scope := range scopes {
		if p := spread(buckets[i]); p <= 0.001 {
			t.Errorf("buckets of %s are not used alike: p = %g", scope, p)
		}
		for j := range i {
			if p := independence(buckets[i], buckets[j]); p <= 0.001 {
				t.Errorf("buckets of %s depend on those of %s: p = %g", scope, scopes[j], p)
			}
		}
	}
}

// The test above finds buckets that depend on each other, and those that are not used alike.
func TestOf_DependenceFound(t *testing.T) {
	t.Parallel()
	buckets := bucketsOf([]string{"a", "b"}, 100_000)
	mixed := make([]int, len(buckets[0])) // a tenth of the people have the same bucket in both
	for i := range mixed {
		mixed[i] = buckets[min(i%10, 1)][i]
	}
	if p := independence(buckets[0], mixed); p > 0.001 {
		t.Errorf("dependent buckets pass: p = %g", p)
	}
	for i := range mixed {
		mixed[i] = min(buckets[0][i], bucket.Count-100) // the last hundred are one
	}
	if p := spread(mixed); p > 0.001 {
		t.Errorf("unequal buckets pass: p = %g", p)
	}
}

// bucketsOf returns the buckets of n numbers in each scope.
func bucketsOf(scopes []string, n int) [][]int {
	all := make([][]int, len(scopes))
	for i, scope := range scopes {
		all[i] = make([]int, n)
		for j := range n {
			all[i][j] = bucket.Of(scope, e164.Number(5511900000000+j))
		}
	}
	return all
}

// spread returns how probable it is that fair buckets are used as unequally.
func spread(buckets []int) (p float64) {
	seen := make([]float64, bucket.Count)
	for _, b := range buckets {
		seen[b]++
	}
	square, expected := 0.0, float64(len(buckets))/bucket.Count
	for _, n := range seen {
		square += (n - expected) * (n - expected) / expected
	}
	return tail(square, bucket.Count-1)
}

// independence returns how probable it is that two independent scopes go together as often: Pearson's test of a
// table of their classes.
func independence(a, b []int) (p float64) {
	var both [classes][classes]float64
	var as, bs [classes]float64
	for i := range a {
		x, y := a[i]*classes/bucket.Count, b[i]*classes/bucket.Count
		both[x][y]++
		as[x]++
		bs[y]++
	}
	square := 0.0
	for x := range both {
		for y, n := range both[x] {
			expected := as[x] * bs[y] / float64(len(a))
			square += (n - expected) * (n - expected) / expected
		}
	}
	return tail(square, (classes-1)*(classes-1))
}

// tail returns the probability that chi-squared with k degrees of freedom exceeds a value, by the approximation of
// Wilson and Hilferty (1931), which is close for k of 30 and more.
func tail(square float64, k int) float64 {
	v := 2 / (9 * float64(k))
	z := (math.Cbrt(square/float64(k)) - (1 - v)) / math.Sqrt(v)
	return math.Erfc(z/math.Sqrt2) / 2
}
