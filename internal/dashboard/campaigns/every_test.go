package campaigns_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// tab is a tab of a browser that nobody touches. Its page updates itself as htmx does.
type tab struct {
	d        *service
	who      webtest.Person
	used     *metering.Meter
	requests int
	units    float64
	waits    []string // intervals in their order, without repetitions
}

// newTab meters the reads of the dashboard. A row is billed whole, whatever attributes a call asks for.
func newTab(t *testing.T, d *service) *tab {
	t.Helper()
	env := stackenv.Load(t)
	who := d.SignedIn(web.Session{Tenant: d.tenant, Email: "ana@example.com", Role: web.RoleAdmin, Expires: noon.Add(24 * time.Hour)})
	b := &tab{d: d, who: who, used: &metering.Meter{Rules: metering.OfService(metering.RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS())))}}
	d.store.Set(func(tables *dynamo.Tables) {
		tables.Client = dynamodb.NewFromConfig(env.AWS(), b.used.AttachTo, func(o *dynamodb.Options) {
			o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
				return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("whole rows", wholeRows), middleware.Before)
			})
		})
	})
	return b
}

// wholeRows asks for all attributes.
func wholeRows(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	switch in := in.Parameters.(type) {
	case *dynamodb.QueryInput:
		in.ProjectionExpression = nil
		maps.DeleteFunc(in.ExpressionAttributeNames, func(name, _ string) bool { return !strings.Contains(*in.KeyConditionExpression, name) })
		if len(in.ExpressionAttributeNames) == 0 {
			in.ExpressionAttributeNames = nil
		}
	case *dynamodb.BatchGetItemInput:
		for table, keys := range in.RequestItems {
			in.RequestItems[table] = types.KeysAndAttributes{Keys: keys.Keys, ConsistentRead: keys.ConsistentRead}
		}
	}
	return next.HandleInitialize(ctx, in)
}

func (b *tab) get(path string, part bool) string {
	b.d.tb.Helper()
	who := b.who
	who.Header = http.Header{}
	if part {
		who.Header.Set("HX-Request", "true")
	}
	b.used.Take()
	a := who.Get(path)
	if a.Status != http.StatusOK {
		b.d.tb.Fatalf("%s answers %d", path, a.Status)
	}
	b.requests++
	b.units += metering.Sum(b.used.Take()).Reads
	return a.Body
}

var (
	loads   = regexp.MustCompile(`hx-get="([^"]+)" hx-trigger="load"`)
	updates = regexp.MustCompile(`<(?:div id="live"|tr id="rows" hidden) hx-get="([^"]+)" hx-trigger="every ([0-9a-z]+)"`)
)

// open opens a page and leaves it open for a time. happens runs before each update.
func (b *tab) open(path string, during time.Duration, happens func()) {
	b.d.tb.Helper()
	end := b.d.later + during
	body := b.get(path, false)
	for _, part := range loads.FindAllStringSubmatch(body, -1) {
		b.get(html.UnescapeString(part[1]), true)
	}
	for {
		next := updates.FindStringSubmatch(body)
		if next == nil {
			return
		}
		if b.wait(next[2]); b.d.later >= end {
			b.d.later = end
			return
		}
		happens()
		body = b.get(html.UnescapeString(next[1]), true)
	}
}

// wait lets an interval pass.
func (b *tab) wait(every string) {
	b.d.tb.Helper()
	wait, err := time.ParseDuration(every)
	b.d.must(err)
	if n := len(b.waits); n == 0 || b.waits[n-1] != every {
		b.waits = append(b.waits, every)
	}
	b.d.later += wait
}

// sending is a campaign of batches that are sent one after the other.
type sending struct {
	d       *service
	batches []campaign.Batch
	each    time.Duration // for a batch
	done    int           // steps
}

// send accepts a campaign of full batches.
func (d *service) send(batches int, each time.Duration) *sending {
	s, id := &sending{d: d, each: each}, uuid()
	for n := range batches {
		s.batches = append(s.batches, d.accept(id, "Natal", n+1, campaign.MaxMessages, func(b *campaign.Batch) {
			b.Due = noon
		}))
	}
	return s
}

// stages are what happens to a batch, and how long after it was sent: 70 % are delivered at once, some in the next hours.
var stages = []struct {
	after       time.Duration
	to          campaign.Outcome
	first, last int
}{
	{0, campaign.OutcomeSent, 0, 1999},
	{12 * time.Second, campaign.OutcomeDelivered, 0, 1399},
	{10 * time.Minute, campaign.OutcomeRead, 0, 299},
	{45 * time.Minute, campaign.OutcomeRead, 300, 599},
	{2 * time.Hour, campaign.OutcomeDelivered, 1400, 1699},
	{4 * time.Hour, campaign.OutcomeRead, 600, 899},
}

