package campaigns_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) // in São Paulo

// service is the campaign pages on the stack's table and bucket, a new tenant, and the
// batches and tasks that the pages queued.
type service struct {
	tb     testing.TB
	store  *dynamotest.Store
	blobs  *s3.Store
	tenant string
	*webtest.Dashboard

	mu     sync.Mutex
	queued []string
	handed []time.Time
	later  time.Duration             // than noon it is
	asker  string                    // who asked for the approval of the next campaigns
	totals campaign.SubmissionTotals // of the file of the next campaigns

	credentials []account.Credential // of any tenant
}

func (d *service) Send(_ context.Context, _ string, body []byte, _ time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queued = append(d.queued, string(body))
	return nil
}

func (d *service) Schedule(_ context.Context, b campaign.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handed = append(d.handed, b.Due)
	return nil
}

// rows are those of the service, with its credentials.
type rows struct {
	*dynamotest.Store

	of *service
}

func (r rows) Credentials(context.Context, string) ([]account.Credential, error) {
	return r.of.credentials, nil
}

func newService(tb testing.TB) *service {
	tb.Helper()
	env := stackenv.Load(tb)
	cfg, d := env.AWS(), &service{tb: tb, tenant: "t-" + rand.Text()}
	now := func() time.Time { return noon.Add(d.later) }
	d.store = dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(cfg), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: now})
	d.blobs = &s3.Store{Client: awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	d.Dashboard = webtest.New(tb, campaigns.Area(), &campaigns.Pages{
		Store: rows{d.store, d}, OptOuts: &optout.Book{Store: d.store, Now: now}, Now: now,
		Waves:    &intake.Service{Store: d.store, Uploads: d.blobs, Tasks: d, Rules: d.store, Now: now, Lead: 5 * time.Minute},
		Messages: &query.Service{Store: d.store, Blobs: d.blobs, Now: time.Now},
		Controls: &control.Service{Store: d.store, Revokes: d, Events: d, Releases: d, Now: now, Lead: 5 * time.Minute, SweepDelay: time.Minute},
	}, now)
	return d
}

func (d *service) admin() webtest.Person { return d.SignIn(d.tenant, web.RoleAdmin) }

func (d *service) must(err error) {
	d.tb.Helper()
	if err != nil {
		d.tb.Fatal(err)
	}
}

// uuid returns a campaign's id.
func uuid() string {
	var k campaign.BatchKey
	_, _ = rand.Read(k[:])
	return k.MessageID(1)
}

// accept writes a batch of n messages as dispatch does, with the uids u0, u1 and so on.
func (d *service) accept(id, name string, ordinal, n int, change func(b *campaign.Batch)) campaign.Batch {
	d.tb.Helper()
	var w payload.Writer
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = uint64(5511_9_8000_0000 + 10_000*ordinal + i)
		w.Add(numbers[i], fmt.Appendf(nil, "u%d", i), nil)
	}
	body, offsets := w.Finish()
	batch := fmt.Sprintf("lote %d", ordinal)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: d.tenant, CampaignID: id}, BatchID: campaign.BatchID(batch)},
		Name:     batch, TemplateID: "7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c", TemplateVersion: 1,
		Payload: "payloads/" + rand.Text(), Offsets: offsets, Accepted: n,
		AcceptedAt: noon.Add(-2 * time.Hour), Due: noon.Add(-2 * time.Hour), State: campaign.BatchSending, NextCheck: noon.Add(time.Hour),
	}
	_, _ = rand.Read(b.Key[:])
	if change != nil {
		change(&b)
	}
	d.must(d.blobs.Put(context.Background(), b.Payload, body, "application/octet-stream"))
	d.must(d.store.Accept(context.Background(), acceptance.Command{
		Batch: b, Campaign: name, Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: noon.Add(-2 * time.Hour), AskedBy: d.asker, Submission: d.totals,
	}, rand.Text()))
	return b
}

// record appends the outcome of the messages from first to last, one second apart.
func (d *service) record(b campaign.Batch, to campaign.Outcome, code string, first, last int, at time.Time) {
	d.tb.Helper()
	var changes []campaign.Change
	for i := first; i <= last; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: to, Code: code, At: at.Add(time.Duration(i-first) * time.Second)})
	}
	_, err := outcome.AppendLedger(context.Background(), d.store, b, changes)
	d.must(err)
}

// running is a campaign with read and failed messages.
func (d *service) running(name string) campaign.Batch {
	d.tb.Helper()
	b := d.accept(uuid(), name, 1, 1000, func(b *campaign.Batch) { b.Rejected, b.ErrorFile = 7, strings.Repeat("e", 43)+".csv" })
	sent := b.AcceptedAt.Add(time.Minute)
	d.record(b, campaign.OutcomeSent, "", 0, 899, sent)
	d.record(b, campaign.OutcomeFailed, "unreachable", 900, 939, sent)
	d.record(b, campaign.OutcomeFailed, "opted_out", 940, 945, sent)
	d.record(b, campaign.OutcomeDelivered, "", 0, 799, sent.Add(2*time.Minute))
	d.record(b, campaign.OutcomeRead, "", 0, 399, sent.Add(20*time.Minute))
	d.record(b, campaign.OutcomeExpired, "ttl_passed", 800, 809, sent.Add(80*time.Minute))
	return b
}

