package sending_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// bench is a dashboard with the form and the pages of submissions, a new tenant, and the real intake
// and dispatch services on the stack's tables and bucket.
type bench struct {
	*webtest.Dashboard
	t        *testing.T
	store    *dynamotest.Store
	blobs    *s3.Store
	pages    *sending.Pages
	intake   *intake.Service
	dispatch *flaky
	tasks    *tasks
	tenant   string
	template string // needs nome
	handoffs *handoffs
	admin    webtest.Person
}

// tasks are the tasks that the requests leave to the intake function.
type tasks struct {
	mu  sync.Mutex
	all []submission.Task
}

func (q *tasks) Send(_ context.Context, _ string, body []byte, _ time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var t submission.Task
	q.all = append(q.all, t)
	return json.Unmarshal(body, &q.all[len(q.all)-1])
}

// run does the tasks, as the intake function does.
func (b *bench) run() {
	b.t.Helper()
	for len(b.tasks.all) > 0 {
		all := b.tasks.all
		b.tasks.all = nil
		for _, err := range b.intake.Worker.Handle(b.t.Context(), all) {
			if err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// decided returns the audit log of the decisions about submissions.
func (b *bench) decided() (lines []string) {
	b.t.Helper()
	entries, _, err := b.store.AuditLog(b.t.Context(), b.tenant, "", 100)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		lines = append(lines, e.Who+" "+e.Action+" "+e.Subject)
	}
	return lines
}

type handoffs struct {
	mu      sync.Mutex
	batches []campaign.Batch
}

func (h *handoffs) Schedule(_ context.Context, b campaign.Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.batches = append(h.batches, b)
	return nil
}

// flaky is a dispatch service that can fail after some accepted calls.
type flaky struct {
	*dispatch.Service
	left int // calls that succeed; negative for all
}

var errAway = errors.New("the table is away")

func (f *flaky) Accept(ctx context.Context, c dispatch.Call) (dispatch.Receipt, error) {
	if f.left == 0 {
		return dispatch.Receipt{}, errAway
	}
	f.left--
	return f.Service.Accept(ctx, c)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	env := stackenv.Load(t)
	cfg := env.AWS()
	now := time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(cfg), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	})
	blobs := s3.New(cfg, env["BUCKET"], true)
	b := &bench{t: t, store: store, blobs: blobs, tasks: &tasks{}, tenant: "t-" + strings.ToLower(rand.Text()), handoffs: &handoffs{}}
	b.template = b.putTemplate(b.tenant, "Olá {{nome}}")
	b.dispatch = &flaky{Service: &dispatch.Service{
		Store: store, Blobs: blobs, Releases: b.handoffs, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20},
		Now: clock, Lead: 5 * time.Minute, SweepDelay: time.Minute,
		Reach: reach.Lookup{OptOuts: &optout.Book{Store: store, Now: clock}, Lists: &lookup.Cache{Store: store, Blobs: blobs, Now: clock}},
	}, left: -1}
	b.intake = &intake.Service{
		Store: store, Uploads: blobs, Stat: blobs.Stat, Tasks: b.tasks, Now: clock, Lead: 5 * time.Minute, AtOnce: time.Minute, Rules: store,
		Worker: &intake.Worker{
			Store: store, Blobs: blobs, Tasks: b.tasks, Now: clock, PartLines: campaign.MaxMessages, Dispatch: b.dispatch,
			Open: blobs.OpenFile,
		},
	}
	b.pages = &sending.Pages{
		Store: &exports{Store: store}, Intake: b.intake, Now: clock, Lead: 5 * time.Minute, Origin: origin,
	}
	b.Dashboard = webtest.Serve(t, webtest.UI(t, clock), sending.Area(), b.pages)
	b.admin = b.SignIn(b.tenant, web.RoleAdmin)
	return b
}

func (b *bench) putTemplate(tenant, text string) string {
	b.t.Helper()
	return b.putContent(tenant, content.Content{Text: text})
}

