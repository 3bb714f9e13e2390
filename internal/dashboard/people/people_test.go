package people_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
)

var noon = time.Date(2026, 5, 4, 15, 0, 0, 0, time.UTC)

const (
	ana    = "+5511987654321"
	masked = "•••• 4321"
)

// shards keeps the shards of tenants' opt-outs in memory, each in one row.
type shards struct {
	optout.Store

	mu   sync.Mutex
	rows map[string]map[int]campaign.OptOuts
}

func (s *shards) OptOuts(_ context.Context, tenant string) ([]campaign.OptOuts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.rows[tenant])), nil
}

func (s *shards) OptOutShard(_ context.Context, tenant string, shard int) (campaign.OptOuts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.rows[tenant][shard]
	o.Shard = shard
	return o, nil
}

func (s *shards) SwapOptOuts(_ context.Context, tenant string, o campaign.OptOuts, _ ...string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[tenant] == nil {
		s.rows[tenant] = map[int]campaign.OptOuts{}
	}
	if s.rows[tenant][o.Shard].Version != o.Version {
		return false, nil
	}
	o.Version++
	s.rows[tenant][o.Shard] = o
	return true, nil
}

// sent has campaigns of the tenant acme. Each has a message to ana.
type sent struct {
	*doubted

	campaigns int
}

func (s sent) ListCampaigns(_ context.Context, tenant, after string, limit int32) (list []campaign.Listed, err error) {
	if tenant != "acme" {
		return nil, nil
	}
	for i := s.campaigns - 1; i >= 0 && len(list) < int(limit); i-- {
		if cursor := fmt.Sprintf("%04d", i); after == "" || cursor < after {
			list = append(list, campaign.Listed{ID: campaign.ID{Tenant: tenant, CampaignID: "c" + cursor}, Name: "Campanha " + cursor, Cursor: cursor})
		}
	}
	return list, nil
}

func (s sent) Dispatched(_ context.Context, id campaign.ID) (c campaign.Campaign, err error) {
	c.ID, c.Name = id, "Campanha "+strings.TrimPrefix(id.CampaignID, "c")
	return c, nil
}

func (sent) Changes(context.Context, campaign.Batch, int, int) ([]campaign.Change, error) {
	return []campaign.Change{
		{Index: 3, Outcome: campaign.OutcomeSent, At: noon},
		{Index: 4, Outcome: campaign.OutcomeFailed, At: noon.Add(time.Minute)},
		{Index: 3, Outcome: campaign.OutcomeRead, At: noon.Add(2 * time.Minute)},
	}, nil
}

func (sent) RepliesOf(_ context.Context, tenant string, phones []string) ([]reaction.Reply, error) {
	if tenant != "acme" || !slices.Contains(phones, ana) {
		return nil, nil
	}
	return []reaction.Reply{{Phone: ana, At: noon}, {Phone: ana, Text: "Que horas <abre>?", At: noon.Add(-time.Hour)}}, nil
}

func (sent) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return campaign.Template{Name: "Oferta <b>"}, nil
}

func (sent) Find(_ context.Context, c campaign.Campaign, asked search.Query) (search.Page, error) {
	if c.CampaignID == "c0001" {
		return search.Page{}, &httpapi.Problem{Status: http.StatusGone, Code: "contents_expired"}
	}
	if *asked.Phone != ana {
		return search.Page{}, nil
	}
	return search.Page{Messages: []search.Message{{
		Message: campaign.Message{Phone: e164.FromText(ana), UID: "a-1"}, Index: 3, Latest: campaign.Change{Outcome: campaign.OutcomeRead, At: noon},
	}}}, nil
}

// TenantHours has the usual hours of promotions.
func (sent) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}, nil
}

// unsent has a campaign whose message to ana was not sent yet.
type unsent struct {
	sent

	campaign campaign.Campaign
	batch    campaign.Batch
}

func (u unsent) Dispatched(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	c := u.campaign
	c.ID, c.Name = id, "Campanha"
	return c, nil
}