func pathOf(b campaign.Batch) string { return campaigns.Path + "/" + b.CampaignID }

// The funnel counts messages with a tapped suggestion if the campaign has suggestions.
func TestCampaign_Taps(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	template := "template-" + d.tenant
	_, err := d.store.PutTemplate(t.Context(), campaign.Template{
		ID: template, Tenant: d.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: content.Replies("Ver ofertas", "Sim")},
	})
	d.must(err)
	b := d.accept(uuid(), "Ofertas", 1, 10, func(b *campaign.Batch) {
		b.TemplateID, b.TapKey = template, []byte("sixteen bytes...")
	})
	d.record(b, campaign.OutcomeDelivered, "", 0, 9, noon)
	const none = "Button tapped 0 0% of those delivered"
	if text := d.admin().Get(pathOf(b)).Text(); !strings.Contains(text, none) {
		t.Errorf("the page does not say %q:\n%s", none, text)
	}
	tap := func(index, suggestion int) campaign.Change {
		return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: noon}
	}
	_, err = d.store.AppendTaps(t.Context(), b, ledger.Taps{}, []campaign.Change{tap(0, 1), tap(0, 2), tap(7, 1)})
	d.must(err)
	reader := d.admin()
	reader.Language = "pt-BR"
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Com toque em botão 2 20% das entregues") {
		t.Errorf("the page in Portuguese does not count two tapped messages:\n%s", text)
	}
	if text := d.admin().Get(pathOf(b) + "/messages").Text(); strings.Count(text, "Tapped “Ver ofertas”") != 2 || !strings.Contains(text, "Tapped “Sim”") {
		t.Errorf("the messages do not show the taps:\n%s", text)
	}
	plain := d.running("Natal")
	if text := d.admin().Get(pathOf(plain)).Text(); strings.Contains(text, "Button tapped") {
		t.Error("a campaign without suggestions counts taps")
	}
}

