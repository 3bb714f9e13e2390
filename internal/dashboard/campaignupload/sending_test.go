package campaignupload_test

import (
	"bytes"
	"context"
	"crypto/rand"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/campaignupload"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/localstack/stackenv"
)

// bench is a dashboard with the upload pages, a new tenant, and the real dispatch service
// on the stack's tables and bucket.
type bench struct {
	*webtest.Dashboard
	t        *testing.T
	store    *dynamotest.Store
	pages    *campaignupload.Pages
	dispatch *flaky
	tenant   string
	template string // needs nome
	handoffs *handoffs
	admin    webtest.Person
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
	left    int    // calls that succeed; negative for all
	judging func() // called before each check, where there is one
	making  func() // called before each acceptance, where there is one
	taken   func() // called after each acceptance, where there is one
}

var errAway = errors.New("the table is away")

func (f *flaky) Check(ctx context.Context, c dispatch.Call) (dispatch.Verdict, error) {
	if f.judging != nil {
		f.judging()
	}
	return f.Service.Check(ctx, c)
}

func (f *flaky) Accept(ctx context.Context, c dispatch.Call) (dispatch.Receipt, error) {
	if f.left == 0 {
		return dispatch.Receipt{}, errAway
	}
	f.left--
	if f.making != nil {
		f.making()
	}
	r, err := f.Service.Accept(ctx, c)
	if err == nil && f.taken != nil {
		f.taken()
	}
	return r, err
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
	blobs := &s3.Store{Client: awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	b := &bench{t: t, store: store, tenant: "t-" + strings.ToLower(rand.Text()), handoffs: &handoffs{}}
	b.template = b.putTemplate(b.tenant, "Olá {{nome}}")
	b.dispatch = &flaky{Service: &dispatch.Service{
		Store: store, Blobs: blobs, Releases: b.handoffs, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20},
		Now: clock, Lead: 5 * time.Minute, Grace: time.Minute,
	}, left: -1}
	b.pages = &campaignupload.Pages{
		Store: store, Blobs: blobs, Dispatch: b.dispatch, OptOuts: &optout.Book{Store: store, Now: clock}, Now: clock, Lead: 5 * time.Minute, Upload: noUpload,
	}
	b.Dashboard = webtest.New(t, campaignupload.Area(), b.pages, clock)
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

// review uploads a file. It returns the review page and its path.
func (b *bench) review(file string, change fields) (webtest.Answer, string) {
	b.t.Helper()
	got := b.upload(b.admin, file, change)
	if got.Status != http.StatusSeeOther || !strings.HasPrefix(got.Location, "/dashboard/campaigns/new/review?upload=") {
		b.t.Fatalf("answered %d to %q\n%s", got.Status, got.Location, got.Text())
	}
	return b.admin.Get(got.Location), got.Location
}

// confirm posts the form of a review.
func (b *bench) confirm(page webtest.Answer) webtest.Answer {
	b.t.Helper()
	form := url.Values{"upload": {page.Value("upload")}, "version": {page.Value("version")}, "now": {page.Value("now")}}
	return b.admin.Post("/dashboard/campaigns/new/confirm", form)
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

func TestConfirm_SendsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, nil)
	says(t, page, http.StatusOK, "Messages to send 2", "Invalid numbers 0", "Olá Ana", "Send to 2 people")
	if len(b.handoffs.batches) > 0 {
		t.Fatal("the review has sent it")
	}
	first := b.confirm(page)
	again := b.confirm(page)
	if first.Status != http.StatusSeeOther || first.Location != again.Location {
		t.Fatalf("answered %d %q, then %q\n%s", first.Status, first.Location, again.Location, first.Text())
	}
	id := strings.TrimPrefix(first.Location, "/dashboard/campaigns/")
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].CampaignID != id || b.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.dispatch Campanha"}, b.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	if later := b.admin.Get(address); later.Location != first.Location {
		t.Errorf("the review of a campaign that was sent leads to %q", later.Location)
	}
}

