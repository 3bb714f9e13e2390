package exports_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone"
)

// holder authorizes every request as a tenant's.
type holder struct{ tenant string }

func (h holder) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: h.tenant, ClientID: "rcs_1", Scope: account.ScopeDispatch}, nil
}

func lines(all ...string) string { return strings.Join(all, "\r\n") + "\r\n" }

// campaignOfTwo accepts two batches and records outcomes of the first.
func (c *company) campaignOfTwo() campaign.Batch {
	first := c.accept(1, []string{"=1+1", "josé", "u2", "u3", "u4"}, nil)
	c.accept(2, []string{"x0", "x1"}, nil)
	c.record(first, campaign.OutcomeSent, "", 1, 0, 1, 2, 3)
	c.record(first, campaign.OutcomeDelivered, "", 2, 1, 2)
	c.record(first, campaign.OutcomeRead, "", 3, 1)
	c.record(first, campaign.OutcomeExpired, "ttl_passed", 4, 3)
	c.record(first, campaign.OutcomeFailed, "unreachable", 5, 4)
	c.tap(first, campaign.OutcomeTapped, 1, 1)
	c.tap(first, campaign.OutcomeClicked, 1, 2)
	return first
}

// The file has the states of the snapshot, also if outcomes are recorded afterwards.
func TestMaker_Snapshot(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	first := c.campaignOfTwo()
	e := c.create(export.Request{})
	c.record(first, campaign.OutcomeDelivered, "", 9, 0, 4)
	c.record(first, campaign.OutcomeRead, "", 9, 2)
	c.tap(first, campaign.OutcomeTapped, 1, 2)
	c.accept(3, []string{"later"}, nil)
	c.run()
	header, got := c.download(c.stored(e))
	want := lines(
		`"Number","uid","Status","Reason","Sent at","Delivered at","Read at","Ended at","Taps","Clicks"`,
		`"+5511980010000","'=1+1","sent","","2037-11-21T12:01:00.000Z","","","","",""`,
		`"+5511980010001","josé","read","","2037-11-21T12:01:00.000Z","2037-11-21T12:02:00.000Z","2037-11-21T12:03:00.000Z","","Sim, já","Ver"`,
		`"+5511980010002","u2","delivered","","2037-11-21T12:01:00.000Z","2037-11-21T12:02:00.000Z","","","",""`,
		`"+5511980010003","u3","expired","The message could not be delivered in time.","2037-11-21T12:01:00.000Z","","","2037-11-21T12:04:00.000Z","",""`,
		`"+5511980010004","u4","failed","The number cannot be reached by RCS.","","","","2037-11-21T12:05:00.000Z","",""`,
		`"+5511980020000","x0","pending","","","","","","",""`,
		`"+5511980020001","x1","pending","","","","","","",""`,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if kind := header.Get("Content-Type"); kind != "text/csv; charset=utf-8" {
		t.Errorf("the type of the file is %q", kind)
	}
}

// Outcomes that are recorded while the file is written do not change it.
func TestMaker_ConcurrentOutcomes(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	b := c.accept(1, slices.Repeat([]string{"u"}, 500), nil)
	all := make([]int, 500)
	for i := range all {
		all[i] = i
	}
	c.record(b, campaign.OutcomeSent, "", 1, all...)
	want := c.made(export.Request{})
	e := c.create(export.Request{})
	var recording sync.WaitGroup
	recording.Go(func() {
		for i := 0; i < len(all); i += 50 {
			c.record(b, campaign.OutcomeDelivered, "", 2, all[i:i+50]...)
		}
	})
	c.run()
	recording.Wait()
	if _, got := c.download(c.stored(e)); got != want {
		t.Errorf("the file (-want +got):\n%s", cmp.Diff(want, got))
	}
	if got := c.made(export.Request{Statuses: []string{"delivered"}}); strings.Count(got, "\r\n") != 501 {
		t.Errorf("a later export has %d lines, want 501", strings.Count(got, "\r\n"))
	}
}

func TestMaker_Excel(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	got := c.made(export.Request{Format: export.Excel, Language: "pt-BR", Statuses: []string{"read", "failed"}})
	want := "\ufeff" + lines(
		`"Número";"Código do cliente (uid)";"Situação";"Motivo";"Enviada em";"Entregue em";"Lida em";"Encerrada em";"Toques";"Cliques"`,
		`"+55 11 98001-0001";"josé";"Lida";"";"21/11/2037 09:01:00";"21/11/2037 09:02:00";"21/11/2037 09:03:00";"";"Sim, já";"Ver"`,
		`"+55 11 98001-0004";"u4";"Falhou";"O número não recebe RCS.";"";"";"";"21/11/2037 09:05:00";"";""`,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// Each message that was sent has a time of sending, also if its receipt was recorded before the end of its
// sending. Statuses are words, and the numbers are read again as they were.
func TestMaker_ExcelInEnglish(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	b := c.accept(1, []string{"fast", "seen", "stopped"}, nil)
	c.record(b, campaign.OutcomeDelivered, "", 2, 0)
	c.record(b, campaign.OutcomeRead, "", 3, 1)
	c.record(b, campaign.OutcomeStopped, "", 4, 2)
	got := c.made(export.Request{Format: export.Excel})
	for _, line := range []string{
		`"+55 11 98001-0000";"fast";"Delivered";"";"21/11/2037 09:02:00";"21/11/2037 09:02:00";"";"";"";""`,
		`"+55 11 98001-0001";"seen";"Read";"";"21/11/2037 09:03:00";"";"21/11/2037 09:03:00";"";"";""`,
		`"+55 11 98001-0002";"stopped";"Not sent (cancelled)";"The campaign was cancelled before the message was sent.";"";"";"";"21/11/2037 09:04:00";"";""`,
	} {
		if !strings.Contains(got, line+"\r\n") {
			t.Errorf("the file lacks %s:\n%s", line, got)
		}
	}
	if n, rejection := phone.ParseTyped("+55 11 98001-0000"); rejection != nil || n.String() != "+5511980010000" {
		t.Errorf("the number is read as %s, %v", n, rejection)
	}
}

// The name of a file has that of the campaign, and the day in São Paulo.
func TestMaker_FileName(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.name = `Promoção "50%"; ../São João`
	c.accept(1, []string{"u"}, nil)
	c.now = time.Date(2037, 11, 22, 1, 30, 0, 0, time.UTC)
	e := c.create(export.Request{Language: "pt-BR"})
	c.run()
	header, _ := c.download(c.stored(e))
	_, parameters, err := mime.ParseMediaType(header.Get("Content-Disposition"))
	if want := "resultados-Promoção-50-São-João-2037-11-21.csv"; err != nil || parameters["filename"] != want {
		t.Errorf("the file is named %q, %v, want %q", parameters["filename"], err, want)
	}
}

func refused(line, number string) campaign.ErrorLine {
	_, why := phone.Parse([]byte(number))
	return campaign.ErrorLine{Line: line, Phone: number, Code: why.Code, Reason: why.Reason}
}

func TestMaker_Rejected(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	var file []byte
	for _, l := range []campaign.ErrorLine{
		campaign.ErrorFileHeader,
		{Line: "7", Phone: "12", UID: "u", Code: "wrong_length", Reason: "Too short."},
		{Line: "8", Phone: "@x", Code: "new", Reason: "New."},
		refused("9", "1187654321"),
		refused("10", "(11) 98765-4321"),
	} {
		file = l.AppendTo(file)
	}
	c.accept(1, []string{"u0"}, func(b *campaign.Batch) { b.ErrorFile, b.Rejected = c.id.Tenant+".csv", 4 })
	c.accept(2, []string{"u0"}, nil)
	c.must(c.blobs.Put(t.Context(), campaign.ErrorFileKey(c.id.Tenant+".csv"), file, "text/csv"))
	got := c.made(export.Request{Kind: export.Rejected, Language: "pt-BR"})
	want := lines(
		`"Linha","Número","Código","Motivo"`,
		`"7","12","wrong_length","O número tem dígitos a mais ou a menos."`,
		`"8","'@x","new","New."`,
		`"9","1187654321","missing_ninth_digit","Falta o 9 depois do DDD. Talvez seja +5511987654321."`,
		`"10","(11) 98765-4321","invalid_form","O número tem letras ou sinais. Escreva só os dígitos, com DDD. Talvez seja +5511987654321."`,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// problem returns the status and the code of an error.
func problem(err error) string {
	p, ok := errors.AsType[*httpapi.Problem](err)
	if !ok {
		return fmt.Sprint(err)
	}
	return fmt.Sprint(p.Status, " ", p.Code)
}

func TestService_TooManyExports(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	for range export.MaxOpen {
		c.create(export.Request{})
	}
	_, err := c.Create(t.Context(), c.id, random.UUID(), export.Request{})
	if got := problem(err); got != "429 too_many_exports" {
		t.Errorf("one too many: %s", got)
	}
	c.run()
	c.create(export.Request{})
}

func TestService_RepeatedRequest(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	id := random.UUID()
	first, err := c.Create(t.Context(), c.id, id, export.Request{})
	c.must(err)
	again, err := c.Create(t.Context(), c.id, id, export.Request{})
	c.must(err)
	if first.Secret != again.Secret {
		t.Error("the repeated request made another export")
	}
	if _, err = c.Create(t.Context(), c.id, id, export.Request{Format: export.Excel}); problem(err) != "422 idempotency_key_reused" {
		t.Errorf("another request with the key: %s", problem(err))
	}
}

func TestService_LostTask(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	e := c.create(export.Request{})
	c.queue.tasks = nil
	look := func() {
		_, err := c.OfCampaign(t.Context(), c.id)
		c.must(err)
	}
	look()
	if len(c.queue.tasks) != 0 {
		t.Error("a new export was queued again")
	}
	c.now = noon.Add(9 * time.Minute)
	look()
	look()
	if len(c.queue.tasks) != 1 {
		t.Errorf("the lost task was queued %d times, want once", len(c.queue.tasks))
	}
	c.run()
	if e = c.stored(e); e.State != export.Completed {
		t.Errorf("the export is %s", e.State)
	}
}

func TestService_Link(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	e := c.create(export.Request{})
	refused := func(name, link string) {
		t.Helper()
		if _, err := c.Open(t.Context(), link); problem(err) != "404 not_found" {
			t.Errorf("%s: %s", name, problem(err))
		}
	}
	refused("not completed", e.ExportID+"."+e.Secret)
	c.run()
	refused("no secret", e.ExportID+".")
	refused("wrong secret", e.ExportID+"."+e.Secret+"x")
	refused("unknown", random.UUID()+"."+e.Secret)
	refused("no ID", "x")
	e = c.stored(e)
	c.now = e.ExpiresAt.Add(-time.Minute)
	if _, err := c.Open(t.Context(), e.ExportID+"."+e.Secret); err != nil {
		t.Errorf("within 24 hours: %v", err)
	}
	c.now = e.ExpiresAt
	if _, err := c.Open(t.Context(), e.ExportID+"."+e.Secret); problem(err) != "404 not_found" {
		t.Errorf("after 24 hours: %s", problem(err))
	}
}

// call sends a request of a client and checks it against the OpenAPI document.
func (c *company) call(method, path, body string) (status int, answer map[string]any) {
	c.t.Helper()
	mux := http.NewServeMux()
	c.Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	r, err := http.NewRequestWithContext(c.t.Context(), method, server.URL+"/api/v1/external/campaigns/"+path, strings.NewReader(body))
	c.must(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: openapitest.New(c.t, http.DefaultTransport)}
	res, err := client.Do(r)
	c.must(err)
	defer func() { _ = res.Body.Close() }()
	c.must(json.NewDecoder(res.Body).Decode(&answer))
	return res.StatusCode, answer
}

func TestService_API(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	path := c.id.CampaignID + "/exports"
	status, started := c.call(http.MethodPost, path, `{"statuses": ["read", "pending"], "format": "excel"}`)
	if status != http.StatusAccepted || started["status"] != "pending" || started["url"] != nil {
		t.Fatalf("%d %v", status, started)
	}
	c.run()
	id, _ := started["exportId"].(string)
	status, done := c.call(http.MethodGet, path+"/"+id, "")
	url, _ := done["url"].(string)
	if status != http.StatusOK || done["status"] != "completed" || done["lines"] != 3.0 || !strings.Contains(url, export.Path+id+".") {
		t.Errorf("%d %v", status, done)
	}
	if diff := cmp.Diff(map[string]any{"checked": 7.0, "total": 7.0}, done["progress"]); diff != "" {
		t.Error(diff)
	}
}

func TestService_Refusals(t *testing.T) {
	t.Parallel()
	c, other := newCompany(t), newCompany(t)
	c.campaignOfTwo()
	e := c.create(export.Request{})
	path := c.id.CampaignID + "/exports"
	for name, call := range map[string]struct{ method, path, body, want string }{
		"status":    {http.MethodPost, path, `{"statuses": ["lost"]}`, "400 unknown_value"},
		"format":    {http.MethodPost, path, `{"format": "xls"}`, "400 unknown_value"},
		"kind":      {http.MethodPost, path, `{"kind": "all"}`, "400 unknown_value"},
		"language":  {http.MethodPost, path, `{"language": "fr"}`, "400 unknown_value"},
		"field":     {http.MethodPost, path, `{"status": ["read"]}`, "400 unknown_field"},
		"case":      {http.MethodPost, path, `{"kind": "rejected", "KIND": "outcomes"}`, "400 unknown_field"},
		"twice":     {http.MethodPost, path, `{"kind": "rejected", "kind": "outcomes"}`, "400 duplicate_name"},
		"type":      {http.MethodPost, path, `{"statuses": "read"}`, "400 invalid_type"},
		"no object": {http.MethodPost, path, `null`, "400 invalid_type"},
		"JSON":      {http.MethodPost, path, `{`, "400 malformed_json"},
		"dry run":   {http.MethodPost, path + "?dryRun=true", "", "400 invalid_dry_run"},
		"rejected":  {http.MethodPost, path, `{"kind": "rejected", "statuses": ["read"]}`, "400 unknown_value"},
		"campaign":  {http.MethodPost, random.UUID() + "/exports", "", "404 campaign_not_found"},
		"export":    {http.MethodGet, path + "/" + random.UUID(), "", "404 export_not_found"},
	} {
		status, answer := c.call(call.method, call.path, call.body)
		if got := fmt.Sprint(status, " ", answer["code"]); got != call.want {
			t.Errorf("%s: %s, want %s", name, got, call.want)
		}
	}
	for _, foreign := range []struct{ method, path, want string }{
		{http.MethodPost, path, "404 campaign_not_found"}, {http.MethodGet, path + "/" + e.ExportID, "404 export_not_found"},
	} {
		status, answer := other.call(foreign.method, foreign.path, "")
		if got := fmt.Sprint(status, " ", answer["code"]); got != foreign.want {
			t.Errorf("another tenant's %s: %s, want %s", foreign.method, got, foreign.want)
		}
	}
}