func (b *bench) putContent(tenant string, c content.Content) string {
	b.t.Helper()
	id := uuid()
	if _, err := b.store.PutTemplate(b.t.Context(), campaign.Template{ID: id, Tenant: tenant, Name: "T", Content: c}); err != nil {
		b.t.Fatal(err)
	}
	return id
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// fields are the values of the form by name.
type fields map[string]string

// none is a form without a file.
const none = "\x00"

// upload posts the form with a file.
func (b *bench) upload(who webtest.Person, file string, change fields) webtest.Answer {
	b.t.Helper()
	return b.uploadTo("/dashboard/campaigns/new", who, file, change)
}

// uploadTo posts the form with a file to a path.
func (b *bench) uploadTo(path string, who webtest.Person, file string, change fields) webtest.Answer {
	b.t.Helper()
	all := fields{"csrf": who.Session.CSRF, "name": "Campanha", "template": b.template}
	maps.Copy(all, change)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, value := range all {
		if err := w.WriteField(name, value); err != nil {
			b.t.Fatal(err)
		}
	}
	fileName := "lista.csv"
	if file == none {
		fileName, file = "", ""
	}
	part, err := w.CreateFormFile("file", fileName)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := part.Write([]byte(file)); err != nil {
		b.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, webtest.Base+path, &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return who.Do(r)
}

// review uploads a file. It returns the page of its submission and its path.
func (b *bench) review(file string, change fields) (webtest.Answer, string) {
	b.t.Helper()
	got := b.upload(b.admin, file, change)
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, sending.SubmissionsPath+"/") {
		b.t.Fatalf("answered %d to %q\n%s", got.Status, got.Location, got.Text())
	}
	return b.admin.Get(got.Location), got.Location
}

// confirm posts the form of a review.
func (b *bench) confirm(page webtest.Answer, address string) webtest.Answer {
	b.t.Helper()
	return b.admin.Post(address+"/confirm", url.Values{"hash": {page.Value("hash")}})
}

// campaignOf returns the path of the campaign of a submission.
func campaignOf(address string) string {
	return web.Root + "/campaigns/" + strings.TrimPrefix(address, sending.SubmissionsPath+"/")
}

// exports are rows with one list of recipients.
type exports struct {
	*dynamotest.Store
	list export.Export
}

func (e *exports) CreateRecipients(context.Context, campaign.ID, string, export.Audience) (export.Export, error) {
	return e.list, nil
}

func (e *exports) Find(_ context.Context, id campaign.ID, exportID string) (export.Export, error) {
	if id != e.list.ID || exportID != e.list.ExportID {
		return export.Export{}, &httpapi.Problem{Status: http.StatusNotFound}
	}
	return e.list, nil
}

func says(t *testing.T, page webtest.Answer, status int, texts ...string) {
	t.Helper()
	if page.Status != status {
		t.Fatalf("answered %d, want %d\n%s", page.Status, status, page.Text())
	}
	for _, text := range texts {
		if !strings.Contains(page.Text(), text) {
			t.Errorf("the page does not say %q:\n%s", text, page.Text())
		}
	}
}

const file = "phone;uid;nome\n11987654321;a;Ana\n11987654322;b;Bia\n"

// A list of an earlier campaign's recipients is the file of the next one, and of a draft.
func TestList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, fields{"name": "Natal"})
	b.confirm(page, address)
	list := export.Export{
		ID: b.handoffs.batches[0].ID, ExportID: uuid(), Secret: uuid(), Kind: export.Recipients, Audience: export.AudienceUnread,
		State: export.Completed, Lines: 2, Parts: 1,
	}
	b.pages.Store.(*exports).list = list
	if err := b.blobs.Put(t.Context(), list.Blob(), []byte(file), "text/csv"); err != nil {
		t.Fatal(err)
	}
	query := url.Values{"list": {list.CampaignID + "/" + list.ExportID}, "template": {b.template}}
	form := b.admin.Get("/dashboard/campaigns/new?" + query.Encode())
	says(t, form, http.StatusOK, "Did not read: Natal")
	page, _ = b.review(none, fields{"name": "De novo", "list": form.Value("list"), "from": form.Value("from")})
	says(t, page, http.StatusOK, "Send to 2 people", "Did not read: Natal")
	id := b.drafted(none, fields{"name": "Rascunho", "list": form.Value("list")})
	page, _ = b.review(none, fields{"name": "Rascunho", "from": id, "version": "1"})
	says(t, page, http.StatusOK, "Send to 2 people")
	other := b.SignIn("another", web.RoleAdmin)
	says(t, other.Get("/dashboard/campaigns/new?"+query.Encode()), http.StatusNotFound)
	says(t, b.upload(other, none, fields{"list": form.Value("list")}), http.StatusUnprocessableEntity, "Choose the file")
}

// A small campaign is sent in the request, once.
func TestConfirm_SendsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, nil)
	says(t, page, http.StatusOK, "Messages to send 2", "Invalid numbers 0", "Olá Ana", "Send to 2 people")
	if len(b.handoffs.batches) > 0 {
		t.Fatal("the review has sent it")
	}
	first := b.confirm(page, address)
	if first.Status != http.StatusSeeOther || first.Location != address {
		t.Fatalf("answered %d %q\n%s", first.Status, first.Location, first.Text())
	}
	if got := b.admin.Follow(first); got.Location != campaignOf(address) {
		t.Errorf("what was sent leads to %q\n%s", got.Location, got.Text())
	}
	b.confirm(page, address)
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].CampaignID != strings.TrimPrefix(address, sending.SubmissionsPath+"/") || b.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.dispatch Campanha"}, b.decided()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	if len(b.tasks.all) > 0 {
		t.Errorf("left to the intake function: %+v", b.tasks.all)
	}
}