func TestReview_EveryLine(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review("phone;uid;nome\n11987654321;a;Jo\xe3o\n5511987654321;b;Bia\n119;c;Caio\n5,51199E+12;d;Davi\n;e;Eva\n", nil)
	says(t, page, http.StatusOK, "Messages to send 1", "Invalid numbers 3", "Repeated numbers 1", "read as Windows-1252", "Olá João",
		"4 119 Too many or too few digits", "5 5,51199E+12 Excel has shortened the number", "6 The phone number is empty", "3 5511987654321 2")

	page, _ = b.review("phone;uid;nome\n11987654321;a;\n11987654322;;Bia\n", nil)
	for _, untrue := range []string{"Messages to send", "As soon as you confirm", "What will be sent"} {
		if strings.Contains(page.Text(), untrue) {
			t.Errorf("the review of what cannot be sent says %q", untrue)
		}
	}
	says(t, page, http.StatusOK, "cannot be sent yet", "Lines in the file 2", "2 nome The value of this variable", "3 uid The customer code (uid) is empty")
	if strings.Contains(page.Text(), "Send to") {
		t.Error("the review offers to send it")
	}
	if got := b.confirm(page); !strings.HasPrefix(got.Location, "/dashboard/campaigns/new/review") || len(b.handoffs.batches) > 0 {
		t.Errorf("confirming leads to %q, handed off %+v", got.Location, b.handoffs.batches)
	}
	if audited := b.Audited(); len(audited) > 0 {
		t.Errorf("what was not sent is in the audit log: %q", audited)
	}
	page, _ = b.review("phone;uid;nome\n119;a;Ana\n", nil)
	says(t, page, http.StatusOK, "None of the file's numbers is valid")
}

func TestReview_ColumnsOfOtherNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review("NOME;Celular;Código\nAna;(11) 98765-4321;a\nBia;11987654322;b\n", nil)
	says(t, page, http.StatusOK, "Messages to send 2", "Olá Ana",
		"The phone numbers are from the column Celular.", "The uid of each message is from the column Código.")
	b.confirm(page)
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
	page, _ = b.review(file, nil)
	if strings.Contains(page.Text(), "from the column") {
		t.Errorf("the review names the columns phone and uid:\n%s", page.Text())
	}
}

func TestConfirm_Scheduled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review(file, fields{"schedule": "2037-11-21T12:03", "notAfter": "2037-11-21T11:00"})
	says(t, page, http.StatusOK, "at least 5 minutes ahead", "deadline must be later")
	page, _ = b.review(file, fields{"schedule": "2037-11-22T09:00", "notAfter": "2037-11-22T20:00"})
	says(t, page, http.StatusOK, "22 Nov 2037, 09:00", "22 Nov 2037, 20:00", "Schedule for")
	b.confirm(page)
	if diff := cmp.Diff([]string{"admin@example.com campaign.schedule Campanha"}, b.Audited()); diff != "" {
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

func TestReview_CorrectedForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review(file, nil)
	b.confirm(page)
	page, address := b.review(file, nil)
	says(t, page, http.StatusOK, "Another campaign has this name already")
	id := strings.TrimPrefix(address, "/dashboard/campaigns/new/review?upload=")
	form := b.admin.Get("/dashboard/campaigns/new?from=" + id)
	says(t, form, http.StatusOK, "lista.csv")
	page, _ = b.review(none, fields{"from": id, "name": "Outra campanha"})
	says(t, page, http.StatusOK, "Review: Outra campanha", "Messages to send 2", "Send to")
	says(t, b.upload(b.admin, "", fields{"from": id}), http.StatusUnprocessableEntity, "The file is empty")
}

