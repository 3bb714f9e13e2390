// Package rollout has the plan of a campaign that goes in waves, and what its results can say.
package rollout

import "math"

// Share is K people of N, such as those of a wave who opted out. 0 <= K <= N.
type Share struct{ K, N int }

// Interval returns between which shares the true one is, with 95 % confidence: from 0 to 1 if there is nobody.
// It is the score interval of E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
// Journal of the American Statistical Association 22 (1927), pages 209 to 212. It also holds for few people and for K = 0.
func (s Share) Interval() (low, high float64) {
	if s.N == 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // 97.5 % of a normal distribution are below
	n := float64(s.N)
	p := float64(s.K) / n
	scale := 1 + z*z/n
	middle := (p + z*z/(2*n)) / scale
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n)) / scale
	return max(0, min(p, middle-half)), min(1, max(p, middle+half)) // exact at K = 0 and K = N, whatever was rounded
}