func TestReview_EveryLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review("phone;uid;nome\n11987654321;a;Jo\xe3o\n5511987654321;b;Bia\n119;c;Caio\n5,51199E+12;d;Davi\n;e;Eva\n11987654322;f;\n11987654323;;Gil\n", nil)
	says(t, page, http.StatusOK, "Messages to send 1", "Lines with a problem 2", "Invalid numbers 3", "Repeated numbers 1", "not saved as “CSV UTF-8”", "Olá João",
		"Send to 1 person, 6 lines are left out", "nome is missing 1 line Line As in the file 7 11987654322",
		"The customer's code (uid) is missing 1 line Line As in the file 8 11987654323")
	for _, want := range []string{`"3";"Repeated number`, `"5";"Excel has shortened`, `"6";"The phone number is empty`, `"7";"nome is missing";"";"11987654322";"f";""`} {
		if all := b.admin.Get(address + "/left-out").Body; !strings.Contains(all, want) {
			t.Errorf("the download lacks %s:\n%s", want, all)
		}
	}
	b.confirm(page, address)
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].Accepted != 1 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
	page, _ = b.review("phone;uid;nome\n119;a;Ana\n11987654322;;Bia\n", nil)
	says(t, page, http.StatusOK, "cannot be sent yet", "No line of the file can be sent")
	if strings.Contains(page.Text(), "Send to") {
		t.Error("the review offers to send it")
	}
}

func TestReview_ColumnsOfOtherNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review("NOME;Celular;Código\nAna;(11) 98765-4321;a\nBia;11987654322;b\n", nil)
	says(t, page, http.StatusOK, "Messages to send 2", "Olá Ana",
		"The phone numbers are from the column Celular.", "The customer's code is from the column Código.")
	b.confirm(page, address)
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
	page, _ = b.review(file, nil)
	if strings.Contains(page.Text(), "from the column") {
		t.Errorf("the review names the columns phone and uid:\n%s", page.Text())
	}
}

// Columns that are not clear by their names are chosen once, and remembered.
func TestColumns_Unclear(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const unclear = "Contato;Cadastro;Cliente\n11987654321;a;Ana\n"
	page, address := b.review(unclear, nil)
	says(t, page, http.StatusOK, "Which column is which", "11987654321")
	chosen := b.admin.Post(address+"/columns", url.Values{"was": {page.Value("was")}, "phone": {"0"}, "uid": {"1"}, "v0": {"2"}})
	says(t, b.admin.Get(chosen.Location), http.StatusOK, "Send to 1 person", "Olá Ana")
	page, _ = b.review(unclear, nil)
	says(t, page, http.StatusOK, "Send to 1 person", "Olá Ana")
}

func TestConfirm_Scheduled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review(file, fields{"notAfter": "2037-11-21T11:00"})
	says(t, page, http.StatusOK, "cannot be sent yet", "deadline must be later")
	page, address := b.review(file, fields{"schedule": "2037-11-22T09:00", "notAfter": "2037-11-22T20:00"})
	says(t, page, http.StatusOK, "22 Nov 2037, 09:00", "22 Nov 2037, 20:00", "Schedule for")
	b.confirm(page, address)
	if diff := cmp.Diff([]string{"admin@example.com campaign.schedule Campanha"}, b.decided()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	want := time.Date(2037, 11, 22, 12, 0, 0, 0, time.UTC)
	if len(b.handoffs.batches) != 1 || !b.handoffs.batches[0].Due.Equal(want) || !b.handoffs.batches[0].Scheduled {
		t.Errorf("handed on: %+v, want for %v", b.handoffs.batches, want)
	}
}

// Messages with a URL that is not https are not sent: the review says so.
func TestReview_InvalidURLs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.template = b.putContent(b.tenant, content.Content{
		Text: "Olá {{nome}}", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "{{link}}"}},
	})
	page, _ := b.review("phone;uid;nome;link\n11987654321;a;Ana;https://e.example/\n11987654322;b;Bia;http://e.example/\n11987654323;c;Caio;e.example\n", nil)
	says(t, page, http.StatusOK, "not https:// with the values of the file: 2. The first one is on line 3", "Messages to send 3", "Opens a link: Ver")
}

// The name, the time, the template and the file of a review can be corrected.
func TestReview_Corrected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, sent := b.review(file, nil)
	b.confirm(page, sent)
	page, address := b.review(file, fields{"schedule": "2037-11-22T09:00"})
	says(t, page, http.StatusOK, "Another campaign has this name already")
	seen := page.Value("hash")
	id := strings.TrimPrefix(address, sending.SubmissionsPath+"/")
	form := b.admin.Get("/dashboard/campaigns/new?from=" + id)
	says(t, form, http.StatusOK, "lista.csv")
	if !strings.Contains(form.Body, `value="2037-11-22T09:00"`) {
		t.Error("the form lacks the time")
	}
	named, at := b.review(none, fields{"from": id, "name": "Outra campanha", "schedule": "2037-11-23T09:00"})
	says(t, named, http.StatusOK, "Outra campanha", "23 Nov 2037, 09:00", "Schedule for 2 people")
	if at != address || named.Value("hash") == seen {
		t.Errorf("the corrected campaign is at %s, want %s; with another time it has the same hash: %t", at, address, named.Value("hash") == seen)
	}
	other := b.putTemplate(b.tenant, "{{nome}}, {{cupom}}")
	page, _ = b.review(none, fields{"from": id, "name": "Outra campanha", "template": other})
	says(t, page, http.StatusOK, "Which column is which", "In the text: cupom")
	page, _ = b.review(none, fields{"from": id, "name": "Outra campanha"})
	says(t, page, http.StatusOK, "Send to 2 people", "Olá Ana")
	says(t, b.upload(b.admin, "", fields{"from": id}), http.StatusUnprocessableEntity, "The file is empty", "lista.csv")
	seen = page.Value("hash")
	page, at = b.review(numbers(3), fields{"from": id})
	says(t, page, http.StatusOK, "Messages to send 3")
	if at != address || page.Value("hash") == seen {
		t.Errorf("another file is at %s, want %s; it has the same hash: %t", at, address, page.Value("hash") == seen)
	}
}