func TestConfirm_ResumesAfterFailure(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(4001), nil)
	says(t, page, http.StatusOK, "Messages to send 4,001")
	b.dispatch.left = 2
	says(t, b.confirm(page), http.StatusInternalServerError)
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "2 of 3 parts of this campaign were accepted already", "Messages to send 1", "Continue sending")
	b.dispatch.left = -1
	if got := b.confirm(page); !strings.HasPrefix(got.Location, "/dashboard/campaigns/") {
		t.Fatalf("answered %d %q", got.Status, got.Location)
	}
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
	if got := b.confirm(page); got.Location != address || len(b.handoffs.batches) > 0 {
		t.Fatalf("led to %q, handed on %+v", got.Location, b.handoffs.batches)
	}
	says(t, b.admin.Get(address), http.StatusOK, "Tchau Ana", "version 2")
	changed.Text = "{{nome}} {{cupom}}"
	if _, err := b.store.PutTemplate(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "The column cupom is missing", "version 3")
	if got := b.confirm(page); got.Location != address || len(b.handoffs.batches) > 0 {
		t.Errorf("led to %q, handed on %+v", got.Location, b.handoffs.batches)
	}
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
		"a column missing":   {"phone;uid;Name\n1;a;Ana\n", nil, "The column nome is missing. In its first line, the file has: phone, uid, Name."},
		"all missing":        {"contato\n1\n", nil, "The columns phone, uid, nome are missing. In its first line, the file has: contato. The uid is what"},
		"too many columns":   {"phone;uid;nome" + strings.Repeat(";", 5000) + "\n1;a\n", nil, "more than 100 columns"},
		"no template":        {file, fields{"template": uuid()}, "There is no such template"},
		"a foreign template": {file, fields{"template": foreign}, "There is no such template"},
		"a workbook":         {"PK\x03\x04", nil, "This is an Excel workbook"},
		"no uid":             {"phone;nome\n1;Ana\n", nil, "The column uid is missing"},
		"too many cells":     {"phone;uid;nome\n1;a;b;c\n", nil, "Line 2: it has 4 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, b.upload(b.admin, test.file, test.change), http.StatusUnprocessableEntity, "corrected first", test.says)
		})
	}
}

func TestUpload_Roles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(file, fields{"name": "<script>alert(1)</script>"})
	if strings.Contains(page.Body, "<script>alert") || !strings.Contains(page.Text(), "Review: <script>alert(1)</script>") {
		t.Error("the name is not shown as text")
	}
	viewer, other := b.SignIn(b.tenant, web.RoleViewer), b.SignIn("t-other", web.RoleAdmin)
	for _, path := range []string{"/dashboard/campaigns/new", "/dashboard/campaigns/new/columns", "/dashboard/campaigns/new/example", address} {
		says(t, viewer.Get(path), http.StatusForbidden)
	}
	says(t, b.upload(viewer, file, nil), http.StatusForbidden)
	says(t, b.upload(b.admin, file, fields{"csrf": "wrong"}), http.StatusForbidden)
	form := url.Values{"upload": {page.Value("upload")}, "version": {"1"}}
	says(t, viewer.Post("/dashboard/campaigns/new/confirm", form), http.StatusForbidden)
	says(t, other.Post("/dashboard/campaigns/new/confirm", form), http.StatusNotFound)
	says(t, other.Get(address), http.StatusNotFound)
	says(t, other.Get("/dashboard/campaigns/new/example?template="+b.template), http.StatusNotFound)
	says(t, b.admin.Get("/dashboard/campaigns/new/review?upload=../errors/x"), http.StatusNotFound)
	form.Set("csrf", "")
	says(t, b.admin.Post("/dashboard/campaigns/new/confirm", form), http.StatusForbidden)
	if len(b.handoffs.batches) > 0 {
		t.Errorf("handed on: %+v", b.handoffs.batches)
	}
}

func TestForm_Columns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	says(t, b.admin.Get("/dashboard/campaigns/new?template="+b.template), http.StatusOK, "phone uid nome", "At least 5 minutes ahead")
	overlong := "?template=" + strings.Repeat("x", 3000)
	says(t, b.admin.Get("/dashboard/campaigns/new"+overlong), http.StatusOK, "phone uid nome")
	says(t, b.admin.Get("/dashboard/campaigns/new/columns"+overlong), http.StatusNotFound)
	if body := b.admin.Get("/dashboard/campaigns/new").Body; strings.Index(body, ">Check<") > strings.Index(body, `formaction="`) {
		t.Error("the button that checks is not the first, which the enter key presses")
	}
	chosen := b.admin.Post("/dashboard/campaigns/new/columns", url.Values{"template": {b.putTemplate(b.tenant, "{{cupom}}")}, "name": {"Meio escrita"}})
	if says(t, chosen, http.StatusOK, "phone uid cupom"); !strings.Contains(chosen.Body, `value="Meio escrita"`) {
		t.Error("what was entered is gone")
	}
	part := b.admin.Get("/dashboard/campaigns/new/columns?template=" + b.template)
	if says(t, part, http.StatusOK, "phone uid nome"); strings.Contains(part.Body, "<html") {
		t.Errorf("the fragment is\n%s", part.Body)
	}
	example := b.admin.Get("/dashboard/campaigns/new/example?template=" + b.template)
	if example.Body != "\ufeffphone;uid;nome\r\n11900000000;customer-1;nome\r\n" {
		t.Errorf("example %q", example.Body)
	}
	page, _ := b.review(example.Body, nil)
	says(t, page, http.StatusOK, "Messages to send 1", "Send to")
}

