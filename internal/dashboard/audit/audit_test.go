package audit_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/dashboard/audit"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// bench is the audit log's page on the stack's tables.
type bench struct {
	*webtest.Dashboard
	store  *dynamotest.Store
	tenant string
}

func newBench(t *testing.T) bench {
	t.Helper()
	env := stackenv.Load(t)
	store := dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock})
	return bench{webtest.New(t, audit.Area(), &audit.Pages{Log: store}, clock), store, strings.ToLower(rand.Text())}
}

func (b bench) write(t *testing.T, e account.AuditEntry) {
	t.Helper()
	if err := b.store.Audit(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func TestPage_NewestFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 120 {
		b.write(t, account.AuditEntry{
			Tenant: b.tenant, At: noon.Add(time.Duration(i) * time.Minute), Who: "ana@acme.example", Action: "note.write",
			Subject: fmt.Sprintf("note-%03d.", i),
		})
	}
	ana := b.SignIn(b.tenant, web.RoleAdmin)
	var seen []string
	path := audit.Path
	for pages := 1; path != ""; pages++ {
		got := ana.Get(path)
		if got.Status != http.StatusOK || pages > 3 {
			t.Fatalf("page %d answers %d", pages, got.Status)
		}
		for _, cell := range strings.Split(got.Body, `>note-`)[1:] {
			seen = append(seen, cell[:3])
		}
		path = link(got.Body)
	}
	if len(seen) != 120 {
		t.Fatalf("saw %d entries, want 120", len(seen))
	}
	for i, number := range seen {
		if want := fmt.Sprintf("%03d", 119-i); number != want {
			t.Fatalf("entry %d is %s, want %s", i, number, want)
		}
	}
}

// link returns the address of the link to older entries, or "".
func link(page string) string {
	before, _, ok := strings.Cut(page, `" rel="next"`)
	if !ok {
		return ""
	}
	return html.UnescapeString(before[strings.LastIndex(before, `"`)+1:])
}

func TestRecord_SameInstant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 5 {
		b.write(t, account.AuditEntry{Tenant: b.tenant, At: noon, Who: "ana@acme.example", Action: "note.write", Subject: fmt.Sprint("n", i)})
	}
	got := b.SignIn(b.tenant, web.RoleAdmin).Get(audit.Path)
	for i := range 5 {
		if !strings.Contains(got.Body, fmt.Sprint(">n", i, "<")) {
			t.Errorf("entry %d is lost", i)
		}
	}
}

func TestPage_Roles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(t, account.AuditEntry{Tenant: b.tenant, At: noon, Who: "ana@acme.example", Action: "note.write", Subject: "<b>Black</b> Friday"})
	got := b.SignIn(b.tenant, web.RoleAdmin).Get(audit.Path)
	if !strings.Contains(got.Body, "&lt;b&gt;Black&lt;/b&gt; Friday") || !strings.Contains(got.Body, "4 May 2026, 09:00") {
		t.Errorf("the entry is not shown as it is:\n%s", got.Body)
	}
	if got := b.SignIn(b.tenant, web.RoleViewer).Get(audit.Path); got.Status != http.StatusForbidden {
		t.Errorf("a viewer got %d", got.Status)
	}
	if got := b.SignIn(b.tenant+"x", web.RoleAdmin).Get(audit.Path); strings.Contains(got.Body, "Black") || !strings.Contains(got.Body, "Nobody has changed anything yet") {
		t.Errorf("another tenant's admin got:\n%s", got.Body)
	}
	if got := b.SignIn(b.tenant, web.RoleAdmin).Get(audit.Path + "?older=x"); got.Status != http.StatusNotFound {
		t.Errorf("an odd place answers %d", got.Status)
	}
}

// The details of an entry are in the reader's language.
func TestPage_Details(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, e := range []account.AuditEntry{
		{Action: "endpoint.rotate", Subject: "crm.example.com (e)", Details: []string{"audit.kept_24h"}},
		{Action: "session.sign_in", Details: []string{"audit.kept_1h", "audit.kept_7d"}},
		{Action: "note.write", Subject: "no details"},
		{Action: "billing.change", Details: []string{
			web.Said("audit.billing.basic", web.AuditMoney(75_500, "audit.billing.none"), web.AuditMoney(80_000, "audit.billing.none")),
			web.Said("audit.billing.day", web.AuditMoney(0, "audit.billing.none"), web.AuditMoney(1_500_000_000, "audit.billing.none")),
		}},
	} {
		e.Tenant, e.At, e.Who = b.tenant, noon.Add(-time.Duration(i)*time.Minute), "ana@acme.example"
		b.write(t, e)
	}
	reader := b.SignIn(b.tenant, web.RoleAdmin)
	for language, want := range map[string][]string{
		"en":    {">crm.example.com (e): previous secret for 24 more hours<", ">previous secret for 1 more hour, previous secret for 7 more days<", ">no details<", ">price of a basic message: R$\u00a00.0755 → R$\u00a00.08; limit for a day: none → R$\u00a01,500.00<"},
		"pt-BR": {">crm.example.com (e): segredo anterior por mais 24 horas<", ">segredo anterior por mais 1 hora, segredo anterior por mais 7 dias<", ">no details<", ">preço da mensagem básica: R$\u00a00,0755 → R$\u00a00,08; limite por dia: nenhum → R$\u00a01.500,00<"},
	} {
		reader.Language = language
		body := reader.Get(audit.Path).Body
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: the log lacks %q:\n%s", language, w, body)
			}
		}
	}
}