func TestCampaign_Progress(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running(`<b>Natal</b> & "você"`)
	a := d.admin().Get(pathOf(b))
	for _, want := range []string{
		`<b>Natal</b> & "você"`, "Sending", "Recipients 1,000 100% of the people Sent 900 90% of the people Delivered 800 88.9% of those sent Read 400 50% of those delivered", "54 messages wait to be sent.",
		"40 Failed The number cannot be reached by RCS.", "Not sent 6 6 Had opted out. Show who",
		"10 Expired The message could not be delivered in time.", "7 invalid numbers were left out.", "Sent: 900. Delivered: 800. Read: 400. Not delivered: 50.",
		"lote 1 Accepted 21 Nov 2037, 10:00",
	} {
		if !strings.Contains(a.Text(), want) {
			t.Errorf("the page does not say %q:\n%s", want, a.Text())
		}
	}
	for _, want := range []string{`hx-trigger="every 5s"`, `<noscript><meta http-equiv="refresh"`, webtest.Base + "/api/v1/error-files/" + b.ErrorFile} {
		if !strings.Contains(a.Body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(a.Body, "<b>Natal") {
		t.Error("a name is taken for HTML")
	}
	reader := d.admin()
	reader.Language = "pt-BR"
	if text := reader.Get(pathOf(b) + "?chart=table").Text(); !strings.Contains(text, "21/11/2037 10:04 ") || !strings.Contains(text, "Destinatários 1.000 100% das pessoas Enviadas 900 90% das pessoas") {
		t.Errorf("the page in Portuguese, its chart as a table:\n%s", text)
	}
}

func TestCampaign_OverviewFragment(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	want, err := d.store.Campaign(t.Context(), b.ID)
	d.must(err)
	got, err := d.store.Overview(t.Context(), b.ID)
	d.must(err)
	without := cmp.Options{
		cmpopts.IgnoreFields(campaign.Batch{}, "Payload", "Offsets", "NextCheck"),
	}
	if diff := cmp.Diff(want, got, without); diff != "" {
		t.Errorf("overview (-campaign +overview):\n%s", diff)
	}
	if got.Batches[0].Payload != "" || got.Batches[0].Offsets != nil {
		t.Error("the overview reads the contents' places")
	}
}

func TestCampaign_RefreshesUntilCompleted(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	update := fmt.Sprintf("%s?opened=%d&was=sending", pathOf(b), noon.Unix())
	if a := reader.Get(pathOf(b)); strings.Contains(a.Body, "<html") || !strings.Contains(a.Body, `hx-get="`+html.EscapeString(update)+`"`) ||
		!strings.Contains(a.Body, "<title>Natal – Sending") {
		t.Errorf("the part of the page that changes is:\n%s", a.Body)
	}
	if a := reader.Get(update); strings.Contains(a.Body, `role="status"`) {
		t.Error("an unchanged status is announced")
	}
	d.record(b, campaign.OutcomeRead, "", 0, 999, noon)
	a := reader.Get(update)
	if !strings.Contains(a.Body, `role="status" hx-swap-oob="true">Natal – Completed`) {
		t.Errorf("the new status is not announced:\n%s", a.Body)
	}
	if strings.Contains(a.Body, "hx-get") || !strings.Contains(a.Text(), "Completed") || !strings.Contains(a.Text(), "Read 1,000 100%") {
		t.Errorf("the campaign is completed, and the page says:\n%s", a.Text())
	}
	if strings.Contains(a.Body, "/cancel") {
		t.Error("a completed campaign can be cancelled")
	}
	if got := a.Text(); strings.Contains(got, "Expired") || !strings.Contains(got, "None so far.") {
		t.Errorf("all was delivered after all, and the page says:\n%s", got)
	}
}

func TestList_Filters(t *testing.T) {
	t.Parallel()
	d := newService(t)
	for i, name := range []string{"Promoção de Natal", "Entregas", "natal 2", "Boas-vindas"} {
		b := d.accept(uuid(), name, 1, 3, func(b *campaign.Batch) { b.AcceptedAt = noon.Add(time.Duration(i) * time.Minute) })
		if name == "Entregas" {
			d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
			_, err := d.store.CompleteBatch(t.Context(), b, 0, noon)
			d.must(err)
		}
	}
	for query, want := range map[string][]string{
		"":                          {"Boas-vindas", "natal 2", "Entregas", "Promoção de Natal"},
		"?q=NATAL":                  {"natal 2", "Promoção de Natal"},
		"?q=promocao":               {"Promoção de Natal"},
		"?status=completed":         {"Entregas"},
		"?status=sending&q=entrega": nil,
		"?q=nothing":                nil,
	} {
		if got := namesOf(d.admin().Get(campaigns.Path + query).Body); !cmp.Equal(want, got) {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	stranger := d.SignIn("t-"+rand.Text(), web.RoleAdmin)
	if got := namesOf(stranger.Get(campaigns.Path).Body); got != nil {
		t.Errorf("another tenant sees %q", got)
	}
	if a := d.admin().Get(campaigns.Path + "?after=x"); a.Status != http.StatusNotFound {
		t.Errorf("a cursor of somebody's own gets %d", a.Status)
	}
}

// On a phone, the folded filters say how many are in use. The name stays visible, and is none of them.
func TestList_FoldedFilters(t *testing.T) {
	t.Parallel()
	d := newService(t)
	for query, want := range map[string]string{
		"?q=natal": "Filters", "?status=sending": "Filters: 1 in use", "?status=sending&from=2037-11-01&to=2037-11-30&q=x": "Filters: 3 in use",
	} {
		if got := d.admin().Get(campaigns.Path + query).Body; !strings.Contains(got, "<summary>"+want+"</summary>") {
			t.Errorf("%q does not say %q", query, want)
		}
	}
}

func namesOf(body string) (names []string) {
	for _, part := range strings.Split(body, `<a class="name"`)[1:] {
		name, _, _ := strings.Cut(part[strings.Index(part, ">")+1:], "<")
		names = append(names, name)
	}
	return names
}

func TestList_Pages(t *testing.T) {
	t.Parallel()
	d := newService(t)
	const all = 105
	for i := range all {
		name := fmt.Sprintf("Campanha %03d", i)
		if i%45 == 0 { // the newest of them is in the second chunk of a search, the oldest in the third
			name = fmt.Sprintf("Natal %03d", i)
		}
		d.accept(uuid(), name, 1, 1, func(b *campaign.Batch) { b.AcceptedAt = noon.Add(time.Duration(i) * time.Second) })
	}
	for search, want := range map[string]int{"": all, "?q=campanha": all - 3, "?status=sending": all, "?q=natal": 3} {
		seen := d.listed(t, search)
		if len(seen) != want {
			t.Errorf("%q lists %d campaigns, want %d", search, len(seen), want)
		}
		for name, times := range seen {
			if times != 1 {
				t.Errorf("%q lists %s %d times", search, name, times)
			}
		}
	}
}

// listed returns how often each campaign appears on the pages of a list.
func (d *service) listed(t *testing.T, search string) map[string]int {
	t.Helper()
	const most = 100 // pages
	seen, path, ana := map[string]int{}, campaigns.Path+search, d.admin()
	for pages := 0; path != ""; pages++ {
		if pages == most {
			t.Fatalf("the list of %q does not end", search)
		}
		body := ana.Get(path).Body
		for _, name := range namesOf(body) {
			seen[name]++
		}
		path = nextOf(body)
	}
	return seen
}

// manyCampaigns lists campaigns as the store does, newest first.
type manyCampaigns struct {
	campaigns.Store
	list []campaign.Listed
}

func (m manyCampaigns) ListCampaigns(_ context.Context, _, after string, limit int32) ([]campaign.Listed, error) {
	list := slices.Clone(m.list)
	if after != "" {
		behind := slices.IndexFunc(list, func(c campaign.Listed) bool { return c.Cursor < after })
		if behind < 0 {
			return nil, nil
		}
		list = list[behind:]
	}
	return list[:min(int(limit), len(list))], nil
}

func (manyCampaigns) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for i, id := range ids {
		standings[id] = campaign.Summary{Batches: 1, Completed: i % 2} // completed or sending
	}
	return standings, nil
}

func (manyCampaigns) Results(context.Context, string, []string) (map[string]insight.Results, error) {
	return nil, nil
}

func (manyCampaigns) KeepResults(context.Context, campaign.ID, insight.Results) error { return nil }

func (manyCampaigns) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	return campaign.Campaign{ID: id, BatchCount: 1}, nil
}

// Matches can be further apart than one request reads.
func TestSearch_MatchesAnywhere(t *testing.T) {
	t.Parallel()
	var every, first []int
	for i := range 1300 {
		if every = append(every, i); i < 45 {
			first = append(first, i)
		}
	}
	for name, test := range map[string]struct {
		all  int
		hits []int
	}{
		"no campaigns":                     {0, nil},
		"no match":                         {1300, nil},
		"the last of a chunk":              {51, []int{49}},
		"the first of the second chunk":    {51, []int{50}},
		"around the ends of chunks":        {160, []int{0, 49, 50, 51, 99, 100, 101, 149, 150, 159}},
		"behind what one request looks at": {1300, []int{499, 500, 501, 999, 1000, 1299}},
		"a page and more, then far away":   {1300, append(first, 1298)},
		"all":                              {1300, every},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m manyCampaigns
			want := map[string]int{}
			for i := range test.all {
				name := fmt.Sprintf("Entregas %04d", i)
				if slices.Contains(test.hits, i) {
					name = fmt.Sprintf("Natal %04d", i)
					want[name] = 1
				}
				id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
				m.list = append(m.list, campaign.Listed{
					ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: name, Cursor: fmt.Sprintf("%014d#%s", 2_000_000-i, id),
				})
			}
			now := func() time.Time { return noon }
			d := &service{Dashboard: webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: m, Now: now}, now), tenant: "acme"}
			if diff := cmp.Diff(want, d.listed(t, "?q=natal")); diff != "" {
				t.Errorf("how often each is listed (-want +got):\n%s", diff)
			}
		})
	}
}