// Another file from the same form replaces the review of the first, and nobody sends what was corrected
// meanwhile.
func TestReview_TwoTabs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, nil)
	b.review(none, fields{"from": strings.TrimPrefix(address, sending.SubmissionsPath+"/"), "schedule": "2037-11-23T09:00"})
	says(t, b.confirm(page, address), http.StatusConflict, "Something has changed")
	form := fields{"from": uuid()}
	page, first := b.review(file, form)
	if _, again := b.review(file, form); again != first {
		t.Errorf("the same form leads to %s, and then to %s", first, again)
	}
	other, at := b.review(numbers(3), form)
	says(t, other, http.StatusOK, "Messages to send 3")
	if at != first {
		t.Errorf("another file leads to %s, want %s", at, first)
	}
	says(t, b.confirm(page, first), http.StatusConflict, "Something has changed", "Messages to send 3")
	if len(b.handoffs.batches) > 0 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
}

// What a request cannot send is left to the intake function.
func TestConfirm_DispatchFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(4001), nil)
	says(t, page, http.StatusOK, "Messages to send 4,001")
	b.dispatch.left = 2
	says(t, b.admin.Follow(b.confirm(page, address)), http.StatusOK, "People of the file accepted so far: 4,000 of 4,001")
	b.dispatch.left = -1
	b.run()
	var sizes []int
	for _, batch := range b.handoffs.batches {
		sizes = append(sizes, batch.Accepted)
	}
	if diff := cmp.Diff([]int{2000, 2000, 1}, sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

func TestConfirm_TemplateChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, nil)
	changed := campaign.Template{ID: b.template, Tenant: b.tenant, Name: "T", Content: content.Content{Text: "Tchau {{nome}}"}}
	if _, err := b.store.PutTemplate(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	says(t, b.confirm(page, address), http.StatusConflict, "The template has changed")
	if len(b.handoffs.batches) > 0 {
		t.Fatalf("handed on %+v", b.handoffs.batches)
	}
	page, _ = b.review(none, fields{"from": strings.TrimPrefix(address, sending.SubmissionsPath+"/")})
	says(t, page, http.StatusOK, "Tchau Ana", "version 2", "Send to 2 people")
}

func TestUpload_WrongInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := b.putTemplate("t-other", "Olá")
	for name, test := range map[string]struct {
		file   string
		change fields
		says   string
	}{
		"no name":            {file, fields{"name": " "}, "Give the campaign a name"},
		"a long name":        {file, fields{"name": strings.Repeat("é", 1001)}, "it may have 1,000 characters at most"},
		"no file":            {none, nil, "Choose the file"},
		"an empty file":      {"", nil, "The file is empty"},
		"no such template":   {file, fields{"template": strings.Repeat("x", 3000)}, "There is no such template"},
		"too soon":           {file, fields{"schedule": "2037-11-21T12:03"}, "at least 5 minutes ahead"},
		"no time":            {file, fields{"schedule": "x"}, "at least 5 minutes ahead"},
		"no template":        {file, fields{"template": uuid()}, "There is no such template"},
		"a foreign template": {file, fields{"template": foreign}, "There is no such template"},
		"a corrected file":   {none, fields{"from": uuid()}, "Choose the file"},
		"an expired draft":   {none, fields{"from": uuid(), "version": "2"}, "Choose the file"},
		"no list":            {none, fields{"list": uuid() + "/" + uuid()}, "Choose the file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, b.upload(b.admin, test.file, test.change), http.StatusUnprocessableEntity, "corrected first", test.says)
		})
	}
}

// A file that cannot be read says why, and what was entered is not lost.
func TestUpload_InvalidFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for file, want := range map[string]string{
		"phone;uid;nome" + strings.Repeat(";", 5000) + "\n1;a\n": "more than 100 columns",
		"PK\x03\x04":                "damaged or has a password",
		"\xd0\xcf\x11\xe0":          "an old version of Excel",
		"phone;uid;nome\n1;a;b;c\n": "read with “;” between the columns, and more than half of its first lines do not match the header: line 2 has 4 columns, the header has 3",
		"phone;uid;nome\n":          "only its first line",
	} {
		page, address := b.review(file, fields{"name": "Natal"})
		says(t, page, http.StatusOK, want)
		if form := b.admin.Get("/dashboard/campaigns/new?from=" + strings.TrimPrefix(address, sending.SubmissionsPath+"/")); !strings.Contains(form.Body, `value="Natal"`) {
			t.Errorf("%s: the name is lost", want)
		}
	}
}