func (u unsent) Find(context.Context, campaign.Campaign, search.Query) (search.Page, error) {
	return search.Page{Messages: []search.Message{{Message: campaign.Message{Phone: e164.FromText(ana), UID: "a-1"}, Batch: u.batch}}}, nil
}

func (unsent) Changes(context.Context, campaign.Batch, int, int) ([]campaign.Change, error) {
	return nil, nil
}

// The page of a person says what a message waits for that was not sent yet.
func TestFind_Waits(t *testing.T) {
	t.Parallel()
	sunday := window.Week{time.Sunday: {From: 9 * 60, Until: 21 * 60}}
	for name, test := range map[string]struct {
		campaign campaign.Campaign
		batch    campaign.Batch
		says     string
		optedOut bool
	}{
		"on its way":    {batch: campaign.Batch{State: campaign.BatchSending}, says: "Pending"},
		"scheduled":     {batch: campaign.Batch{State: campaign.BatchPending, Due: noon.Add(3 * time.Hour)}, says: "Pending: it goes out on 4 May 2026, 15:00 (Brasília time)"},
		"outside hours": {batch: campaign.Batch{State: campaign.BatchPending, Due: noon.Add(10 * time.Hour)}, says: "Pending: it goes out on 5 May 2026, 09:00 (Brasília time)"},
		"too late": {
			batch: campaign.Batch{State: campaign.BatchPending, Due: noon.Add(10 * time.Hour), NotAfter: noon.Add(12 * time.Hour)},
			says:  "Pending: no sending hours are left for it",
		},
		"no hours": {batch: campaign.Batch{State: campaign.BatchSending, SendWindow: &sunday}, says: "Pending: no sending hours are left for it"},
		"paused":   {campaign.Campaign{PausedAt: noon}, campaign.Batch{State: campaign.BatchSending}, "Pending: the campaign is paused", false},
		"paused by an operator": {
			batch: campaign.Batch{State: campaign.BatchSending, Waits: campaign.Waits{Paused: true}}, says: "Pending: sending is or was paused",
		},
		"opted out": {campaign.Campaign{PausedAt: noon}, campaign.Batch{State: campaign.BatchSending}, "Pending: it will not be sent to this number", true},
		"cancelled": {campaign.Campaign{PausedAt: noon, CancelledAt: noon}, campaign.Batch{State: campaign.BatchPending, Due: noon.Add(time.Hour)}, "Pending", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &doubted{}
			b := newBenchOf(t, d, unsent{sent{d, 1}, test.campaign, test.batch})
			if err := b.lists.Record(t.Context(), "acme", []campaign.OptChange{{Phone: ana, Out: test.optedOut, At: noon}}); err != nil {
				t.Fatal(err)
			}
			text := b.SignIn("acme", web.RoleViewer).Post(people.Path+"/find", url.Values{"phone": {ana}}).Text()
			if _, history, _ := strings.Cut(text, "a-1 "); !strings.HasPrefix(history, "Oferta <b> Pending "+test.says+" ") {
				t.Errorf("the message is %q, want %q", history, test.says)
			}
		})
	}
}

func (sent) Lists(_ context.Context, tenant string) ([]lists.List, error) {
	if tenant != "acme" {
		return nil, nil
	}
	return []lists.List{{
		Name: "procon", Number: 1, Segments: []lists.Segment{{ID: "s", Numbers: 1}},
		Settings: lists.Settings{Reason: "Lei 17.334", Traffic: []campaign.Traffic{campaign.Promotion, campaign.Transaction}},
	}}, nil
}

type segments struct{}

func (segments) Get(context.Context, string) ([]byte, error) {
	return numberset.New([]uint64{5511987650001}).Pack(), nil
}

// The page of a person on a list says which messages the person does not get, and why.
func TestPeople_OnList(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	page := b.SignIn("acme", web.RoleViewer).Post("/dashboard/people/find", url.Values{"phone": {"11 98765-0001"}})
	for _, want := range []string{"procon", "Lei 17.334", "It does not get: promotions, transaction messages."} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page.Text(), "gets messages.") {
		t.Error("the page says that the number gets messages")
	}
}