// nextOf returns the address of a page's link to the next page.
func nextOf(body string) string {
	before, _, ok := strings.Cut(body, `" rel="next"`)
	if !ok {
		return ""
	}
	return html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
}

// found answers a search. A phone number is in the body of its request.
func found(p webtest.Person, path string) webtest.Answer {
	address, _ := url.Parse(path)
	if fields := address.Query(); fields.Has("phone") {
		return p.Post(address.Path, fields)
	}
	return p.Get(path)
}

// A search without a number has an address, and a number never is in one.
func TestSearch_Address(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	a := d.admin().Post(pathOf(b)+"/messages", url.Values{"uid": {"u3"}, "status": {"read"}})
	if want := pathOf(b) + "/messages?batch=&status=read&uid=u3"; a.Status != http.StatusSeeOther || a.Location != want {
		t.Errorf("answered %d %s, want %s", a.Status, a.Location, want)
	}
	for _, path := range []string{pathOf(b), pathOf(b) + "/messages"} {
		if body := d.admin().Get(path).Body; strings.Count(body, `name="phone"`) != strings.Count(body, `<form class="search" method="post"`) {
			t.Errorf("%s has a search whose address contains a number", path)
		}
	}
}

func TestSearch_NumberAndUID(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	two := d.running("Carnaval")
	d.accept(two.CampaignID, "Carnaval", 2, 10, nil)
	for path, want := range map[string]string{
		pathOf(b) + "/messages?phone=11+98001-0003":                   "+5511980010003 u3 Read",
		pathOf(b) + "/messages?phone=%2B55+11+98001+0905":             "+5511980010905 u905 Failed The number cannot be reached by RCS.",
		pathOf(b) + "/messages?uid=u850":                              "+5511980010850 u850 Sent",
		pathOf(b) + "/messages?uid=u850&status=read":                  "No message matches the search.",
		pathOf(two) + "/messages?uid=u1":                              "+5511980010001 u1 Read",
		pathOf(two) + "/messages?uid=u9&status=pending":               "+5511980020009 u9 Pending",
		pathOf(two) + "/messages?phone=123":                           "No message matches",
		pathOf(two) + "/messages?phone=abc":                           "This phone number is not valid.",
		pathOf(two) + "/messages?phone=%2B":                           "This phone number is not valid.",
		pathOf(two) + "/messages?batch=lote+2&uid=u1":                 "+5511980020001 u1 Pending",
		pathOf(two) + "/messages?batch=%3Cb%3Elote&uid=u1":            "The campaign has no batch of that name.",
		pathOf(two) + "/messages?status=pending&phone=5511980020009":  "+5511980020009 u9 Pending",
		pathOf(two) + "/messages?phone=%3Cscript%3E":                  "This phone number is not valid.",
		pathOf(two) + "/messages?status=delivered&batch=lote+1&uid=x": "No message matches",
	} {
		if got := found(d.admin(), path); !strings.Contains(got.Text(), want) || strings.Contains(got.Body, "<script>") {
			t.Errorf("%s does not say %q:\n%s", path, want, got.Text())
		}
	}
	for several, of := range map[bool]campaign.Batch{false: b, true: two} { // only several batches have names to tell apart
		if body := d.admin().Get(pathOf(of) + "/messages?uid=u1").Body; strings.Contains(body, ">Batch</th>") != several {
			t.Errorf("a campaign with several batches: %t, names them: %t", several, !several)
		}
	}
	seen, path := 0, pathOf(b)+"/messages?status=failed"
	for path != "" {
		body := d.admin().Get(path).Body
		seen += strings.Count(body, ">&#43;5511")
		path = nextOf(body)
	}
	if seen != 46 {
		t.Errorf("%d failed messages are listed, want 46", seen)
	}
}