// The rest of a campaign is sent at once if its scheduled time has passed.
func TestConfirm_ResumesAfterScheduledTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(2001), fields{"schedule": "2037-11-21T13:00"})
	b.dispatch.left = 1
	says(t, b.confirm(page), http.StatusInternalServerError)
	b.dispatch.left = -1
	b.dispatch.Now = func() time.Time { return b.UI.Now().Add(2 * time.Hour) }
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "1 of 2 parts", "too late for the schedule", "As soon as you confirm", "Continue sending")
	b.confirm(page)
	if len(b.handoffs.batches) != 2 || b.handoffs.batches[1].Scheduled {
		t.Errorf("handed on: %+v, want the second at once", b.handoffs.batches)
	}
}

// The rest of a campaign goes with the parts that were rescheduled.
func TestConfirm_ResumesRescheduled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(2001), fields{"schedule": "2037-11-21T13:00"})
	b.billing(t, campaign.Spending{Day: 100_000_000}) // for one part
	if got := b.confirm(page); got.Location != address || len(b.handoffs.batches) != 1 {
		t.Fatalf("led to %q, %d batches; want the review after 1", got.Location, len(b.handoffs.batches))
	}
	c, err := b.store.Dispatched(t.Context(), b.handoffs.batches[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	due := time.Date(2037, 11, 22, 16, 0, 0, 0, time.UTC)
	if _, moved, err := b.store.MoveCampaign(t.Context(), c, due, due); err != nil || !moved {
		t.Fatalf("rescheduled: %t, %v", moved, err)
	}
	b.billing(t, campaign.Spending{Day: 200_000_000})
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "1 of 2 parts", "22 Nov 2037, 13:00", "Continue sending")
	if done := b.admin.Follow(b.confirm(page)).Text(); !strings.Contains(done, "is scheduled for 22 Nov 2037, 13:00") {
		t.Error(done)
	}
	if len(b.handoffs.batches) != 2 || !b.handoffs.batches[1].Due.Equal(due) {
		t.Errorf("handed on: %+v, want the second at %v", b.handoffs.batches, due)
	}
}

// Each check of a part advances the clock by six seconds.
func TestConfirm_CheckOutOfTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(28_001), nil)
	says(t, page, http.StatusOK, "Messages to send 28,001")
	var checked atomic.Int64
	b.pages.Now = func() time.Time { return b.UI.Now().Add(time.Duration(checked.Load()) * 6 * time.Second) }
	b.dispatch.judging = func() { checked.Add(1) }
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "There was no time to check the file beyond line", "split the file")
	if strings.Contains(page.Text(), "Send to") || checked.Load() > 14 {
		t.Errorf("%d of 15 parts were checked:\n%s", checked.Load(), page.Text())
	}
}