type bench struct {
	*webtest.Dashboard
	lists  *optout.Book
	doubts *doubted
	kept   *kept
}

// kept has the files of imports in memory.
type kept struct {
	port.Uploads

	mu      sync.Mutex
	objects map[string][]byte
}

func (k *kept) Get(_ context.Context, key string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if body, ok := k.objects[key]; ok {
		return body, nil
	}
	return nil, campaign.ErrNotFound
}

func (k *kept) stat(ctx context.Context, key string) (tag string, size int64, err error) {
	body, err := k.Get(ctx, key)
	return "tag", int64(len(body)), err
}

func (k *kept) Put(_ context.Context, key string, body []byte, _ string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.objects[key] = body
	return nil
}

func (k *kept) Delete(_ context.Context, key string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.objects, key)
	return nil
}

func newBench(t *testing.T, campaigns int) bench {
	t.Helper()
	d := &doubted{}
	return newBenchOf(t, d, sent{d, campaigns})
}

func newBenchOf(t *testing.T, d *doubted, store people.Store) bench {
	t.Helper()
	var calls atomic.Int32
	l := &optout.Book{Store: &shards{rows: map[string]map[int]campaign.OptOuts{}}, Now: func() time.Time { return noon }}
	k := &kept{objects: map[string][]byte{}}
	return bench{webtest.Serve(t, webtest.UI(t, func() time.Time { return noon }), people.Area(), &people.Pages{
		Store: store, OptOuts: l, Shards: optout.Shards, Files: &listfile.Store{Blobs: k, Stat: k.stat},
		Reach: reach.Lookup{OptOuts: l, Lists: &lookup.Cache{Store: sent{}, Blobs: segments{}, Now: func() time.Time { return noon }}},
		Now:   func() time.Time { return noon.Add(time.Duration(calls.Add(1)) * time.Second) }, // a later change wins
	}, sending.Area()), l, d, k}
}

// optedOut reports whether ana opted out of acme's messages.
func (b bench) optedOut() bool {
	out, _, _ := b.lists.Since(context.Background(), "acme", ana)
	return out
}

// Every spelling of a number that the API accepts finds its messages, with their history.
func TestFind_Spellings(t *testing.T) {
	t.Parallel()
	for _, phone := range []string{"+5511987654321", "5511987654321", "11987654321", "(11) 98765-4321", "+55 11 98765-4321"} {
		b := newBench(t, 1)
		got := b.SignIn("acme", web.RoleViewer).Post(people.Path+"/find", url.Values{"phone": {phone}})
		for _, want := range []string{"&#43;5511987654321", `href="/dashboard/campaigns/c0000"`, "Campanha 0000", "Oferta &lt;b&gt;", "4 May 2026, 12:00", "12:02"} {
			if got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
				t.Errorf("%s: status %d, lacks %q:\n%s", phone, got.Status, want, got.Body)
			}
		}
		if strings.Contains(got.Text(), "Failed") {
			t.Errorf("%s: the history shows a change of another message", phone)
		}
		if log := strings.Join(b.Audited(), "\n"); !strings.Contains(log, masked) || strings.Contains(log, "98765") {
			t.Errorf("%s: the audit log is %q", phone, log)
		}
	}
}

// The history of a number has what it wrote to the tenant, and not to another one.
func TestFind_Replies(t *testing.T) {
	t.Parallel()
	b, form := newBench(t, 1), url.Values{"phone": {ana}}
	got := b.SignIn("acme", web.RoleViewer).Post(people.Path+"/find", form)
	for _, want := range []string{"Que horas &lt;abre&gt;?", "Image, file or location", "4 May 2026, 11:00"} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the history lacks %q:\n%s", want, got.Text())
		}
	}
	form.Set("cursor", "0001")
	if later := b.SignIn("acme", web.RoleViewer).Post(people.Path+"/find", form); strings.Contains(later.Body, "Que horas") {
		t.Error("the page of older campaigns repeats the replies")
	}
	form.Del("cursor")
	if other := b.SignIn("other", web.RoleViewer).Post(people.Path+"/find", form); strings.Contains(other.Body, "Que horas") {
		t.Error("another tenant reads the replies")
	}
}