func TestSearch_LastOfManyBatches(t *testing.T) {
	t.Parallel()
	d := newService(t)
	const last = 27
	first := d.accept(uuid(), "Natal", 1, 1, nil)
	for ordinal := 2; ordinal <= last; ordinal++ {
		d.accept(first.CampaignID, "Natal", ordinal, 1+2*(ordinal/last), nil)
	}
	path := pathOf(first) + "/messages?uid=u2"
	page := d.admin().Get(path)
	if next := nextOf(page.Body); next == "" || !strings.Contains(page.Text(), "Search on in the next ones.") {
		t.Fatalf("the search ends at %q:\n%s", next, page.Text())
	}
	if text := d.admin().Get(nextOf(page.Body)).Text(); !strings.Contains(text, "u2 Pending lote 27") {
		t.Errorf("the last page says:\n%s", text)
	}
}

func TestMessages_ManyPages(t *testing.T) {
	t.Parallel()
	d := newService(t)
	const batches, each = 4, 30
	first := d.accept(uuid(), "Natal", 1, each, nil)
	for ordinal := 2; ordinal <= batches; ordinal++ {
		d.accept(first.CampaignID, "Natal", ordinal, each, nil)
	}
	ana, row := d.admin(), regexp.MustCompile(`55\d{11}`)
	for search, want := range map[string]int{"": batches * each, "?status=pending": batches * each, "?uid=u7": batches, "?batch=lote+2": each, "?phone=5511980020009": 1} {
		seen, pages := map[string]int{}, 0
		for path := pathOf(first) + "/messages" + search; path != ""; pages++ {
			body := found(ana, path).Body
			_, table, _ := strings.Cut(body, "<tbody>")
			for _, phone := range row.FindAllString(table, -1) {
				seen[phone]++
			}
			path = nextOf(body)
		}
		if len(seen) != want || search == "" && pages < 4 {
			t.Errorf("%q finds %d messages on %d pages, want %d", search, len(seen), pages, want)
		}
		for phone, times := range seen {
			if times != 1 {
				t.Errorf("%q finds %s %d times", search, phone, times)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for revoke, action := range map[string]string{"false": "campaign.cancel", "true": "campaign.revoke"} {
		d := newService(t)
		b := d.running("Natal")
		d.accept(b.CampaignID, "Natal", 2, 10, func(b *campaign.Batch) {
			b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
		})
		asked := d.admin().Get(pathOf(b) + "/cancel").Text()
		for _, want := range []string{"which will not be sent: 10.", "which will be stopped: 54.", "not delivered yet: 90.", "for which nothing changes: 856."} {
			if !strings.Contains(asked, want) {
				t.Errorf("the question does not say %q:\n%s", want, asked)
			}
		}
		if a := d.admin().Post(pathOf(b)+"/cancel", url.Values{"revoke": {revoke}}); a.Status != http.StatusSeeOther || a.Location != pathOf(b) {
			t.Fatalf("cancelling gets %d to %q: %s", a.Status, a.Location, a.Text())
		}
		c, err := d.store.Campaign(t.Context(), b.ID)
		d.must(err)
		if c.CancelledAt.IsZero() || c.Revoke != (revoke == "true") || c.Batches[1].State != campaign.BatchCancelled || len(d.queued) != 1 {
			t.Errorf("cancelled at %v, revoke %v, batch %s, %d tasks", c.CancelledAt, c.Revoke, c.Batches[1].State, len(d.queued))
		}
		if diff := cmp.Diff([]string{"admin@example.com " + action + " Natal said campaigns.cancel_found number:900 number:64"}, d.Audited()); diff != "" {
			t.Errorf("audit log (-want +got):\n%s", diff)
		}
	}
}

func TestCancel_Completed(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, nil)
	d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
	for _, a := range []webtest.Answer{d.admin().Get(pathOf(b) + "/cancel"), d.admin().Post(pathOf(b)+"/cancel", url.Values{})} {
		if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "there is nothing left to cancel") {
			t.Errorf("got %d: %s", a.Status, a.Text())
		}
	}
}

// The page of a large campaign is cached for seconds, except after the reader's own change.
func TestCampaign_LargeIsCached(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Carnaval", 1, 10, nil)
	for ordinal := 2; ordinal <= 60; ordinal++ {
		d.accept(b.CampaignID, "Carnaval", ordinal, 1, nil)
	}
	shows := func(when, want string) {
		t.Helper()
		if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Text(), want) {
			t.Errorf("%s the page does not say %q:\n%s", when, want, a.Text())
		}
	}
	shows("at first", "Recipients 69 100% of the people Sent 0")
	d.record(b, campaign.OutcomeSent, "", 0, 9, noon)
	shows("at once", "Recipients 69 100% of the people Sent 0")
	d.later = 10 * time.Second
	shows("after ten seconds", "Recipients 69 100% of the people Sent 10")
	if a := d.admin().Post(pathOf(b)+"/cancel", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("cancelling gets %d: %s", a.Status, a.Text())
	}
	shows("after its cancellation", "Cancelled")
}