func TestUpload_Roles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, fields{"name": "<script>alert(1)</script>"})
	if strings.Contains(page.Body, "<script>alert") || !strings.Contains(page.Text(), "<script>alert(1)</script>") {
		t.Error("the name is not shown as text")
	}
	viewer, other := b.SignIn(b.tenant, web.RoleViewer), b.SignIn("t-other", web.RoleAdmin)
	for _, path := range []string{"/dashboard/campaigns/new", "/dashboard/campaigns/new/columns", "/dashboard/campaigns/new/example"} {
		says(t, viewer.Get(path), http.StatusForbidden)
	}
	says(t, b.upload(viewer, file, nil), http.StatusForbidden)
	says(t, b.upload(b.admin, file, fields{"csrf": "wrong"}), http.StatusForbidden)
	form := url.Values{"hash": {page.Value("hash")}}
	says(t, viewer.Post(address+"/confirm", form), http.StatusForbidden)
	says(t, other.Post(address+"/confirm", form), http.StatusNotFound)
	says(t, other.Get(address), http.StatusNotFound)
	id := strings.TrimPrefix(address, sending.SubmissionsPath+"/")
	says(t, other.Get("/dashboard/campaigns/new?from="+id), http.StatusNotFound)
	says(t, b.upload(other, none, fields{"from": id}), http.StatusUnprocessableEntity, "Choose the file")
	says(t, other.Post("/dashboard/campaigns/new/draft", url.Values{"submission": {id}, "version": {"1"}}), http.StatusNotFound)
	says(t, other.Get("/dashboard/campaigns/new/example?template="+b.template), http.StatusNotFound)
	form.Set("csrf", "")
	says(t, b.admin.Post(address+"/confirm", form), http.StatusForbidden)
	if len(b.handoffs.batches) > 0 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
}

func TestForm_Columns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	says(t, b.admin.Get("/dashboard/campaigns/new?template="+b.template), http.StatusOK, "phone nome uid", "At least 5 minutes ahead")
	overlong := "?template=" + strings.Repeat("x", 3000)
	says(t, b.admin.Get("/dashboard/campaigns/new"+overlong), http.StatusOK, "phone nome uid")
	says(t, b.admin.Get("/dashboard/campaigns/new/columns"+overlong), http.StatusNotFound)
	if body := b.admin.Get("/dashboard/campaigns/new").Body; strings.Index(body, ">Check<") > strings.Index(body, `formaction="`) {
		t.Error("the button that checks is not the first, which the enter key presses")
	}
	chosen := b.admin.Post("/dashboard/campaigns/new/columns", url.Values{"template": {b.putTemplate(b.tenant, "{{cupom}}")}, "name": {"Meio escrita"}})
	if says(t, chosen, http.StatusOK, "phone cupom uid"); !strings.Contains(chosen.Body, `value="Meio escrita"`) {
		t.Error("what was entered is gone")
	}
	part := b.admin.Get("/dashboard/campaigns/new/columns?template=" + b.template)
	if says(t, part, http.StatusOK, "phone nome uid"); strings.Contains(part.Body, "<html") {
		t.Errorf("the fragment is\n%s", part.Body)
	}
	example := b.admin.Get("/dashboard/campaigns/new/example?template=" + b.template)
	if example.Body != "\ufeffphone;nome;uid\r\n11900000000;nome;customer-1\r\n" {
		t.Errorf("example %q", example.Body)
	}
	page, _ := b.review(example.Body, nil)
	says(t, page, http.StatusOK, "Messages to send 1", "Send to")
}

// A variable that is named like the column of the uids has no column of its own, on the page, in the example and in the
// file of the lines that are left out: a file with two columns of one name is refused.
func TestForm_SharedColumn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.admin.Language = "pt"
	template := b.putTemplate(b.tenant, "{{código}} {{nome}}")
	says(t, b.admin.Get("/dashboard/campaigns/new/columns?template="+template), http.StatusOK, "telefone nome código No lugar de")
	example := b.admin.Get("/dashboard/campaigns/new/example?template=" + template)
	if !strings.HasPrefix(example.Body, "\ufefftelefone;nome;código\r\n") {
		t.Errorf("example %q", example.Body)
	}
	_, address := b.review("telefone;nome;código\r\n11980000001;Ana;a1\r\n123;Bia;b2\r\n", fields{"template": template})
	left := b.admin.Get(address + "/left-out").Body
	if header, _, _ := strings.Cut(left, "\r\n"); !strings.HasSuffix(header, `"telefone";"código";"nome"`) || !strings.Contains(left, `"123";"b2";"Bia"`) {
		t.Errorf("the lines that are left out: %q", left)
	}
}

// numbers is a file of n recipients.
func numbers(n int) string {
	var file strings.Builder
	file.WriteString("phone,uid,nome\n")
	for i := range n {
		fmt.Fprintf(&file, "%d,u%d,N\n", 11970000000+i, i)
	}
	return file.String()
}