// The pages of a search show each message once. The messages of one campaign have expired.
func TestFind_Pages(t *testing.T) {
	t.Parallel()
	b := newBench(t, 45)
	viewer, seen := b.SignIn("acme", web.RoleViewer), map[string]bool{}
	form := url.Values{"phone": {ana}}
	for pages := 0; ; pages++ {
		got := viewer.Post(people.Path+"/find", form)
		if got.Status != http.StatusOK || pages > 5 || len(got.Body) > web.HTMLLimit {
			t.Fatalf("page %d answers %d with %d bytes", pages, got.Status, len(got.Body))
		}
		for _, part := range strings.Split(got.Body, `href="/dashboard/campaigns/c`)[1:] {
			if seen[part[:4]] {
				t.Errorf("campaign %s is shown twice", part[:4])
			}
			seen[part[:4]] = true
		}
		_, after, more := strings.Cut(got.Body, `name="cursor" value="`)
		if !more {
			break
		}
		form.Set("cursor", after[:4])
	}
	if len(seen) != 44 {
		t.Errorf("saw %d campaigns, want 44", len(seen))
	}
}

// A search that begins at a later page is in the audit log, too.
func TestFind_ForgedCursor(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	viewer := b.SignIn("acme", web.RoleViewer)
	got := viewer.Post(people.Path+"/find", url.Values{"phone": {ana}, "cursor": {"9999"}})
	if log := b.Audited(); !strings.Contains(got.Body, "Campanha 0000") || len(log) != 1 || !strings.Contains(log[0], masked) {
		t.Errorf("the audit log is %q", log)
	}
	got = viewer.Post(people.Path+"/find", url.Values{"phone": {ana}, "cursor": {strings.Repeat("9", 2000)}})
	if got.Status != http.StatusNotFound {
		t.Errorf("a long cursor answers %d, want 404", got.Status)
	}
}

// Another tenant's search finds nothing, and its admin cannot remove the number.
func TestOtherTenant(t *testing.T) {
	t.Parallel()
	b := newBench(t, 3)
	if err := b.lists.Record(t.Context(), "acme", []campaign.OptChange{{Phone: ana, Out: true, At: noon, Origin: campaign.OriginHand}}); err != nil {
		t.Fatal(err)
	}
	other := b.SignIn("other", web.RoleAdmin)
	if got := other.Post(people.Path+"/find", url.Values{"phone": {ana}}); strings.Contains(got.Body, "Campanha") || !strings.Contains(got.Body, "No message") {
		t.Errorf("another tenant sees:\n%s", got.Body)
	}
	other.Post(people.Path+"/opt-outs/remove", url.Values{"phone": {ana}, "asked": {"yes"}})
	if got := other.Get(people.Path); strings.Contains(got.Text(), ana) || !b.optedOut() {
		t.Error("another tenant sees or changes an opt-out")
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	got := admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {"11 98765-4321"}})
	if page := admin.Follow(got); !b.optedOut() || !strings.Contains(page.Body, "will get no more messages") {
		t.Errorf("the number is not added:\n%s", page.Body)
	}
	if log := b.Audited(); len(log) != 1 || !strings.Contains(log[0], masked) {
		t.Errorf("the audit log is %q", log)
	}
	got = admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	if page := admin.Follow(got); !strings.Contains(page.Body, "on the list already") || len(b.Audited()) != 1 {
		t.Errorf("the second time it says:\n%s", page.Text())
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	for path, test := range map[string]struct{ phone, says string }{
		"/find": {"Ana <b>", "Invalid number."}, "/opt-outs/add": {"12 <b>", "other signs"},
	} {
		got := b.SignIn("acme", web.RoleAdmin).Post(people.Path+path, url.Values{"phone": {test.phone}})
		shown := `value="` + strings.ReplaceAll(strings.ReplaceAll(test.phone, "<", "&lt;"), ">", "&gt;") + `"`
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, shown) ||
			!strings.Contains(got.Body, `aria-invalid="true"`) || !strings.Contains(got.Text(), test.says) {
			t.Errorf("%s answers %d:\n%s", path, got.Status, got.Body)
		}
	}
	for _, path := range []string{"/opt-outs/add", "/opt-outs/import", "/opt-outs/export", "/opt-outs/removal", "/opt-outs/remove"} {
		got := b.SignIn("acme", web.RoleViewer).Post(people.Path+path, url.Values{"phone": {ana}, "asked": {"yes"}})
		if got.Status != http.StatusForbidden {
			t.Errorf("a viewer gets %d of %s", got.Status, path)
		}
	}
	if len(b.Audited()) != 0 {
		t.Errorf("the audit log is %q", b.Audited())
	}
}