// goOn records what has happened until now.
func (s *sending) goOn() {
	for ; s.done < len(s.batches)*len(stages); s.done++ {
		stage := stages[s.done/len(s.batches)]
		n := s.done % len(s.batches)
		at := time.Duration(n+1)*s.each + stage.after
		if at > s.d.later {
			return
		}
		s.d.record(s.batches[n], stage.to, "", stage.first, stage.last, noon.Add(at))
		if stage.to == campaign.OutcomeSent {
			_, err := s.d.store.MarkSent(context.Background(), s.batches[n].BatchRef, noon.Add(at).Add(campaign.MessageTTL+campaign.AnswerGrace))
			s.d.must(err)
		}
	}
}

// A tab that is left open beside a sending campaign for 8 hours makes at most 800 requests and reads at most 50,000 units,
// however long the campaign is sent. Every update reads all batches. `make prove` tries a short campaign too.
func TestCampaign_TabOfEightHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		each time.Duration // for a batch of 25
	}{
		{"a paced campaign, for more than a day", time.Hour},
		{"100 messages a second, for 8 minutes", 20 * time.Second},
	}[:testsize.Of(1, 2)] {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			d.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
			s, b := d.send(25, test.each), newTab(t, d)
			b.open(pathOf(s.batches[0]), 8*time.Hour, s.goOn)
			t.Logf("%d requests, %.0f read units in %v; intervals %v", b.requests, b.units, d.later, b.waits)
			if b.requests > 800 || b.units > 50_000 || d.later != 8*time.Hour {
				t.Errorf("%d requests, %.0f read units in %v", b.requests, b.units, d.later)
			}
			if got := strings.Join(b.waits, " "); got != "5s 15s 60s" {
				t.Errorf("the page waits %s", got)
			}
			if got := b.get(pathOf(s.batches[0]), false); !strings.Contains(got, `hx-trigger="every `) {
				t.Error("a page that is opened again does not update itself")
			}
		})
	}
}

// A list of 20 sending campaigns that is left open for 8 hours makes at most 800 requests and reads at most 50,000 units,
// and always shows recent figures. `make prove` tries large campaigns too.
func TestList_TabOfEightHours(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		batches func(n int) int // of the campaign n
		first   string          // interval
		young   time.Duration   // the greatest age of a figure in the first hour
		old     time.Duration   // at the end
	}{
		{"small campaigns", func(n int) int { return 1 + n%5 }, "10s", 3 * time.Minute, 10 * time.Minute},
		{"a large campaign among small ones", func(n int) int { return 1 + 24*(n/19) }, "10s", 3 * time.Minute, 10 * time.Minute},
		{"large campaigns", func(int) int { return 25 }, "60s", 25 * time.Minute, 50 * time.Minute},
	}[:testsize.Of(1, 3)] {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			for n := range pageLength {
				id := uuid()
				for ordinal := range test.batches(n) {
					d.accept(id, "Natal "+strconv.Itoa(n), ordinal+1, 10, nil)
				}
			}
			b := newTab(t, d)
			b.open(campaigns.Path, 8*time.Hour, func() {
				if d.later > 58*time.Minute && d.later < time.Hour {
					d.recent(t, test.young)
				}
			})
			t.Logf("%d requests, %.0f read units in %v; intervals %v", b.requests, b.units, d.later, b.waits)
			if b.requests > 800 || b.units > 50_000 || d.later != 8*time.Hour {
				t.Errorf("%d requests, %.0f read units in %v", b.requests, b.units, d.later)
			}
			if b.waits[0] != test.first || b.waits[len(b.waits)-1] != "120s" {
				t.Errorf("the list waits %v", b.waits)
			}
			d.recent(t, test.old)
		})
	}
}

const pageLength = 20 // campaigns of a list

// recent fails the test if a campaign of the list was read too long ago.
func (d *service) recent(t *testing.T, most time.Duration) {
	t.Helper()
	listed, err := d.store.ListCampaigns(t.Context(), d.tenant, "", pageLength)
	d.must(err)
	results, err := d.store.Results(t.Context(), d.tenant, campaign.IDsOf(listed))
	d.must(err)
	if len(results) != pageLength {
		t.Errorf("%d campaigns have results", len(results))
	}
	for _, r := range results {
		if age := noon.Add(d.later).Sub(r.At); age > most {
			t.Errorf("the results of a campaign of %d batches are %v old", r.Batches, age)
		}
	}
}

