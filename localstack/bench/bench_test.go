package main

import (
	mathrand "math/rand/v2"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

func TestNewRowsAreBilledWithTheirEntriesInIndexes(t *testing.T) {
	t.Parallel()
	text := &types.AttributeValueMemberS{Value: "x"}
	for name, test := range map[string]struct {
		row  item
		want float64
	}{
		"in no index":        {item{"pk": text}, 1},
		"a batch":            {item{"pk": text, "due": text, "nextCheck": text}, 2},
		"a campaign's first": {item{"pk": text, "listOf": text, "listAs": text}, 2},
	} {
		if got := writeUnits(test.row); got != test.want {
			t.Errorf("%s: %v units, want %v", name, got, test.want)
		}
	}
}