func TestShow_Cost(t *testing.T) {
	t.Parallel()
	d, id := newService(t), uuid()
	classes := []content.Class{content.Basic, content.Single, content.Basic, content.Single}
	priced := d.accept(id, "Natal", 1, 4, func(b *campaign.Batch) {
		b.Classes, b.Prices = campaign.NewClasses(slices.Values(classes)), campaign.Prices{Basic: 50_000, Single: 120_000}
	})
	d.record(priced, campaign.OutcomeDelivered, "", 0, 1, noon)
	d.record(priced, campaign.OutcomeRead, "", 2, 2, noon)
	d.record(priced, campaign.OutcomeFailed, "unreachable", 3, 3, noon)
	page := d.admin().Get("/dashboard/campaigns/" + id)
	for _, want := range []string{"Recipients basic: 2, single: 2 Delivered basic: 2, single: 1 Cost of the delivered ones R$ 0.22 Cost per read R$ 0.22"} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.Text())
		}
	}
	unpriced := d.accept(id, "Natal", 2, 2, func(b *campaign.Batch) { b.Classes = campaign.NewClasses(slices.Values(classes[:1])) })
	d.record(unpriced, campaign.OutcomeDelivered, "", 0, 1, noon)
	d.accept(id, "Natal", 3, 5, nil)
	page = d.admin().Get("/dashboard/campaigns/" + id)
	for _, want := range []string{"Delivered without a price, not counted in the cost: 2.", "R$ 0.22"} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("the page lacks %q: %s", want, page.Text())
		}
	}
	if strings.Contains(page.Text(), "Cost per read") {
		t.Errorf("the page shows the cost of a read, though two messages have no price: %s", page.Text())
	}
}

func TestReschedule_Budget(t *testing.T) {
	t.Parallel()
	d, id := newService(t), uuid()
	d.accept(id, "Natal", 1, 1, func(b *campaign.Batch) {
		b.State, b.Due, b.Scheduled = campaign.BatchPending, noon.Add(time.Hour), true
		b.Reserved, b.ReservedOn = 2_000_000, "2037-11-21"
	})
	d.must(d.store.SetBilling(t.Context(), d.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 1_000_000, Single: 2_000_000}, Limits: campaign.Spending{Day: 1_000_000},
	}))
	form := url.Values{"batch": {campaign.BatchID("lote 1")}, "schedule": {"2037-11-22T12:00"}}
	for path, want := range map[string]string{
		"": "Reserved from the budget R$ 2.00 in the budget of 21 Nov 2037", "/reschedule": "The reservation moves to the budget",
		"/reschedule?batch=" + campaign.BatchID("lote 1"): "The reservation moves to the budget",
	} {
		if page := d.admin().Get("/dashboard/campaigns/" + id + path); !strings.Contains(page.Text(), want) {
			t.Errorf("the page %q lacks %q: %s", path, want, page.Text())
		}
	}
	page := d.admin().Post("/dashboard/campaigns/"+id+"/reschedule", form)
	if page.Status != http.StatusConflict || !strings.Contains(page.Text(), "The budget of the new day or month has no room for it.") {
		t.Errorf("%d %s", page.Status, page.Text())
	}
	if audited := d.Audited(); len(audited) > 0 {
		t.Errorf("a refused change is in the audit log: %q", audited)
	}
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 10, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due, b.NotAfter = campaign.BatchPending, true, noon.Add(time.Hour), noon.Add(4*time.Hour)
	})
	path := pathOf(b) + "/reschedule"
	if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Body, path+"?batch="+b.BatchID) {
		t.Errorf("the campaign's page does not lead to %s", path)
	}
	if form := d.admin().Get(path + "?batch=" + b.BatchID); !strings.Contains(form.Body, `value="2037-11-21T13:00"`) {
		t.Errorf("the form does not begin with the batch's time:\n%s", form.Body)
	}
	for schedule, want := range map[string]string{
		"2037-11-21T12:04": "This time is too close or has passed.", "2039-01-01T10:00": "within the next 12 months",
		"2037-11-21T16:00": "must be before", "": "Give a date and a time", "tomorrow": "Give a date and a time",
	} {
		a := d.admin().Post(path, url.Values{"batch": {b.BatchID}, "schedule": {schedule}})
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Text(), want) || !strings.Contains(a.Body, `aria-invalid="true"`) {
			t.Errorf("%q gets %d, want %q: %s", schedule, a.Status, want, a.Text())
		}
	}
	if got := d.Audited(); got != nil {
		t.Errorf("what was refused is in the audit log: %q", got)
	}
	a := d.admin().Post(path, url.Values{"batch": {b.BatchID}, "schedule": {"2037-11-21T14:30"}})
	if a.Status != http.StatusSeeOther || a.Location != pathOf(b) {
		t.Fatalf("rescheduling gets %d to %q: %s", a.Status, a.Location, a.Text())
	}
	now, err := d.store.Batch(t.Context(), b.BatchRef)
	d.must(err)
	want := time.Date(2037, 11, 21, 17, 30, 0, 0, time.UTC)
	if !now.Due.Equal(want) || len(d.handed) != 1 || !d.handed[0].Equal(want) {
		t.Errorf("the batch is due at %v, handed off for %v, want %v", now.Due, d.handed, want)
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.reschedule Natal · lote 1 moved 2037-11-21T16:00:00Z 2037-11-21T17:30:00Z"}, d.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestReschedule_ReleasedBatch(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 10, nil)
	a := d.admin().Post(pathOf(b)+"/reschedule", url.Values{"batch": {b.BatchID}, "schedule": {"2037-11-21T14:30"}})
	if a.Status != http.StatusConflict || !strings.Contains(a.Text(), "has begun") || len(d.handed)+len(d.Audited()) > 0 {
		t.Errorf("got %d, hand-offs %v, audit log %q: %s", a.Status, d.handed, d.Audited(), a.Text())
	}
}

