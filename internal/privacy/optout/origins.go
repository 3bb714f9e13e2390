package optout

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

const (
	// originBits is the size of a packed origin.
	originBits   = 2
	originsAByte = 8 / originBits
	originMask   = 1<<originBits - 1
)

// packOrigins encodes the origins of a set's numbers, in their order.
func packOrigins(origins []campaign.Origin) []byte {
	packed := make([]byte, sizeOfOrigins(len(origins)))
	for i, o := range origins {
		packed[i/originsAByte] |= byte(o) << (i % originsAByte * originBits)
	}
	return packed
}

// unpackOrigins decodes the origins of n numbers.
func unpackOrigins(packed []byte, n int) ([]campaign.Origin, error) {
	if len(packed) != sizeOfOrigins(n) {
		return nil, errDamaged
	}
	origins := make([]campaign.Origin, n)
	for i := range origins {
		origins[i] = campaign.Origin(packed[i/originsAByte] >> (i % originsAByte * originBits) & originMask)
	}
	return origins, nil
}

// sizeOfOrigins returns the size in bytes of n packed origins.
func sizeOfOrigins(n int) int { return (n + originsAByte - 1) / originsAByte }

// origin returns the origin of a number's opt-out, 0 for a number that is not opted out.
func (s *shard) origin(number uint64) campaign.Origin {
	if place, out := slices.BinarySearch(s.out, number); out {
		return s.origins[place]
	}
	return 0
}