func TestReview_Price(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	recipients := "phone;uid;nome\n11987654321;a;Ana\n11987654322;b;" + strings.Repeat("ã", 80) + "\n"
	page, _ := b.review(recipients, nil)
	says(t, page, http.StatusOK, "basic: 1, single: 1", "Send to")
	if strings.Contains(page.Text(), "R$") {
		t.Errorf("a price without prices: %s", page.Text())
	}
	b.billing(t, campaign.Spending{Month: 500_000_000})
	page, _ = b.review(recipients, nil)
	says(t, page, http.StatusOK, "basic: 1, single: 1", "R$ 0.17", "R$ 0.00 of R$ 500.00", "Send to")
}

// Each part has room, and all of them together have not.
func TestReview_BudgetOfAllParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing(t, campaign.Spending{Day: 125_000_000})
	page, _ := b.review(numbers(2500), nil)
	says(t, page, http.StatusOK, "R$ 125.00", "R$ 0.00 of R$ 125.00", "Send to")
	b.billing(t, campaign.Spending{Day: 124_990_000})
	page, _ = b.review(numbers(2500), nil)
	says(t, page, http.StatusOK, "cannot be sent yet", "The budget of the day or the month has no room", "R$ 0.00 of R$ 124.99")
	if strings.Contains(page.Text(), "Send to") {
		t.Error("the review offers to send it")
	}
}

// billing sets prices of 0.05 and 0.12, and limits.
func (b *bench) billing(t *testing.T, limits campaign.Spending) {
	t.Helper()
	err := b.store.SetBilling(t.Context(), b.tenant, campaign.Billing{Prices: campaign.Prices{Basic: 50_000, Single: 120_000}, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConfirm_RefusalIsNotAudited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, sent := b.review(file, nil)
	b.confirm(first, sent)
	second, address := b.review(file, nil)
	says(t, b.confirm(second, address), http.StatusConflict)
	if diff := cmp.Diff([]string{"admin@example.com campaign.dispatch Campanha"}, b.decided()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestErrorFile_Lines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review("phone;uid;nome\n\n11987654321;a;Ana\n(11) 98765-4321;b;Bia\n119;c;Caio\n", nil)
	says(t, page, http.StatusOK, "Messages to send 1", "Repeated number: an earlier line has it 1 line", "4 (11) 98765-4321")
	b.confirm(page, address)
	if len(b.handoffs.batches) != 1 {
		t.Fatalf("handed on: %+v", b.handoffs.batches)
	}
	rejected, err := b.blobs.Get(t.Context(), campaign.ErrorFileKey(b.handoffs.batches[0].ErrorFile))
	if err != nil || !strings.Contains(string(rejected), `"5","119","c",`) {
		t.Errorf("error file %q (%v), want line 5", rejected, err)
	}
}

// memory is a tenant without anything.
type memory struct{ sending.Store }

func (m memory) Templates(context.Context, string) ([]campaign.Template, error) { return nil, nil }

func (m memory) ArchivedTemplates(context.Context, string) (map[string]bool, error) { return nil, nil }

func (m memory) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{Tenant: "t", Content: content.Content{Text: "Olá {{nome}}"}}, nil
}

func (memory) ApprovalFrom(context.Context, string) (int, error) { return 0, nil }

func (memory) SaveApprovalFrom(context.Context, string, int, int, ...account.AuditEntry) error {
	return nil
}

func (memory) Submissions(context.Context, string) ([]submission.Submission, error) { return nil, nil }

func (memory) Dispatched(context.Context, campaign.ID) (campaign.Campaign, error) {
	return campaign.Campaign{}, nil
}

// The review names the people who get a message, those who opted out, and how long it takes.
func TestReview_Outlook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	err := b.store.SaveTenantAndAgent(t.Context(), campaign.Tenant{ID: b.tenant, AgentID: b.tenant}, campaign.Agent{ID: b.tenant, Rate: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	book := optout.Book{Store: b.store, Now: b.pages.Now}
	if err := book.Record(t.Context(), b.tenant, []campaign.OptChange{{Phone: "+5511987654322", Out: true, At: b.pages.Now()}}); err != nil {
		t.Fatal(err)
	}
	page, _ := b.review(file+"11987654323;c;Caio\n", nil)
	says(t, page, http.StatusOK, "Messages to send 2", "Opted out (nothing is sent) 1", "Time to send less than 1 minute", "Send to 2 people")
	page, _ = b.review("phone;uid;nome\n"+lines(300), nil)
	says(t, page, http.StatusOK, "about 5 minutes")
}

// lines returns lines of a file with valid numbers.
func lines(n int) string {
	var all strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&all, "119870%05d;u%d;Ana %d\n", i, i, i)
	}
	return all.String()
}

// The review shows the messages of other people too, without and with a script.
func TestReview_Samples(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file+"11987654323;c;Caio\n", nil)
	says(t, page, http.StatusOK, "Olá Ana", "line 2 of the file")
	if strings.Contains(page.Text(), "Previous") {
		t.Error("the first person has a previous one")
	}
	says(t, b.admin.Get(address+"?person=3"), http.StatusOK, "Olá Caio", "line 4 of the file", "Previous")
	script := b.admin
	script.Header = http.Header{"Hx-Request": {"true"}}
	part := script.Get(address + "/sample?person=2")
	says(t, part, http.StatusOK, "Olá Bia")
	if strings.Contains(part.Body, "<main") {
		t.Error("the update is a whole page")
	}
	for _, wrong := range []string{"0", "4", "x", "-1"} {
		if a := script.Get(address + "/sample?person=" + wrong); a.Status != http.StatusNotFound {
			t.Errorf("person %s answers %d, want 404", wrong, a.Status)
		}
	}
	other := b.SignIn("another", web.RoleAdmin)
	other.Header = script.Header
	if a := other.Get(address + "/sample"); a.Status != http.StatusNotFound {
		t.Errorf("another tenant: %d, want 404", a.Status)
	}
}