// An update of a list has the rows that have changed, and none of another tenant's. What somebody has changed is there at
// once, and the list no longer asks for a campaign that has ended.
func TestList_Update(t *testing.T) {
	t.Parallel()
	d, stranger := newService(t), newService(t)
	b, other := d.running("Natal"), d.running("Páscoa")
	foreign := stranger.running("Carnaval")
	part := d.admin()
	part.Header = http.Header{"Hx-Request": {"true"}}
	next := func(body string) string {
		found := updates.FindStringSubmatch(body)
		if found == nil {
			t.Fatalf("the list does not update itself:\n%s", body)
		}
		return html.UnescapeString(found[1])
	}
	path := next(d.admin().Get(campaigns.Path).Body)
	d.record(b, campaign.OutcomeRead, "", 0, 999, noon)
	_, err := d.store.CompleteBatch(t.Context(), b, 0, noon)
	d.must(err)
	a := part.Get(path)
	says(t, "the update", a.Text(), "Natal 21 Nov 2037, 10:00 Completed 1,000 100% 100% – 0", "Páscoa 21 Nov 2037, 10:00 Sending 1,000 88.9% 50%")
	says(t, "the update", a.Body, `<tr id="row-`+b.CampaignID+`" hx-swap-oob="true">`)
	if path = next(a.Body); strings.Contains(path, b.CampaignID) || !strings.Contains(path, other.CampaignID) {
		t.Errorf("the next update is of %s", path)
	}
	a = part.Get(campaigns.Path + "/rows?ids=" + foreign.CampaignID)
	if a.Status != http.StatusOK || strings.Contains(a.Body, "Carnaval") || strings.Contains(a.Body, "every") {
		t.Errorf("a campaign of another tenant: %d %s", a.Status, a.Text())
	}
	for _, ids := range []string{"", "x", strings.Repeat(b.CampaignID+",", pageLength) + b.CampaignID} {
		if a := part.Get(campaigns.Path + "/rows?ids=" + ids); a.Status != http.StatusNotFound {
			t.Errorf("an update of %q gets %d", ids, a.Status)
		}
	}
}

var refreshes = regexp.MustCompile(`<noscript><meta http-equiv="refresh" content="([0-9]+); url=([^"]+)">`)

// Without scripts a page is loaded again in the interval of its campaign, at most 800 times in 8 hours.
func TestCampaign_TabWithoutScripts(t *testing.T) {
	t.Parallel()
	d := newService(t)
	var sending campaign.Batch
	id := uuid()
	for n := range testsize.Of(1, 25) {
		sending = d.accept(id, "Natal", n+1, 10, nil)
	}
	answered := d.accept(uuid(), "Páscoa", 1, 10, nil)
	d.record(answered, campaign.OutcomeSent, "", 0, 9, noon)
	_, err := d.store.MarkSent(t.Context(), answered.BatchRef, noon.Add(campaign.MessageTTL+campaign.AnswerGrace-61*time.Minute))
	d.must(err)
	if next := refreshes.FindStringSubmatch(d.admin().Get(pathOf(answered)).Body); len(next) == 0 || next[1] != "60" {
		t.Errorf("a campaign that changes rarely is loaded %v", next)
	}
	b, path := newTab(t, d), pathOf(sending)+"?chart=table"
	for d.later < 8*time.Hour {
		next := refreshes.FindStringSubmatch(b.get(path, false))
		if next == nil {
			t.Fatalf("after %v, the page is not loaded again", d.later)
		}
		path = html.UnescapeString(next[2])
		b.wait(next[1] + "s")
	}
	t.Logf("%d requests, %.0f read units; intervals %v", b.requests, b.units, b.waits)
	if got := strings.Join(b.waits, " "); b.requests > 800 || b.units > 50_000 || got != "10s 15s 60s" || !strings.Contains(path, "chart=table") {
		t.Errorf("%d requests, %.0f read units, intervals %s, at last of %s", b.requests, b.units, got, path)
	}
}

