package bench

import (
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/numberset"
)

// BenchmarkPhones parses 2,000 valid and 2,000 invalid Brazilian mobiles.
func BenchmarkPhones(b *testing.B) {
	valid := mobiles(newRandom(), campaign.MaxMessages)
	for _, test := range []struct {
		name    string
		numbers []string
		limit   float64
	}{{"valid", texts(valid, "%d"), 0.01}, {"invalid", withoutNinth(valid), 0.1}} {
		raw := make([][]byte, len(test.numbers))
		for i, n := range test.numbers {
			raw[i] = []byte(n)
		}
		parse := func() {
			for _, n := range raw {
				phone.Parse(n)
			}
		}
		library := func() {
			for _, n := range test.numbers {
				libraryNumber(n)
			}
		}
		record(b, compared("normalising 2,000 "+test.name+" mobiles", compare(parse, library, 500, 1), test.limit,
			"CPU against phonenumbers' Parse, IsValidNumber and GetNumberType"))
	}
}

func texts(numbers []uint64, format string) []string {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = fmt.Sprintf(format, n)
	}
	return all
}

// withoutNinth returns the numbers in their form of before 2016, which is
// invalid today.
func withoutNinth(numbers []uint64) []string {
	all := texts(numbers, "%d")
	for i, n := range all {
		all[i] = n[:4] + n[5:]
	}
	return all
}

// BenchmarkSet packs 2,000 numbers.
func BenchmarkSet(b *testing.B) {
	numbers := numberset.New(mobiles(newRandom(), campaign.MaxMessages))
	roaring, err := roaring64.BitmapOf(numbers...).ToBytes()
	check(b, err)
	record(b, measured("packed set", float64(len(numbers.Pack()))/campaign.MaxMessages, "bytes/number", 3.3,
		fmt.Sprintf("2,000 random Brazilian mobiles; roaring64 takes %.2f", float64(len(roaring))/campaign.MaxMessages)))
}
