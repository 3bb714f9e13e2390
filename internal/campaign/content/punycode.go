package content

import "math"

// The parameters of RFC 3492, section 5.
const (
	punyBase    = 36
	punyTMin    = 1
	punyTMax    = 26
	punySkew    = 38
	punyDamp    = 700
	punyBias    = 72
	punyInitial = 0x80
)

// punycode encodes a label of a domain name, see RFC 3492, section 6.3.
func punycode(label string) string {
	var out []byte
	var all []rune
	for _, r := range label {
		if all = append(all, r); r < punyInitial {
			out = append(out, byte(r)) //nolint:gosec // ASCII
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	delta, bias, next := 0, punyBias, rune(punyInitial)
	for handled := basic; handled < len(all); {
		least := leastFrom(all, next)
		delta += int(least-next) * (handled + 1)
		for _, r := range all {
			if r < least {
				delta++
			}
			if r == least {
				out = appendVariable(out, delta, bias)
				bias = adapted(delta, handled+1, handled == basic)
				delta, handled = 0, handled+1
			}
		}
		delta, next = delta+1, least+1
	}
	return string(out)
}

// leastFrom returns the smallest character that is at least from.
func leastFrom(all []rune, from rune) rune {
	least := rune(math.MaxInt32)
	for _, r := range all {
		if r >= from {
			least = min(least, r)
		}
	}
	return least
}

// appendVariable appends a number with digits of variable base.
func appendVariable(out []byte, number, bias int) []byte {
	for k := punyBase; ; k += punyBase {
		threshold := max(punyTMin, min(k-bias, punyTMax))
		if number < threshold {
			return append(out, punyDigit(number))
		}
		rest := number - threshold
		out = append(out, punyDigit(threshold+rest%(punyBase-threshold)))
		number = rest / (punyBase - threshold)
	}
}

func punyDigit(n int) byte { return "abcdefghijklmnopqrstuvwxyz0123456789"[n] }

func adapted(delta, points int, first bool) int {
	if first {
		delta /= punyDamp
	} else {
		delta /= 2
	}
	delta += delta / points
	k := 0
	for ; delta > (punyBase-punyTMin)*punyTMax/2; k += punyBase {
		delta /= punyBase - punyTMin
	}
	return k + (punyBase-punyTMin+1)*delta/(delta+punySkew)
}