// A campaign that was checked once resumes without another check.
func TestConfirm_ResumesWithoutAnotherCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, address := b.review(numbers(4001), nil)
	b.dispatch.left = 1
	says(t, b.confirm(page), http.StatusInternalServerError)
	b.dispatch.left = -1
	var asked atomic.Int64
	b.pages.Now = func() time.Time { return b.UI.Now().Add(time.Duration(asked.Add(1)) * 8 * time.Second) }
	page = b.admin.Get(address)
	says(t, page, http.StatusOK, "1 of 3 parts", "Messages to send 2,000", "Continue sending")
	b.pages.Now = b.UI.Now
	if got := b.confirm(page); !strings.HasPrefix(got.Location, "/dashboard/campaigns/") || len(b.handoffs.batches) != 3 {
		t.Errorf("led to %q, %d batches", got.Location, len(b.handoffs.batches))
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
	err := b.store.SaveBilling(t.Context(), b.tenant, campaign.Billing{Prices: campaign.Prices{Basic: 50_000, Single: 120_000}, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
}

func TestConfirm_RefusalIsNotAudited(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, _ := b.review(file, nil)
	second, address := b.review(file, nil)
	b.confirm(first)
	if got := b.confirm(second); got.Location != address {
		t.Errorf("led to %q", got.Location)
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.dispatch Campanha"}, b.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestErrorFile_Lines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review("phone;uid;nome\n\n11987654321;a;Ana\n(11) 98765-4321;b;Bia\n119;c;Caio\n", nil)
	says(t, page, http.StatusOK, "Messages to send 1", "4 11987654321 3")
	b.confirm(page)
	if len(b.handoffs.batches) != 1 {
		t.Fatalf("handed on: %+v", b.handoffs.batches)
	}
	rejected, err := b.dispatch.Blobs.Get(t.Context(), "errors/"+b.handoffs.batches[0].ErrorFile)
	if err != nil || !strings.Contains(string(rejected), `"5","119","c",`) {
		t.Errorf("error file %q (%v), want line 5", rejected, err)
	}
}

// broken is a store that fails to read batches.
type broken struct {
	memory
	reads *int
}

func (s broken) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	*s.reads++
	return campaign.Batch{}, errors.New("the table does not answer")
}

func TestReview_BatchesNotReadable(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	reads := 0
	pages := &campaignupload.Pages{
		Store: broken{reads: &reads}, Dispatch: memory{}, OptOuts: memory{}, Now: now,
		Blobs: memory{`{"name":"n","templateId":"5b0e6d3c-0000-4000-8000-000000000001"}` + "\n" + numbers(9000)}, // 5 parts
	}
	who := webtest.New(t, campaignupload.Area(), pages, now).SignIn("t", web.RoleAdmin)
	got := who.Get("/dashboard/campaigns/new/review?upload=AAAAAAAAAAAAAAAAAAAAAA")
	if got.Status != http.StatusInternalServerError || reads != 1 {
		t.Errorf("answered %d after %d reads, want 500 after 1", got.Status, reads)
	}
}

func BenchmarkReview(b *testing.B) {
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &campaignupload.Pages{Store: memory{}, Blobs: memory{`{"name":"n","templateId":"5b0e6d3c-0000-4000-8000-000000000001"}` + "\n" + numbers(100)}, Dispatch: memory{}, OptOuts: memory{}, Now: now}
	who := webtest.New(b, campaignupload.Area(), pages, now).SignIn("t", web.RoleAdmin)
	for b.Loop() {
		if got := who.Get("/dashboard/campaigns/new/review?upload=AAAAAAAAAAAAAAAAAAAAAA"); got.Status != http.StatusOK {
			b.Fatalf("answered %d", got.Status)
		}
	}
}

// memory holds the rows that the pages read, so that the benchmark measures the pages.
type memory struct{ upload string }

func (m memory) Templates(context.Context, string) ([]campaign.Template, error) { return nil, nil }

func (m memory) ArchivedTemplates(context.Context, string) (map[string]bool, error) { return nil, nil }

func (m memory) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{Tenant: "t", Content: content.Content{Text: "Olá {{nome}}"}}, nil
}

func (memory) ApprovalFrom(context.Context, string) (int, error) { return 0, nil }

func (memory) SaveApprovalFrom(context.Context, string, int, int) error { return nil }

func (memory) Approval(context.Context, string, string) (campaign.Approval, error) {
	return campaign.Approval{}, campaign.ErrNotFound
}

func (memory) AskApproval(context.Context, campaign.Approval) error { return nil }

func (memory) SaveApproval(context.Context, campaign.Approval, campaign.ApprovalState) error {
	return nil
}

func (memory) Drafts(context.Context, string) ([]campaign.Draft, error) { return nil, nil }

func (memory) Draft(context.Context, string, string) (campaign.Draft, error) {
	return campaign.Draft{}, campaign.ErrNotFound
}

func (memory) SaveDraft(context.Context, campaign.Draft) error { return nil }

func (memory) DeleteDraft(context.Context, campaign.Draft) (bool, error) { return true, nil }

func (memory) Delete(context.Context, string) error { return nil }

func (memory) Tenant(context.Context, string) (campaign.Tenant, error) { return campaign.Tenant{}, nil }

func (memory) Agent(context.Context, string) (campaign.Agent, error) { return campaign.Agent{}, nil }

func (memory) Of(context.Context, string) (func(string) bool, error) {
	return func(string) bool { return false }, nil
}

func (memory) Dispatched(context.Context, campaign.ID) (campaign.Campaign, error) {
	return campaign.Campaign{}, nil
}

func (m memory) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return campaign.Batch{}, campaign.ErrNotFound
}

func (m memory) Put(context.Context, string, []byte, string) error { return nil }

func (m memory) Get(context.Context, string) ([]byte, error) { return []byte(m.upload), nil }

