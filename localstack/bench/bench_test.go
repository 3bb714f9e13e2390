package main

import (
	mathrand "math/rand/v2"
	"testing"

	"campaign-dispatch/internal/campaign"
)

// BenchmarkAccept is what to profile when the figure of accepting falls short.
func BenchmarkAccept(b *testing.B) {
	key, err := newBenchKey()
	if err != nil {
		b.Fatal(err)
	}
	token, err := key.token()
	if err != nil {
		b.Fatal(err)
	}
	random := mathrand.New(mathrand.NewPCG(1, 2))
	call, err := event(token, "1", mobiles(random, campaign.MaxMessages))
	if err != nil {
		b.Fatal(err)
	}
	aws := newInstant()
	aws.forget = true
	h := handler(aws, key)
	b.ReportAllocs()
	for b.Loop() {
		mustAccept(b.Context(), h, call)
	}
}