// A message that is delivered after it failed is subtracted from the reasons, never below 0.
func TestReasons_DeliveredAfterFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		codes []string // of the messages that fail
		want  []string
		hide  string
	}{
		"the only reason": {[]string{"unreachable", "unreachable", "unreachable"}, []string{"2 Failed The number cannot be reached"}, "Of these"},
		"the only one":    {[]string{"unreachable"}, []string{"None so far."}, "Failed"},
		"of two reasons": {
			[]string{"unreachable", "unreachable", "opted_out"},
			[]string{"2 Failed The number cannot", "Not sent 1 1 Had opted out", "Of these, delivered later and no longer counted as not delivered: 1."},
			"superseded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			b := d.accept(uuid(), "Natal", 1, 10, nil)
			for i, code := range test.codes {
				d.record(b, campaign.OutcomeFailed, code, i, i, noon.Add(-time.Hour))
			}
			d.record(b, campaign.OutcomeDelivered, "", 0, 0, noon.Add(-time.Minute))
			text := d.admin().Get(pathOf(b)).Text()
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page does not say %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, test.hide) || strings.Contains(text, "-1") {
				t.Errorf("the page says %q or a negative number:\n%s", test.hide, text)
			}
			found := d.admin().Get(pathOf(b) + "/messages?uid=u0").Text()
			if !strings.Contains(found, "u0 Delivered") || strings.Contains(found, "cannot be reached") {
				t.Errorf("the message is shown as:\n%s", found)
			}
		})
	}
}

func TestCampaign_Templates(t *testing.T) {
	t.Parallel()
	d := newService(t)
	var ids []string
	for _, name := range []string{"Boas-vindas", "Ofertas"} {
		template, err := d.store.PutTemplate(t.Context(), campaign.Template{ID: uuid(), Tenant: d.tenant, Name: name, Content: content.Content{Text: "Olá"}})
		d.must(err)
		ids = append(ids, template.ID)
	}
	b := d.accept(uuid(), "Natal", 1, 10, func(b *campaign.Batch) { b.TemplateID = ids[0] })
	a := d.admin().Get(pathOf(b))
	if strings.Count(a.Text(), "Template: Boas-vindas , version 1") != 1 || !strings.Contains(a.Body, `href="/dashboard/templates/`+ids[0]+`"`) {
		t.Errorf("the page of one template:\n%s", a.Text())
	}
	d.accept(b.CampaignID, "Natal", 2, 10, func(b *campaign.Batch) { b.TemplateID, b.TemplateVersion = ids[1], 3 })
	if text := d.admin().Get(pathOf(b)).Text(); !strings.Contains(text, "Template: Boas-vindas , version 1") || !strings.Contains(text, "Template: Ofertas , version 3") {
		t.Errorf("the page of two templates:\n%s", text)
	}
	foreign, err := d.store.PutTemplate(t.Context(), campaign.Template{ID: uuid(), Tenant: "another", Name: "Segredo", Content: content.Content{Text: "Olá"}})
	d.must(err)
	other := d.accept(uuid(), "Carnaval", 1, 10, func(b *campaign.Batch) { b.TemplateID = foreign.ID })
	if text := d.admin().Get(pathOf(other)).Text(); strings.Contains(text, "Segredo") || !strings.Contains(text, foreign.ID) {
		t.Errorf("the page of a template that is not the tenant's:\n%s", text)
	}
}