// An opt-out is removed only if the admin confirms that the person asked for it.
func TestRemove(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin, form := b.SignIn("acme", web.RoleAdmin), url.Values{"phone": {ana}}
	admin.Post(people.Path+"/opt-outs/add", form)
	if got := admin.Post(people.Path+"/opt-outs/removal", form); got.Status != http.StatusOK || !strings.Contains(got.Body, `name="asked"`) {
		t.Errorf("the confirmation answers %d:\n%s", got.Status, got.Body)
	}
	if got := admin.Post(people.Path+"/opt-outs/remove", form); got.Status != http.StatusUnprocessableEntity || !b.optedOut() {
		t.Errorf("without the confirmation it answers %d", got.Status)
	}
	form.Set("asked", "yes")
	for range 2 {
		if page := admin.Follow(admin.Post(people.Path+"/opt-outs/remove", form)); b.optedOut() || !strings.Contains(page.Body, "can get messages again") {
			t.Errorf("the number is not removed:\n%s", page.Text())
		}
	}
	if log := b.Audited(); len(log) != 2 {
		t.Errorf("the audit log is %q, want an addition and a removal", log)
	}
}

func TestRemove_FailedAudit(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	b.RefuseAudit(errors.New("no table"))
	got := admin.Post(people.Path+"/opt-outs/remove", url.Values{"phone": {ana}, "asked": {"yes"}})
	if got.Status != http.StatusInternalServerError || !b.optedOut() {
		t.Errorf("without an audit log it answers %d", got.Status)
	}
}

// upload sends a file, and imports it if its review offers that.
func upload(t *testing.T, who webtest.Person, content string) webtest.Answer {
	t.Helper()
	sent := sendFile(t, who, content)
	if sent.Status != http.StatusSeeOther {
		return sent
	}
	review := who.Get(sent.Location)
	if review.Value("once") == "" {
		return review
	}
	return who.Post(sent.Location, importForm(review))
}

func importForm(review webtest.Answer) url.Values {
	return url.Values{"once": {review.Value("once")}, "column": {review.Value("column")}}
}

// sendFile sends a file.
func sendFile(t *testing.T, who webtest.Person, content string) webtest.Answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("csrf", who.Session.CSRF)
	file, err := form.CreateFormFile("file", "lista.csv")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.Write([]byte(content))
	_ = form.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webtest.Base+people.Path+"/opt-outs/import", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Origin", webtest.Base)
	return who.Do(r)
}