// drafted saves the form as a draft and returns its ID.
func (b *bench) drafted(file string, change fields) string {
	b.t.Helper()
	all := fields{"from": uuid(), "version": "0"}
	maps.Copy(all, change)
	a := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file, all)
	if a.Location != sending.DraftsPath {
		b.t.Fatalf("saving a draft: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	return all["from"]
}

// A draft keeps the form and its file until the campaign is sent.
func TestDraft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(file, fields{"name": "Natal", "schedule": "2037-11-22T09:00"})
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Natal", "lista.csv", "22 Nov 2037, 09:00", "admin@example.com")
	open := b.admin.Get("/dashboard/campaigns/new?from=" + id)
	if !strings.Contains(open.Body, `value="Natal"`) || !strings.Contains(open.Body, `value="2037-11-22T09:00"`) || !strings.Contains(open.Text(), "lista.csv") {
		t.Fatalf("the draft opens with %s", open.Body)
	}
	says(t, b.admin.Get(sending.SubmissionsPath), http.StatusOK, "No files")
	if page := b.admin.Get(sending.SubmissionsPath + "/" + id); page.Location != "/dashboard/campaigns/new?from="+id {
		t.Errorf("the page of the draft answers %d to %q", page.Status, page.Location)
	}
	form := fields{"name": "Natal", "from": id, "version": open.Value("version")}
	page, address := b.review(none, form)
	says(t, page, http.StatusOK, "Send to 2 people")
	if sent := b.confirm(page, address); sent.Location != address || len(b.handoffs.batches) != 1 {
		t.Fatalf("confirmed to %q, handed on %d", sent.Location, len(b.handoffs.batches))
	}
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "No drafts")
	if open := b.admin.Get("/dashboard/campaigns/new?from=" + id); open.Value("from") == id || strings.Contains(open.Text(), "lista.csv") {
		t.Errorf("the sent draft opens with %s", open.Body)
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.dispatch Natal", "admin@example.com campaign.draft Natal"}, b.decided()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// The second of two tabs overwrites nothing unless it saves again.
func TestDraft_TwoTabs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(none, fields{"name": "Um"})
	mine := fields{"name": "Dois", "from": id, "version": "1"}
	b.drafted(file, mine)
	other := fields{"name": "Outro", "from": id, "version": "1"}
	refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file+"11987654323;c;Caio\n", other)
	says(t, refused, http.StatusConflict, "while you were editing it")
	says(t, refused, http.StatusConflict, "Choose the file again: lista.csv.")
	if !strings.Contains(refused.Body, `value="Outro"`) {
		t.Errorf("the form lost the name: %s", refused.Body)
	}
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Dois")
	stored := b.admin.Get("/dashboard/campaigns/new?from=" + id)
	page, _ := b.review(none, fields{"name": "Dois", "from": id, "version": stored.Value("version")})
	says(t, page, http.StatusOK, "Send to 2 people")
	open := b.admin.Get("/dashboard/campaigns/new?from=" + id) // the review
	says(t, b.uploadTo("/dashboard/campaigns/new/draft", b.admin, none, other), http.StatusConflict, "while you were editing it")
	other["version"] = open.Value("version")
	b.drafted(none, other)
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Outro", "lista.csv")
}

// The campaign under review can be saved as a draft, and is no longer under review then. A page that
// is older than the last change saves nothing.
func TestDraft_OfReview(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, fields{"name": "Natal"})
	id := strings.TrimPrefix(address, sending.SubmissionsPath+"/")
	form := url.Values{"submission": {id}, "version": {page.Value("version")}}
	if a := b.admin.Post("/dashboard/campaigns/new/draft", form); a.Location != sending.DraftsPath {
		t.Fatalf("saving a draft: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	says(t, b.admin.Get(sending.SubmissionsPath), http.StatusOK, "No files")
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Natal", "lista.csv")
	open := b.admin.Get("/dashboard/campaigns/new?from=" + id)
	page, _ = b.review(none, fields{"name": "Natal", "from": open.Value("from"), "version": open.Value("version")})
	says(t, page, http.StatusOK, "Send to 2 people", "Olá Ana")
	says(t, b.admin.Post("/dashboard/campaigns/new/draft", form), http.StatusConflict, "while you were editing it")
	says(t, b.admin.Get(address), http.StatusOK, "Send to 2 people")
	form.Set("version", "x")
	says(t, b.admin.Post("/dashboard/campaigns/new/draft", form), http.StatusBadRequest)
}

// A draft that is under review in another tab is saved only by a person who was told. What was
// reviewed is not sent then.
func TestDraft_SavedWhileReviewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(file, fields{"name": "Um"})
	page, address := b.review(none, fields{"name": "Um", "from": id, "version": "1"})
	form := fields{"name": "Dois", "from": id, "version": "1"}
	refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, none, form)
	says(t, refused, http.StatusConflict, "admin@example.com saved this draft", "while you were editing it")
	form["version"] = refused.Value("version")
	b.drafted(none, form)
	if a := b.confirm(page, address); a.Location != address || len(b.handoffs.batches) > 0 {
		t.Errorf("confirmed to %q, handed on %d batches", a.Location, len(b.handoffs.batches))
	}
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Dois", "lista.csv")
}

