package campaigns_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach/optout"
)

// optOutRows are the opt-outs of a tenant, and the numbers of its campaigns.
type optOutRows struct {
	query.Store

	shards  map[int]campaign.OptOuts
	numbers map[string][]uint64 // by campaign
	read    []string            // campaigns whose numbers were read
}

func (o *optOutRows) OptOuts(context.Context, string) ([]campaign.OptOuts, error) {
	return slices.Collect(maps.Values(o.shards)), nil
}

func (o *optOutRows) OptOutShard(_ context.Context, _ string, shard int) (campaign.OptOuts, error) {
	row := o.shards[shard]
	row.Shard = shard
	return row, nil
}

func (o *optOutRows) OptOutParts(context.Context, string, int, []string) (map[string]campaign.OptOutPart, error) {
	return nil, nil
}

func (o *optOutRows) SwapOptOuts(_ context.Context, _ string, row campaign.OptOuts, _ ...string) (bool, error) {
	row.Version++
	o.shards[row.Shard] = row
	return true, nil
}

func (o *optOutRows) PackedSets(_ context.Context, id campaign.ID) ([]acceptance.PackedSet, error) {
	o.read = append(o.read, id.CampaignID)
	return []acceptance.PackedSet{{Ordinal: 1, Packed: numberset.New(o.numbers[id.CampaignID]).Pack()}}, nil
}

func (e *earlier) KeepOptOutCount(_ context.Context, id campaign.ID, r insight.Results) error {
	if stored, ok := e.results[id.CampaignID]; ok {
		stored.OptOuts, stored.OptOutsUntil = r.OptOuts, r.OptOutsUntil
		e.results[id.CampaignID] = stored
	}
	return nil
}

// optOut lets a new recipient of a campaign opt out.
func (e *earlier) optOut(id string, at time.Time, origin campaign.Origin) {
	e.t.Helper()
	number := 5511_9_8000_0000 + uint64(len(e.optOuts.numbers)*1000+len(e.optOuts.numbers[id]))
	e.optOuts.numbers[id] = append(e.optOuts.numbers[id], number)
	change := campaign.OptChange{Phone: fmt.Sprintf("+%d", number), Out: true, At: at, Origin: origin}
	book := optout.Book{Store: e.optOuts, Now: func() time.Time { return noon }}
	if err := book.Record(e.t.Context(), "acme", []campaign.OptChange{change}); err != nil {
		e.t.Fatal(err)
	}
}

// addQuiet adds campaigns of 1000 delivered messages, of whose recipients one opted out.
func (e *earlier) addQuiet(days ...int) {
	for _, ago := range days {
		e.add(ago, insight.Results{Batches: 1, Sent: 1000, Delivered: 1000})
		c := e.list[len(e.list)-1]
		e.optOut(c.CampaignID, e.results[c.CampaignID].First.Add(time.Hour), campaign.OriginMessage)
	}
}

// newOptOuts has a campaign of 800 delivered messages, of whose recipients four opted out within a day and one later,
// and earlier ones. Its results are stored.
func newOptOuts(t *testing.T, days ...int) *earlier {
	t.Helper()
	e := newEarlier(t)
	e.times = 10
	e.results[comparedID] = insight.Results{At: e.now}
	for _, hours := range []int{0, 1, 2, 24, 25} {
		e.optOut(comparedID, e.sent.Add(time.Duration(hours)*time.Hour), campaign.OriginMessage)
	}
	e.addQuiet(days...)
	return e
}

// The opt-outs within a day are compared with those of the earlier campaigns. More are worse.
func TestCompared_OptOuts(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3, 4)
	e.see("en", "Opted out within 1 day (of those delivered) 0.5% 0.1% 0.4 points above the usual")
	e.see("pt", "Pedidos para não receber mais até 1 dia depois (das entregues) 0,5% 0,1% 0,4 ponto acima do habitual")
	if a := e.reader("en").Get(comparedPath); !strings.Contains(a.Body, `class="worse">0.4 points`) {
		t.Errorf("more opt-outs are not worse: %s", a.Body)
	}
}