// The interval of a page that was just opened depends on what can change.
func TestCampaign_Interval(t *testing.T) {
	t.Parallel()
	sent := func(d *service, messages int, check time.Duration) campaign.Batch {
		b := d.accept(uuid(), "Natal", 1, 10, nil)
		d.record(b, campaign.OutcomeSent, "", 0, messages-1, noon)
		if messages == 10 {
			_, err := d.store.MarkSent(t.Context(), b.BatchRef, noon.Add(check))
			d.must(err)
		}
		return b
	}
	const answers = campaign.MessageTTL + campaign.AnswerGrace
	for name, test := range map[string]struct {
		campaign func(d *service) campaign.Batch
		every    string // "" for never
	}{
		"some messages are unsent": {func(d *service) campaign.Batch { return sent(d, 9, 0) }, "5s"},
		"all were just sent":       {func(d *service) campaign.Batch { return sent(d, 10, answers) }, "15s"},
		"all were sent 61 minutes ago": {
			func(d *service) campaign.Batch { return sent(d, 10, answers-61*time.Minute) }, "60s",
		},
		"completed": {func(d *service) campaign.Batch {
			b := sent(d, 10, answers)
			d.record(b, campaign.OutcomeDelivered, "", 0, 9, noon)
			return b
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			path := pathOf(test.campaign(d))
			got := ""
			if live := updates.FindStringSubmatch(d.admin().Get(path).Body); live != nil {
				got = live[2]
			}
			if got != test.every {
				t.Errorf("every %q, want %q", got, test.every)
			}
		})
	}
}

// The parts of a page may be some seconds old. The page itself is not, unless the campaign has many batches.
func TestCampaign_RecentParts(t *testing.T) {
	t.Parallel()
	for batches, fresh := range map[int]time.Duration{1: 0, 2: 3 * time.Second, 50: 10 * time.Second} {
		d := newService(t)
		var b campaign.Batch
		id := uuid()
		for n := range batches {
			b = d.accept(id, "Natal", n+1, 10, nil)
		}
		who, part := d.admin(), d.admin()
		part.Header = http.Header{"Hx-Request": {"true"}}
		who.Get(pathOf(b))
		d.record(b, campaign.OutcomeSent, "", 0, 9, noon)
		shows := func(a webtest.Answer) bool { return strings.Contains(a.Text(), "Sent 10 ") }
		if fresh > 0 {
			if d.later = fresh - 1; shows(part.Get(pathOf(b))) {
				t.Errorf("%d batches: the part was read again after less than %v", batches, fresh)
			}
		}
		if d.later = fresh; !shows(part.Get(pathOf(b))) {
			t.Errorf("%d batches: the part is older than %v", batches, fresh)
		}
		d.record(b, campaign.OutcomeDelivered, "", 0, 9, noon)
		if batches < 50 && !strings.Contains(who.Get(pathOf(b)).Text(), "Delivered 10 ") {
			t.Errorf("%d batches: the page does not show the newest state", batches)
		}
	}
}

// A list that is open for long updates itself less often.
func TestList_IntervalOfOldTab(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.running("Natal")
	next := updates.FindStringSubmatch(d.admin().Get(campaigns.Path).Body)
	part := d.SignedIn(web.Session{Tenant: d.tenant, Email: "ana@example.com", Role: web.RoleAdmin, Expires: noon.Add(24 * time.Hour)})
	part.Header = http.Header{"Hx-Request": {"true"}}
	for _, step := range []struct {
		later time.Duration
		every string
	}{{0, "10s"}, {14 * time.Minute, "10s"}, {16 * time.Minute, "30s"}, {61 * time.Minute, "120s"}} {
		d.later = step.later
		if next = updates.FindStringSubmatch(part.Get(html.UnescapeString(next[1])).Body); len(next) == 0 || next[2] != step.every {
			t.Fatalf("after %v the list has %v, want every %s", step.later, next, step.every)
		}
	}
}

// What somebody has changed goes before rows that only wait, however many of them are due.
func TestList_ChangedFirst(t *testing.T) {
	t.Parallel()
	d := newService(t)
	changed := d.running("Natal")
	others := make([]string, 0, pageLength-1)
	for i := range pageLength - 1 {
		others = append(others, d.running("Páscoa "+strconv.Itoa(i)).CampaignID)
	}
	part := d.admin()
	part.Header = http.Header{"Hx-Request": {"true"}}
	ids := strings.Join(slices.Insert(others, 11, changed.CampaignID), ",") // an update reads 12 of them
	part.Get(campaigns.Path + "/rows?ids=" + ids)
	d.later += 10 * time.Minute
	d.record(changed, campaign.OutcomeRead, "", 0, 999, noon)
	_, err := d.store.CompleteBatch(t.Context(), changed, 0, noon)
	d.must(err)
	says(t, "the update", part.Get(campaigns.Path+"/rows?ids="+ids).Text(), "Natal 21 Nov 2037, 10:00 Completed")
}
