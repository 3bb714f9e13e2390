package campaigns_test

import (
	"context"
	"html"
	"maps"
	"net/http"
	"regexp"
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
	updates = regexp.MustCompile(`<div id="live" hx-get="([^"]+)" hx-trigger="every ([0-9a-z]+)"`)
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
		wait, err := time.ParseDuration(next[2])
		b.d.must(err)
		if n := len(b.waits); n == 0 || b.waits[n-1] != next[2] {
			b.waits = append(b.waits, next[2])
		}
		if b.d.later += wait; b.d.later >= end {
			b.d.later = end
			return
		}
		happens()
		body = b.get(html.UnescapeString(next[1]), true)
	}
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

// The rows of a list that is open for long ask less often.
func TestList_IntervalOfOldTab(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.running("Natal")
	row := regexp.MustCompile(`hx-get="([^"]+)" hx-trigger="every ([0-9a-z]+)"`)
	next := row.FindStringSubmatch(d.admin().Get(campaigns.Path).Body)
	part := d.SignedIn(web.Session{Tenant: d.tenant, Email: "ana@example.com", Role: web.RoleAdmin, Expires: noon.Add(24 * time.Hour)})
	part.Header = http.Header{"Hx-Request": {"true"}}
	for _, step := range []struct {
		later time.Duration
		every string
	}{{0, "10s"}, {14 * time.Minute, "10s"}, {16 * time.Minute, "15s"}, {61 * time.Minute, "60s"}} {
		d.later = step.later
		if next = row.FindStringSubmatch(part.Get(html.UnescapeString(next[1])).Body); len(next) == 0 || next[2] != step.every {
			t.Fatalf("after %v the row has %v, want every %s", step.later, next, step.every)
		}
	}
}
