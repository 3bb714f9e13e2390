package main

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/numberset"
)

// normaliseFigures judges 2,000 valid and 2,000 invalid Brazilian mobiles.
func normaliseFigures(_ context.Context, _ benchKey, random *mathrand.Rand) ([]figure, error) {
	valid := mobiles(random, campaign.MaxMessages)
	return []figure{
		normaliseFigure("normalising 2,000 valid mobiles", texts(valid, "%d"), 0.01),
		normaliseFigure("normalising 2,000 invalid mobiles", withoutNinth(valid), 0.1),
	}, nil
}

func normaliseFigure(name string, numbers []string, limit float64) figure {
	raw := make([][]byte, len(numbers))
	for i, n := range numbers {
		raw[i] = []byte(n)
	}
	ours := func() {
		for _, n := range raw {
			phone.Parse(n)
		}
	}
	library := func() {
		for _, n := range numbers {
			libraryNumber(n)
		}
	}
	return compared(name, compare(ours, library, 500, 1), limit, "CPU against phonenumbers' Parse, IsValidNumber and GetNumberType")
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

func packedFigures(_ context.Context, _ benchKey, random *mathrand.Rand) ([]figure, error) {
	numbers := numberset.New(mobiles(random, campaign.MaxMessages))
	roaring, err := roaring64.BitmapOf(numbers...).ToBytes()
	if err != nil {
		return nil, err
	}
	perNumber := float64(len(numbers.Pack())) / campaign.MaxMessages
	method := fmt.Sprintf("2,000 random Brazilian mobiles; roaring64 takes %.2f", float64(len(roaring))/campaign.MaxMessages)
	f := measured("packed set", perNumber, "bytes/number", 3.3, method)
	return []figure{f}, nil
}