func (memory) Check(context.Context, dispatch.Call) (dispatch.Verdict, error) {
	return dispatch.Verdict{Accepted: 100}, nil
}

func (memory) Accept(context.Context, dispatch.Call) (dispatch.Receipt, error) {
	return dispatch.Receipt{Accepted: 100}, nil
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
	says(t, page, http.StatusOK, "Messages to send 2", "Opted out (left out) 1", "Time to send less than 1 minute", "Send to 2 people")
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
	says(t, b.admin.Get(address+"&person=3"), http.StatusOK, "Olá Caio", "line 4 of the file", "Previous")
	id := page.Value("upload")
	script := b.admin
	script.Header = http.Header{"Hx-Request": {"true"}}
	part := script.Get("/dashboard/campaigns/new/review/sample?upload=" + id + "&person=2")
	says(t, part, http.StatusOK, "Olá Bia")
	if strings.Contains(part.Body, "<main") {
		t.Error("the update is a whole page")
	}
	for _, wrong := range []string{"0", "4", "x", "-1"} {
		if a := script.Get("/dashboard/campaigns/new/review/sample?upload=" + id + "&person=" + wrong); a.Status != http.StatusNotFound {
			t.Errorf("person %s answers %d, want 404", wrong, a.Status)
		}
	}
	other := b.SignIn("another", web.RoleAdmin)
	other.Header = script.Header
	if a := other.Get("/dashboard/campaigns/new/review/sample?upload=" + id); a.Status != http.StatusNotFound {
		t.Errorf("another tenant: %d, want 404", a.Status)
	}
}

// drafted saves the form as a draft and returns its ID.
func (b *bench) drafted(file string, change fields) string {
	b.t.Helper()
	all := fields{"draft": uuid(), "draftVersion": "0"}
	maps.Copy(all, change)
	a := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file, all)
	if a.Location != campaignupload.DraftsPath {
		b.t.Fatalf("saving a draft: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	return all["draft"]
}

// A draft keeps the form and its file until the campaign is sent.
func TestDraft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(file, fields{"name": "Natal", "schedule": "2037-11-22T09:00"})
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "Natal", "lista.csv", "22 Nov 2037, 09:00", "admin@example.com")
	open := b.admin.Get("/dashboard/campaigns/new?draft=" + id)
	if !strings.Contains(open.Body, `value="Natal"`) || !strings.Contains(open.Body, `value="2037-11-22T09:00"`) || open.Value("from") == "" || !strings.Contains(open.Text(), "lista.csv") {
		t.Fatalf("the draft opens with %s", open.Body)
	}
	form := fields{"name": "Natal", "from": open.Value("from"), "draft": id, "draftVersion": open.Value("draftVersion")}
	page, _ := b.review(none, form)
	says(t, page, http.StatusOK, "Send to 2 people")
	if sent := b.confirm(page); !strings.HasPrefix(sent.Location, "/dashboard/campaigns/") || len(b.handoffs.batches) != 1 {
		t.Fatalf("confirmed to %q, handed on %d", sent.Location, len(b.handoffs.batches))
	}
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "No drafts")
	if a := b.admin.Get("/dashboard/campaigns/new?draft=" + id); a.Status != http.StatusNotFound {
		t.Errorf("the sent draft answers %d, want 404", a.Status)
	}
}

// The second of two tabs overwrites nothing unless it saves again.
func TestDraft_TwoTabs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(none, fields{"name": "Um"})
	mine := fields{"name": "Dois", "draft": id, "draftVersion": "1"}
	b.drafted(file, mine)
	other := fields{"name": "Outro", "draft": id, "draftVersion": "1"}
	refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file+"11987654323;c;Caio\n", other)
	says(t, refused, http.StatusConflict, "while you were editing it")
	if !strings.Contains(refused.Body, `value="Outro"`) || refused.Value("from") == "" {
		t.Errorf("the form lost the name or the file: %s", refused.Body)
	}
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "Dois")
	stored := b.admin.Get("/dashboard/campaigns/new?draft=" + id)
	page, _ := b.review(none, fields{"name": "Dois", "from": stored.Value("from"), "draft": id, "draftVersion": stored.Value("draftVersion")})
	says(t, page, http.StatusOK, "Send to 2 people")
	other["from"], other["draftVersion"] = refused.Value("from"), refused.Value("draftVersion")
	b.drafted(none, other)
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "Outro", "lista.csv")
}

