package dispatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/reach/optout"
)

type withheld struct {
	Code, List, Price string
	Messages          int
}

// The names of lists are read only if a list withholds a message: most tenants have none.
func TestDryRun_WithoutLists(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ListNames = func(context.Context, string) (map[int]string, error) {
		return nil, errors.New("the lists were read again")
	}
	book := &optout.Book{Store: b.store, Now: b.Now}
	b.must(book.Record(t.Context(), b.tenant, []campaign.OptChange{{Phone: "+5511987654321", Out: true, At: b.now}}))
	body := b.body(fields{"messages": []fields{{"phone": "11987654321", "uid": "a", "vars": fields{"nome": "Ana"}}}})
	said := read[struct{ Withheld []withheld }](t, b.dryRun(body))
	if diff := cmp.Diff([]withheld{{Code: campaign.CodeOptedOut, Messages: 1}}, said.Withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
}

// A dry run, the check of a page and the sender withhold messages from the same people, opt-outs before lists. All
// accepted messages reserve budget.
func TestDryRun_Withheld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("100", "")
	book := &optout.Book{Store: b.store, Now: b.Now}
	b.must(book.Record(t.Context(), b.tenant, []campaign.OptChange{{Phone: "+5511987654321", Out: true, At: b.now}}))
	b.list([]e164.Number{5511987654321, 5511987654322})
	body := b.body(fields{"messages": []fields{
		{"phone": "11987654321", "uid": "a", "vars": fields{"nome": "Ana"}},
		{"phone": "11987654322", "uid": "b", "vars": fields{"nome": "Bia"}},
		{"phone": "123", "uid": "x", "vars": fields{"nome": "Xá"}},
		{"phone": "11987654323", "uid": "c", "vars": fields{"nome": "Caio"}},
	}})
	said := read[struct {
		Withheld []withheld
		Price    struct{ Total, Expected string }
	}](t, b.dryRun(body))
	want := []withheld{{"opted_out", "", "0.05", 1}, {"suppressed", "all", "0.05", 1}}
	if diff := cmp.Diff(want, said.Withheld); diff != "" {
		t.Errorf("withheld (-want +got):\n%s", diff)
	}
	if said.Price.Total != "0.15" || said.Price.Expected != "0.05" {
		t.Errorf("total %s, expected %s; want 0.15 and 0.05", said.Price.Total, said.Price.Expected)
	}
}
