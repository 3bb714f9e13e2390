package campaigns_test

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
)

// counted are campaigns with stored results.
type counted struct {
	manyCampaigns
	results map[string]insight.Results
}

func (counted) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for _, id := range ids {
		standings[id] = campaign.Summary{Batches: 500, Accepted: 100}
	}
	return standings, nil
}

func (c counted) Results(context.Context, string, []string) (map[string]insight.Results, error) {
	return c.results, nil
}

// ordered returns pages on campaigns, given from the oldest to the newest, one a day.
func ordered(t *testing.T, names []string, results ...insight.Results) webtest.Person {
	t.Helper()
	store := counted{results: map[string]insight.Results{}}
	for i, name := range slices.Backward(names) {
		id, at := fmt.Sprintf("00000000-0000-4000-8000-%012d", i), noon.AddDate(0, 0, i-len(names))
		store.list = append(store.list, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: name, Cursor: fmt.Sprintf("%014d#%s", at.UnixMilli(), id)})
		if i < len(results) {
			r := results[i]
			r.At, r.Batches, r.Status, r.Accepted, r.First, r.Last = noon, 500, campaign.StatusSending, 100, at, at
			store.results[id] = r
		}
	}
	now := func() time.Time { return noon }
	return webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: store, Now: now}, now).SignIn("acme", web.RoleViewer)
}

func TestList_Order(t *testing.T) {
	t.Parallel()
	reader := ordered(
		t, []string{"Verão", "água", "Zebra", "Sem resultado", "Beta"},
		insight.Results{Delivered: 10, Read: 9}, insight.Results{Delivered: 30, Read: 1}, insight.Results{Delivered: 20, Read: 5},
	)
	for sort, want := range map[string]string{
		"":           "Beta, Sem resultado, Zebra, água, Verão",
		"time":       "Verão, água, Zebra, Sem resultado, Beta",
		"name":       "água, Beta, Sem resultado, Verão, Zebra",
		"-name":      "Zebra, Verão, Sem resultado, Beta, água",
		"-delivered": "água, Zebra, Verão, Beta, Sem resultado",
		"delivered":  "Verão, Zebra, água, Beta, Sem resultado",
		"-read":      "Verão, Zebra, água, Beta, Sem resultado",
		"read":       "água, Zebra, Verão, Beta, Sem resultado",
	} {
		a := reader.Get(campaigns.Path + "?sort=" + sort)
		if got := strings.Join(namesOf(a.Body), ", "); got != want {
			t.Errorf("%q lists %s, want %s", sort, got, want)
		}
		if n := strings.Count(a.Body, "aria-sort="); n != 1 {
			t.Errorf("%q: %d columns are the sorted one", sort, n)
		}
	}
	if a := reader.Get(campaigns.Path + "?sort=status"); a.Status != 404 {
		t.Errorf("an unknown order gets %d", a.Status)
	}
}

// sortLink returns the link in the head of a column.
func sortLink(t *testing.T, body, column string) string {
	t.Helper()
	found := regexp.MustCompile(`id="sort-` + column + `" href="([^"]+)"`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no link sorts by %s", column)
	}
	return html.UnescapeString(found[1])
}

// The head of a column sorts by it, and the second time in the reverse order. The filter stays.
func TestList_OrderLinks(t *testing.T) {
	t.Parallel()
	reader := ordered(t, []string{"Natal b", "Natal a", "Páscoa"})
	page := reader.Get(campaigns.Path + "?q=natal&part=3&sort=time")
	for _, want := range []string{"Natal a, Natal b", "Natal b, Natal a", "Natal a, Natal b"} {
		page = reader.Get(sortLink(t, page.Body, "name"))
		if got := strings.Join(namesOf(page.Body), ", "); got != want {
			t.Errorf("the link lists %s, want %s", got, want)
		}
	}
	if !strings.Contains(page.Body, `<option value="name" selected>`) || !strings.Contains(page.Body, `aria-sort="ascending"`) {
		t.Error("the page does not say its order")
	}
	page = reader.Get(sortLink(t, page.Body, "time"))
	if got := strings.Join(namesOf(page.Body), ", "); got != "Natal a, Natal b" || !strings.Contains(page.Body, `aria-sort="descending"`) {
		t.Errorf("by time it lists %s", got)
	}
}

// A sorted list has pages too, and says how many campaigns it sorted.
func TestList_OrderedPages(t *testing.T) {
	t.Parallel()
	names := make([]string, 600)
	for i := range names {
		names[i] = fmt.Sprintf("c%03d", len(names)-1-i)
	}
	reader, path, seen := ordered(t, names), campaigns.Path+"?sort=name", []string{}
	for range 25 {
		a := reader.Get(path)
		seen = append(seen, namesOf(a.Body)...)
		if !strings.Contains(a.Text(), "newest 500 campaigns") {
			t.Fatalf("%s does not say what it sorted:\n%s", path, a.Text())
		}
		before, _, more := strings.Cut(a.Body, `" rel="next"`)
		if !more {
			break
		}
		path = html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
	}
	want := slices.Sorted(slices.Values(names[100:]))
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the pages list (-want +got):\n%s", diff)
	}
}
