package optout

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

// originBits is the size of a packed origin.
const originBits = 2

// packOrigins encodes the origins of a set's numbers, in their order. Unknown ones at the
// end take no space.
func packOrigins(origins []campaign.Origin) []byte {
	var packed []byte
	for i, o := range origins {
		if o == campaign.OriginUnknown {
			continue
		}
		place := i * originBits / 8
		packed = append(packed, make([]byte, max(0, place+1-len(packed)))...)
		packed[place] |= byte(o) << (i * originBits % 8)
	}
	return packed
}

// unpackOrigins decodes the origins of n numbers. Those that are missing are unknown: a
// function version without origins writes none.
func unpackOrigins(packed []byte, n int) []campaign.Origin {
	origins := make([]campaign.Origin, n)
	for i := range min(n, len(packed)*8/originBits) {
		origins[i] = campaign.Origin(packed[i*originBits/8] >> (i * originBits % 8) & (1<<originBits - 1))
	}
	return origins
}

// origin returns the origin of a number's opt-out.
func (s *shard) origin(number uint64) campaign.Origin {
	if place, out := slices.BinarySearch(s.out, number); out {
		return s.origins[place]
	}
	return campaign.OriginUnknown
}