func TestImport_Files(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, want string
		numbers    int
	}{
		"one column":          {"11987654321\n21987654321\n", "2 numbers", 2},
		"refused first":       {"1187654321\n11987654321\n", "Lines left out: 1", 1},
		"header":              {"telefone\n(11) 98765-4321\n", "1 number of", 1},
		"excel":               {"\ufeffNome;Telefone\r\nAna;11987654321\r\nBia;x\r\n", "Lines left out: 1", 1},
		"windows-1252":        {"n\xfamero;nome\n11987654321;Jo\xe3o\n", "1 number of", 1},
		"repeated":            {"11987654321\n+5511987654321\n", "1 number of", 1},
		"formulas":            {"=1+1\n@SUM(A1)\n11987654321\n", "Lines left out: 1", 1}, // the first line names the column,
		"no column":           {"a;b\n11987654321;x\n", "Which column has the phone numbers", 0},
		"no number":           {"telefone\nx\n", "no valid number", 0},
		"empty":               {"", "that is not empty", 0},
		"workbook":            {"PK\x03\x04\x00", "The workbook is damaged", 0},
		"quote without a end": {"telefone\n\"11987654321\n", "A quote is open or out of place", 0},
		"more columns":        {"telefone;nome\n11987654321;x;y\n", "columns", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 0)
			admin := b.SignIn("acme", web.RoleAdmin)
			got := upload(t, admin, test.file)
			if got.Status == http.StatusSeeOther {
				got = admin.Follow(got)
			}
			if n, _, _ := b.lists.Count(t.Context(), "acme"); n != test.numbers || !strings.Contains(got.Text(), test.want) {
				t.Errorf("%d numbers, want %d and %q:\n%s", n, test.numbers, test.want, got.Text())
			}
		})
	}
}

// A file of 10,000 lines with rubbish is imported without the rubbish.
func TestImport_Rubbish(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	var file strings.Builder
	file.WriteString("telefone;nota\n")
	for i := range 10_000 {
		if i%10 == 0 {
			fmt.Fprintf(&file, "<script>%d;=cmd|' /C calc'!A0\n", i)
		} else {
			fmt.Fprintf(&file, "119%08d;ok\n", 10_000_000+i)
		}
	}
	page := admin.Follow(upload(t, admin, file.String()))
	if n, _, _ := b.lists.Count(t.Context(), "acme"); n != 9_000 || !strings.Contains(page.Text(), "Lines left out: 1,000") {
		t.Errorf("%d numbers:\n%s", n, page.Text())
	}
	if len(page.Body) > web.HTMLLimit {
		t.Errorf("the page has %d bytes", len(page.Body))
	}
}

// The list and the history of a number say where its opt-out comes from.
// A form and a file take the numbers that a dispatch takes, and record the same E.164.
func TestForms(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	hand, file := b.SignIn("acme", web.RoleAdmin), b.SignIn("other", web.RoleAdmin)
	for _, f := range phonetest.Forms() {
		got := hand.Post(people.Path+"/opt-outs/add", url.Values{"phone": {f.Text}})
		if accepted := got.Status == http.StatusSeeOther; accepted != phonetest.Accepted(f.Typed) {
			t.Errorf("%q answers %d, want %s", f.Text, got.Status, f.Typed)
		}
	}
	if got := upload(t, file, phonetest.File()); got.Status != http.StatusSeeOther {
		t.Errorf("the file: answered %d: %s", got.Status, got.Text())
	}
	want := phonetest.Numbers(func(f phonetest.Form) string { return f.Typed })
	for _, tenant := range []string{"acme", "other"} {
		listed, _, err := b.lists.List(t.Context(), tenant, "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, o := range listed {
			got = append(got, o.Phone)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("opted out of %s (-want +got):\n%s", tenant, diff)
		}
	}
	for _, f := range phonetest.Forms() {
		if !phonetest.Accepted(f.Typed) {
			continue
		}
		if got := hand.Post(people.Path+"/find", url.Values{"phone": {f.Text}}).Text(); !strings.Contains(got, f.Typed+" ") || !strings.Contains(got, "Added here by an admin") {
			t.Errorf("the search for %q says %s", f.Text, got)
		}
	}
}

// A number that dispatch refuses can be searched for.
func TestFind_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1)
	for phone, shown := range map[string]string{
		"98765-4321": "+987654321", "1187654321": "+551187654321", "12": "+12", "12345678901234567890": "12345678901234567890",
	} {
		got := b.SignIn("acme", web.RoleViewer).Post(people.Path+"/find", url.Values{"phone": {phone}})
		if got.Status != http.StatusOK || !strings.Contains(got.Text(), shown) {
			t.Errorf("%s answers %d: %s", phone, got.Status, got.Text())
		}
	}
}

