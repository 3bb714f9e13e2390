package optout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/optout"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	book := &optout.Book{Store: newTable(), Now: func() time.Time { return now }}
	change := func(phone string, out bool, ago time.Duration) campaign.OptChange {
		return campaign.OptChange{Phone: phone, Out: out, At: now.Add(-ago)}
	}
	in, back := change("+5511900000001", true, time.Hour), change("+5511900000002", true, 2*time.Hour)
	changes := []campaign.OptChange{in, back, change(back.Phone, false, time.Hour), change("+5511900000003", true, optout.RecentFor)}
	if err := book.Record(t.Context(), "acme", changes); err != nil {
		t.Fatal(err)
	}
	got, known, err := book.Recent(t.Context(), "acme")
	if diff := cmp.Diff([]campaign.OptChange{in}, got); diff != "" || !known || err != nil {
		t.Errorf("known %v, error %v, recent opt-outs (-want +got):\n%s", known, err, diff)
	}
}

// The opt-outs of a tenant with parts are not read.
func TestRecent_Parts(t *testing.T) {
	t.Parallel()
	book := &optout.Book{Store: newTable(), Now: time.Now, MaxRow: 10, MaxPart: 10}
	changes := []campaign.OptChange{{Phone: "+5511900000016", Out: true, At: time.Now()}, {Phone: "+5511900000032", Out: true, At: time.Now()}}
	if err := book.Record(t.Context(), "acme", changes); err != nil {
		t.Fatal(err)
	}
	if got, known, err := book.Recent(t.Context(), "acme"); known || err != nil || got != nil {
		t.Errorf("%v, known %v, error %v", got, known, err)
	}
}