func TestRevoke_NothingSent(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 10, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	if a := d.admin().Get(pathOf(b) + "/cancel"); strings.Contains(a.Body, "fieldset") || !strings.Contains(a.Text(), "will not be sent: 10.") {
		t.Errorf("the question about a campaign of which nothing was sent:\n%s", a.Text())
	}
	if a := d.admin().Post(pathOf(b)+"/cancel", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("cancelling gets %d: %s", a.Status, a.Text())
	}
	if a := d.admin().Get(pathOf(b)); strings.Contains(a.Body, "/cancel") || !strings.Contains(a.Text(), "Cancelled on") {
		t.Errorf("the page of the cancelled campaign:\n%s", a.Text())
	}
	if a := d.admin().Get(pathOf(b) + "/cancel"); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "no messages to withdraw") {
		t.Errorf("asked again, it says %d: %s", a.Status, a.Text())
	}
}

func TestRevoke_AfterSending(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 10, nil)
	d.record(b, campaign.OutcomeSent, "", 0, 9, noon)
	d.admin().Post(pathOf(b)+"/cancel", url.Values{"revoke": {"false"}})
	if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Text(), "Withdraw the undelivered") {
		t.Errorf("what was sent cannot be taken back:\n%s", a.Text())
	}
}

// An expired message may or may not have reached the provider.
func TestChart_CountsMatchFunnel(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 100, nil)
	d.record(b, campaign.OutcomeSent, "", 0, 59, noon.Add(-time.Hour))
	d.record(b, campaign.OutcomeExpired, "not_after_passed", 60, 99, noon.Add(-30*time.Minute))
	d.record(b, campaign.OutcomeExpired, "ttl_passed", 0, 4, noon.Add(-time.Minute))
	a := d.admin().Get(pathOf(b))
	for _, want := range []string{"Recipients 100 100% of the people Sent 60 60% of the people", "Sent: 60. Delivered: 0. Read: 0. Not delivered: 5."} {
		if !strings.Contains(a.Text(), want) {
			t.Errorf("the page does not say %q:\n%s", want, a.Text())
		}
	}
}

func TestChart_OneMinute(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 53, nil)
	d.record(b, campaign.OutcomeSent, "", 0, 52, noon)
	a := d.admin().Get(pathOf(b))
	if !strings.Contains(a.Text(), "60 40 20 0") {
		t.Errorf("the scale has no round numbers:\n%s", a.Text())
	}
	if !strings.Contains(a.Text(), "21 Nov, 12:00:00 12:00:") {
		t.Errorf("both ends of the chart look the same:\n%s", a.Text())
	}
}

func TestActions_Forbidden(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 10, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	viewer, stranger := d.SignIn(d.tenant, web.RoleViewer), d.SignIn("t-"+rand.Text(), web.RoleAdmin)
	moved := url.Values{"batch": {b.BatchID}, "schedule": {"2037-11-21T14:30"}}
	whole := url.Values{"schedule": {"2037-11-21T14:30"}}
	forged := url.Values{"csrf": {"forged"}, "batch": {b.BatchID}, "schedule": {"2037-11-21T14:30"}}
	for name, got := range map[string]struct{ status, want int }{
		"a viewer reads":                  {viewer.Get(pathOf(b)).Status, 200},
		"a viewer is asked to cancel":     {viewer.Get(pathOf(b) + "/cancel").Status, 403},
		"a viewer cancels":                {viewer.Post(pathOf(b)+"/cancel", url.Values{}).Status, 403},
		"a viewer reschedules":            {viewer.Post(pathOf(b)+"/reschedule", moved).Status, 403},
		"a stranger reads":                {stranger.Get(pathOf(b)).Status, 404},
		"a stranger searches":             {stranger.Get(pathOf(b) + "/messages").Status, 404},
		"a stranger cancels":              {stranger.Post(pathOf(b)+"/cancel", url.Values{}).Status, 404},
		"a stranger reschedules":          {stranger.Post(pathOf(b)+"/reschedule", moved).Status, 404},
		"a forged form cancels":           {d.admin().Post(pathOf(b)+"/cancel", forged).Status, 403},
		"a viewer asks for a new time":    {viewer.Get(pathOf(b) + "/reschedule").Status, 403},
		"a viewer moves the campaign":     {viewer.Post(pathOf(b)+"/reschedule", whole).Status, 403},
		"a stranger asks for a new time":  {stranger.Get(pathOf(b) + "/reschedule").Status, 404},
		"a stranger moves the campaign":   {stranger.Post(pathOf(b)+"/reschedule", whole).Status, 404},
		"a forged form reschedules":       {d.admin().Post(pathOf(b)+"/reschedule", forged).Status, 403},
		"a campaign that is none":         {d.admin().Get(campaigns.Path + "/none").Status, 404},
		"a batch that is none":            {d.admin().Get(pathOf(b) + "/reschedule?batch=none").Status, 404},
		"batches after what is no number": {d.admin().Get(pathOf(b) + "?batches=x").Status, 404},
		"nobody":                          {d.Nobody().Get(pathOf(b)).Status, 303},
	} {
		if got.status != got.want {
			t.Errorf("%s: %d, want %d", name, got.status, got.want)
		}
	}
	if strings.Contains(viewer.Get(pathOf(b)).Body, "/reschedule") || len(d.queued)+len(d.handed)+len(d.Audited()) > 0 {
		t.Errorf("tasks %v, hand-offs %v, audit %v", d.queued, d.handed, d.Audited())
	}
}