// The provider reports opt-outs of numbers that the library does not know. They can be removed, too.
func TestRemove_Unchecked(t *testing.T) {
	t.Parallel()
	const unknown = "+4407911840966"
	b := newBench(t, 0)
	if err := b.lists.Record(t.Context(), "acme", []campaign.OptChange{{Phone: unknown, Out: true, At: noon, Origin: campaign.OriginMessage}}); err != nil {
		t.Fatal(err)
	}
	admin := b.SignIn("acme", web.RoleAdmin)
	if got := admin.Post(people.Path+"/opt-outs/removal", url.Values{"phone": {unknown}}); got.Status != http.StatusOK {
		t.Errorf("the question answers %d", got.Status)
	}
	admin.Post(people.Path+"/opt-outs/remove", url.Values{"phone": {unknown}, "asked": {"yes"}})
	if out, _, err := b.lists.Since(t.Context(), "acme", unknown); out || err != nil {
		t.Errorf("the number is opted out: %v, %v", out, err)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	upload(t, admin, "11987650000\n")
	asked := campaign.OptChange{Phone: "+5511987650001", Out: true, At: noon, Origin: campaign.OriginMessage}
	if err := b.lists.Record(t.Context(), "acme", []campaign.OptChange{asked}); err != nil {
		t.Fatal(err)
	}
	list := admin.Get(people.Path).Text()
	for phone, want := range map[string]string{
		ana: "Added here by an admin", "+5511987650000": "Imported file", "+5511987650001": "Asked by the person on the phone",
	} {
		_, row, _ := strings.Cut(list, phone+" ")
		row, _, _ = strings.Cut(row, "See messages")
		if !strings.Contains(row, want) {
			t.Errorf("the list says of %s: %q, want %q", phone, row, want)
		}
		history := admin.Post(people.Path+"/find", url.Values{"phone": {phone}}).Text()
		if !strings.Contains(history, "Origin: "+want) {
			t.Errorf("the history of %s does not say %q:\n%s", phone, want, history)
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	got := admin.Post(people.Path+"/opt-outs/export", nil)
	want := "\ufeff\"Phone\";\"Since\";\"Origin\"\r\n\"" + ana + "\";\"4 May 2026, 12:00\";\"Added here by an admin\"\r\n"
	if got.Status != http.StatusOK || got.Body != want || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the export answers %d %q, want %q", got.Status, got.Body, want)
	}
	if log := b.Audited(); len(log) != 2 {
		t.Errorf("the audit log is %q", log)
	}
	for _, file := range []string{"0", "17", "x"} {
		if got := admin.Post(people.Path+"/opt-outs/export", url.Values{"file": {file}}); got.Status != http.StatusNotFound {
			t.Errorf("file %s answers %d", file, got.Status)
		}
	}
}

// A long list is shown and exported in parts.
func TestLongList(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	changes := make([]campaign.OptChange, 150_001)
	for i := range changes {
		changes[i] = campaign.OptChange{Phone: fmt.Sprint("+", 5511900000000+i), Out: true, At: noon, Origin: campaign.OriginFile}
	}
	if err := b.lists.Record(t.Context(), "acme", changes); err != nil {
		t.Fatal(err)
	}
	admin := b.SignIn("acme", web.RoleAdmin)
	page := webtest.Light(t, admin, people.Path)
	if !strings.Contains(page.Body, "150.001") || !strings.Contains(page.Body, "Arquivo 16 de 16") {
		t.Errorf("the page lacks the count or the files:\n%s", page.Text())
	}
	_, cursor, _ := strings.Cut(page.Body, `name="cursor" value="`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	next := admin.Post(people.Path, url.Values{"cursor": {strings.ReplaceAll(cursor, "&#43;", "+")}})
	if !strings.Contains(next.Body, "+5511900000800") && !strings.Contains(next.Body, "&#43;5511900000800") {
		t.Errorf("the next page is:\n%s", next.Text())
	}
}