// Every overlap period of a rotated secret has a text.
func TestDetails_EveryPeriod(t *testing.T) {
	t.Parallel()
	texts, err := fs.ReadFile(audit.Area().Files, "texts.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, keep := range append(slices.Collect(maps.Keys(web.Overlaps)), web.None) {
		if !strings.Contains(string(texts), `"audit.kept_`+keep+`"`) {
			t.Errorf("the audit log has no text for %s", keep)
		}
	}
}

func TestPage_Size(t *testing.T) {
	t.Parallel()
	var details []string
	for range 7 {
		details = append(details, "Mensagem com falha de envio") // as long as any kind's text
	}
	entries := make([]account.AuditEntry, 50)
	for i := range entries {
		entries[i] = account.AuditEntry{
			At: noon, Who: "ana@acme.example", Action: "endpoint.kinds", Subject: "webhooks.crm.example.com (0123456789abcdef0123456789)", Details: details,
		}
	}
	webtest.Light(t, webtest.New(t, audit.Area(), &audit.Pages{Log: fixed(entries)}, clock).SignIn("acme", web.RoleAdmin), audit.Path)
}

// BenchmarkPage reports the CPU time of the largest page.
func BenchmarkPage(b *testing.B) {
	entries := make([]account.AuditEntry, 50)
	for i := range entries {
		entries[i] = account.AuditEntry{At: noon, Who: "ana@acme.example", Action: "credential.create", Subject: "rcs_0123456789"}
	}
	ana := webtest.New(b, audit.Area(), &audit.Pages{Log: fixed(entries)}, clock).SignIn("acme", web.RoleAdmin)
	for b.Loop() {
		ana.Get(audit.Path)
	}
}

// fixed is a log with fixed entries.
type fixed []account.AuditEntry

func (f fixed) AuditLog(context.Context, string, string, int) ([]account.AuditEntry, string, error) {
	return f, "1", nil
}

// A search finds entries by person, subject area and day, over all pages and in the file.
func TestSearch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 260 {
		e := account.AuditEntry{
			Tenant: b.tenant, At: noon.Add(time.Duration(i) * time.Hour), Who: "Ana@acme.example", Action: "campaign.cancel", Subject: fmt.Sprintf("=note-%03d.", i),
		}
		if i%4 == 0 {
			e.Who, e.Action, e.Link = "bia@acme.example", "campaign.dispatch", "/dashboard/campaigns/1"
		}
		b.write(t, e)
	}
	ana := b.SignIn(b.tenant, web.RoleAdmin)
	count := func(query string) (n int) {
		for path := audit.Path + "?" + query; path != ""; {
			got := ana.Get(path)
			if got.Status != http.StatusOK {
				t.Fatalf("%s answers %d", path, got.Status)
			}
			n += strings.Count(got.Body, "=note-")
			path = link(got.Body)
		}
		return n
	}
	for query, want := range map[string]int{
		"who=bia": 65, "who=ANA": 195, "area=campaign": 260, "area=session": 0, "from=2026-05-05&to=2026-05-05": 24, "to=2026-05-04": 15,
		"who=bia&from=2026-05-05&to=2026-05-05": 6,
	} {
		if got := count(query); got != want {
			t.Errorf("%s: %d entries, want %d", query, got, want)
		}
	}
	if got := ana.Get(audit.Path + "?who=bia"); !strings.Contains(got.Body, `<a href="/dashboard/campaigns/1">=note-`) {
		t.Error("an entry does not link to its campaign")
	}
	for _, query := range []string{"area=x", "from=yesterday", "to=2026-02-30"} {
		if got := ana.Get(audit.Path + "?" + query); got.Status != http.StatusNotFound {
			t.Errorf("%s answers %d", query, got.Status)
		}
	}
	file := ana.Get(audit.Path + "/export?who=bia&to=2026-05-05").Body
	if lines := strings.Split(strings.TrimSpace(file), "\r\n"); len(lines) != 1+10 || !strings.Contains(lines[1], `"bia@acme.example";`) || !strings.Contains(lines[1], `"'=note-036."`) {
		t.Errorf("the file has %d lines:\n%.300s", len(lines), file)
	}
}

// The filter offers the subject area of every action.
func TestSearch_EveryArea(t *testing.T) {
	t.Parallel()
	page := webtest.New(t, audit.Area(), &audit.Pages{Log: fixed{}}, clock).SignIn("acme", web.RoleAdmin).Get(audit.Path + "?who=a").Body
	files, err := filepath.Glob("../*/texts.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files of texts: %v", len(files), err)
	}
	action := regexp.MustCompile(`"audit\.([a-z]+)\.[a-z_]+"`)
	for _, name := range files {
		texts, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range action.FindAllStringSubmatch(string(texts), -1) {
			if area := key[1]; area != "area" && !strings.Contains(page, `<option value="`+area+`"`) {
				t.Errorf("%s: the filter lacks %s", name, area)
			}
		}
	}
}

// A change that was confirmed twice has one entry.
func TestPage_DoubleConfirmation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, subject := range []string{"Natal", "Natal", "Outra"} {
		b.write(t, account.AuditEntry{Tenant: b.tenant, At: noon.Add(time.Duration(i) * time.Second), Who: "ana@acme.example", Action: "campaign.dispatch", Subject: subject})
	}
	page := b.SignIn(b.tenant, web.RoleAdmin).Get(audit.Path)
	if n, others := strings.Count(page.Body, ">Natal<"), strings.Count(page.Body, ">Outra<"); n != 1 || others != 1 {
		t.Errorf("%d entries of one campaign and %d of the other, want 1 each", n, others)
	}
}