// A draft that was sent, or waits for approval, in another tab becomes a new draft. What was sent is as
// it was.
func TestDraft_SavedWhileSent(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]int{"sent": 0, "approved": 1} {
		b := newBench(t)
		if err := b.store.SaveApprovalFrom(t.Context(), b.tenant, 0, rule); err != nil {
			t.Fatal(err)
		}
		id := b.drafted(file, fields{"name": "Um"})
		page, address := b.review(none, fields{"name": "Um", "from": id, "version": "1"})
		b.confirm(page, address)
		form := fields{"name": "Dois", "from": id, "version": "1"}
		refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, none, form)
		says(t, refused, http.StatusConflict, "does not exist any more")
		b.drafted(none, fields{"name": "Dois", "from": refused.Value("from"), "version": refused.Value("version")})
		if rule > 0 {
			hash := url.Values{"decision": {"approve"}, "hash": {page.Value("hash")}}
			b.SignIn(b.tenant, web.RoleApprover).Post(address+"/decide", hash)
		}
		if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].CampaignID != id {
			t.Errorf("%s: handed on %d batches, want 1", name, len(b.handoffs.batches))
		}
		says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Dois")
	}
}

// A draft that was deleted in another tab can be saved again with what was entered.
func TestDraft_DeletedInAnotherTab(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(none, fields{"name": "Um"})
	b.admin.Post(sending.DraftsPath+"/"+id+"/delete", nil)
	form := fields{"name": "Dois", "from": id, "version": "1"}
	refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file, form)
	says(t, refused, http.StatusConflict, "does not exist any more")
	if !strings.Contains(refused.Body, `value="Dois"`) {
		t.Errorf("the form lost the name: %s", refused.Body)
	}
	b.drafted(file, fields{"name": "Dois", "from": refused.Value("from"), "version": refused.Value("version")})
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Dois", "lista.csv")
}

// Of several saves at once one takes effect, and the draft has its file.
func TestDraft_Races(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(none, fields{"name": "Um"})
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			people := i + 1
			form := fields{"name": "Lista " + strconv.Itoa(people), "from": id, "version": "1"}
			b.uploadTo("/dashboard/campaigns/new/draft", b.admin, numbers(people), form)
		})
	}
	all.Wait()
	d, err := b.store.Submission(t.Context(), campaign.ID{Tenant: b.tenant, CampaignID: id})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := b.blobs.Get(t.Context(), d.FileKey())
	people, _ := strconv.Atoi(strings.TrimPrefix(d.Name, "Lista "))
	if want := numbers(people); err != nil || d.Version != 2 || string(stored) != want {
		t.Errorf("version %d of %q has the file %q (%v), want %q", d.Version, d.Name, stored, err, want)
	}
}

// A draft of a past time says so. A draft whose file was erased asks for it.
func TestDraft_Opens(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(file, fields{"schedule": "2037-11-20T09:00"})
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "Has passed")
	says(t, b.admin.Get("/dashboard/campaigns/new?from="+id), http.StatusOK, "The time of the draft has passed")
	d, err := b.store.Submission(t.Context(), campaign.ID{Tenant: b.tenant, CampaignID: id})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.blobs.Delete(t.Context(), d.FileKey()); err != nil {
		t.Fatal(err)
	}
	says(t, b.admin.Get("/dashboard/campaigns/new?from="+id), http.StatusOK, "The file of the draft was deleted")
	other := b.SignIn("another", web.RoleAdmin)
	if a := other.Get("/dashboard/campaigns/new?from=" + id); a.Status != http.StatusNotFound {
		t.Errorf("another tenant: %d, want 404", a.Status)
	}
	other.Post(sending.DraftsPath+"/"+id+"/delete", nil)
	for range 2 { // a double click
		if a := b.admin.Post(sending.DraftsPath+"/"+id+"/delete", nil); a.Location != sending.DraftsPath {
			t.Errorf("deleting answers %d to %q", a.Status, a.Location)
		}
	}
	says(t, b.admin.Get(sending.DraftsPath), http.StatusOK, "No drafts")
}

// A row has 400 KB at most. Whatever a form sends, it can be saved and read again.
func TestForm_LongFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Repeat("1", 500_000)
	id := b.drafted(none, fields{"schedule": long, "notAfter": long, "template": long})
	if form := b.admin.Get("/dashboard/campaigns/new?from=" + id); form.Status != http.StatusOK || len(form.Body) > 100_000 {
		t.Errorf("%d, %d bytes", form.Status, len(form.Body))
	}
}