// Opt-outs before the campaign and those that the company added are not counted, nor are those of other people.
func TestCompared_OptOutsOfOthers(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3)
	e.optOut(comparedID, e.sent.Add(-time.Hour), campaign.OriginMessage)
	e.optOut(comparedID, e.sent.Add(time.Hour), campaign.OriginHand)
	e.optOut(comparedID, e.sent.Add(time.Hour), campaign.OriginFile)
	e.optOut("another", e.sent.Add(time.Hour), campaign.OriginMessage)
	e.see("en", "Opted out within 1 day (of those delivered) 0.5% 0.1% 0.4 points above the usual")
}

// The numbers of a settled campaign are read once. What was counted is compared when the times of opt-outs are not kept
// any more.
func TestCompared_OptOutsCountedOnce(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3)
	for _, later := range []int{0, 1, 30} {
		e.now = noon.AddDate(0, 0, later)
		e.see("en", "Opted out within 1 day (of those delivered) 0.5% 0.1% 0.4 points above the usual")
	}
	if len(e.optOuts.read) != 4 {
		t.Errorf("the numbers of these campaigns were read: %v", e.optOuts.read)
	}
	late := newOptOuts(t, 1, 2, 3)
	late.now = noon.AddDate(0, 0, 30)
	if text := late.reader("en").Get(comparedPath).Text(); strings.Contains(text, "Opted out") || len(late.optOuts.read) > 0 {
		t.Errorf("opt-outs that were not counted in time are compared: %s", text)
	}
}

// While a campaign is young, it is compared with its opt-outs so far, and counted again.
func TestCompared_OptOutsYoung(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3)
	e.now = e.sent.Add(90 * time.Minute)
	for _, want := range []string{"0.3% 0.1% 0.2 points above", "0.4% 0.1% 0.3 points above"} { // 2 and 3 of 800
		e.see("en", "Opted out within 1 day (of those delivered) "+want, "still gets reads and opt-outs")
		e.now = e.now.Add(time.Hour)
	}
}

// Campaigns of more than 200 batches are left out, and the page says so.
func TestCompared_OptOutsLarge(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3, 4)
	id := e.list[0].CampaignID
	large := e.results[id]
	large.Batches = 200 // beside the one of the campaign itself
	e.results[id] = large
	e.see("en", "0.5% 0.1% in 3 campaigns 0.4 points above the usual")
	if slices.Contains(e.optOuts.read, id) {
		t.Error("the numbers of a large campaign were read")
	}
}

// Another tenant gets nothing, and nothing is counted for it.
func TestCompared_OptOutsOfTenant(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t, 1, 2, 3)
	if a := e.dashboard().SignIn("t-other", web.RoleAdmin).Get(comparedPath); a.Status != 404 || len(e.optOuts.read) > 0 {
		t.Errorf("another tenant gets %d; the numbers of %v were read", a.Status, e.optOuts.read)
	}
}

// The number of a campaign's page has that of the comparison beside it, if they differ. The page stores it.
func TestOptOuts_Compared(t *testing.T) {
	t.Parallel()
	e := newOptOuts(t)
	reader := e.reader("en")
	reader.Header.Set("HX-Request", "true")
	path := strings.TrimSuffix(comparedPath, "/compared") + "/optouts"
	const want = "5 recipients of this campaign opted out. 0.6% of those delivered. 4 of them within 1 day (0.5% of those delivered)."
	if text := reader.Get(path).Text(); !strings.Contains(text, want) {
		t.Errorf("the page says: %s", text)
	}
	if kept := e.results[comparedID]; kept.OptOuts != 4 || !kept.OptOutsUntil.Equal(e.sent.Add(insight.SettledAfter)) {
		t.Errorf("%d opt-outs until %v are stored", kept.OptOuts, kept.OptOutsUntil)
	}
}

// Rates below a tenth of a per cent are shown alike.
func TestCompared_FewOptOuts(t *testing.T) {
	t.Parallel()
	e := newEarlier(t)
	e.times = 100
	e.optOut(comparedID, e.sent, campaign.OriginMessage)
	for i := range 3 {
		e.add(1+i, insight.Results{Batches: 1, Sent: 10_000, Delivered: 10_000})
		for range 9 {
			e.optOut(e.list[i].CampaignID, e.results[e.list[i].CampaignID].First, campaign.OriginMessage)
		}
	}
	e.see("en", "< 0.1% < 0.1% as usual")
}