// Sending a version of a draft does not delete a later one.
func TestDraft_SavedWhileSent(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]int{"sent": 0, "approved": 1} {
		b := newBench(t)
		if err := b.store.SaveApprovalFrom(t.Context(), b.tenant, 0, rule); err != nil {
			t.Fatal(err)
		}
		id := b.drafted(file, fields{"name": "Um"})
		page, _ := b.review(file, fields{"draft": id, "draftVersion": "1"})
		b.drafted(none, fields{"name": "Dois", "draft": id, "draftVersion": "1"})
		if asked := b.confirm(page); rule > 0 {
			hash := url.Values{"decision": {"approve"}, "hash": {b.admin.Get(asked.Location).Value("hash")}}
			b.SignIn(b.tenant, web.RoleApprover).Post(asked.Location, hash)
		}
		if len(b.handoffs.batches) != 1 {
			t.Errorf("%s: handed on %d batches, want 1", name, len(b.handoffs.batches))
		}
		says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "Dois")
	}
}

// A draft that was deleted in another tab can be saved again with what was entered.
func TestDraft_DeletedInAnotherTab(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.drafted(none, fields{"name": "Um"})
	b.admin.Post(campaignupload.DraftsPath+"/"+id+"/delete", nil)
	form := fields{"name": "Dois", "draft": id, "draftVersion": "1"}
	refused := b.uploadTo("/dashboard/campaigns/new/draft", b.admin, file, form)
	says(t, refused, http.StatusConflict, "does not exist any more")
	if !strings.Contains(refused.Body, `value="Dois"`) {
		t.Errorf("the form lost the name: %s", refused.Body)
	}
	b.drafted(none, fields{"name": "Dois", "from": refused.Value("from"), "draft": refused.Value("draft"), "draftVersion": refused.Value("draftVersion")})
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "Dois", "lista.csv")
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
			form := fields{"name": "Lista " + strconv.Itoa(people), "draft": id, "draftVersion": "1"}
			b.uploadTo("/dashboard/campaigns/new/draft", b.admin, numbers(people), form)
		})
	}
	all.Wait()
	d, err := b.store.Draft(t.Context(), b.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := b.pages.Blobs.Get(t.Context(), d.Blob())
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
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "has passed")
	says(t, b.admin.Get("/dashboard/campaigns/new?draft="+id), http.StatusOK, "The time of the draft has passed")
	d, err := b.store.Draft(t.Context(), b.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.pages.Blobs.Delete(t.Context(), d.Blob()); err != nil {
		t.Fatal(err)
	}
	says(t, b.admin.Get("/dashboard/campaigns/new?draft="+id), http.StatusOK, "The file of the draft was deleted")
	other := b.SignIn("another", web.RoleAdmin)
	if a := other.Get("/dashboard/campaigns/new?draft=" + id); a.Status != http.StatusNotFound {
		t.Errorf("another tenant: %d, want 404", a.Status)
	}
	other.Post(campaignupload.DraftsPath+"/"+id+"/delete", nil)
	for range 2 { // a double click
		if a := b.admin.Post(campaignupload.DraftsPath+"/"+id+"/delete", nil); a.Location != campaignupload.DraftsPath {
			t.Errorf("deleting answers %d to %q", a.Status, a.Location)
		}
	}
	says(t, b.admin.Get(campaignupload.DraftsPath), http.StatusOK, "No drafts")
}

// A template that somebody changes while a large file is sent stops the rest.
func TestConfirm_TemplateChangesMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	page, _ := b.review("phone;uid;nome\n"+lines(campaign.MaxMessages+1), nil)
	b.dispatch.taken = func() {
		if _, err := b.store.PutTemplate(t.Context(), campaign.Template{ID: b.template, Tenant: b.tenant, Name: "T", Content: content.Content{Text: "Tchau {{nome}}"}}); err != nil {
			t.Error(err)
		}
	}
	got := b.confirm(page)
	if !strings.HasPrefix(got.Location, "/dashboard/campaigns/new/review") || len(b.handoffs.batches) != 1 {
		t.Fatalf("confirmed to %q, handed on %d, want the review and 1", got.Location, len(b.handoffs.batches))
	}
	says(t, b.admin.Get(got.Location), http.StatusOK, "Tchau Ana")
}
