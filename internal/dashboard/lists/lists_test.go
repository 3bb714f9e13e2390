package lists_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	listpages "campaign-dispatch/internal/dashboard/lists"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake/listfile"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
)

const (
	ana  = "+5511987654321"
	bia  = "+5511987654322"
	caio = "+5511987654323"
	list = "/dashboard/lists/nao-me-ligue"
)

// office has the lists and the files of the tenant acme in memory.
type office struct {
	port.Uploads
	*webtest.Dashboard
	t *testing.T

	mu      sync.Mutex
	rows    map[string]lists.List
	objects map[string][]byte
	audited []string
	held    map[string]int // by campaign, of the list with the number 1

	book          *book.Book
	admin, viewer webtest.Person
}

func newOffice(t *testing.T) *office {
	t.Helper()
	clock := func() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }
	o := &office{t: t, rows: map[string]lists.List{}, objects: map[string][]byte{}}
	o.book = &book.Book{Store: o, Blobs: o, Now: clock}
	pages := &listpages.Pages{Book: o.book, Files: &listfile.Store{Blobs: o, Stat: o.stat}, Campaigns: o, Origin: origin, Now: clock}
	o.Dashboard = webtest.Serve(t, webtest.UI(t, clock), listpages.Area(), pages, people.Area(), sending.Area())
	o.admin, o.viewer = o.SignIn("acme", web.RoleAdmin), o.SignIn("acme", web.RoleViewer)
	return o
}

func origin(context.Context) (string, error) { return "https://bucket.example", nil }

func (o *office) Lists(context.Context, string) ([]lists.List, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Values(o.rows), func(a, b lists.List) int { return a.Number - b.Number }), nil
}

// ListAdditions is always 0: no test adds two lists at once.
func (*office) ListAdditions(context.Context, string) (int, error) { return 0, nil }

func (o *office) AddList(ctx context.Context, l lists.List, _ int, e account.AuditEntry) (bool, error) {
	return o.SaveList(ctx, l, e)
}

func (o *office) SaveList(_ context.Context, l lists.List, e account.AuditEntry) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.rows[l.Name].Version != l.Version {
		return false, nil
	}
	l.Version++
	o.rows[l.Name] = l
	o.audited = append(o.audited, e.Action+" "+e.Subject)
	return true, nil
}

func (o *office) Get(_ context.Context, key string) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if body, ok := o.objects[key]; ok {
		return body, nil
	}
	return nil, campaign.ErrNotFound
}

func (o *office) stat(ctx context.Context, key string) (tag string, size int64, err error) {
	body, err := o.Get(ctx, key)
	return "tag", int64(len(body)), err
}

func (o *office) Put(_ context.Context, key string, body []byte, _ string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.objects[key] = body
	return nil
}

// Renew does nothing: objects in memory have no time.
func (*office) Renew(context.Context, string) error { return nil }

func (o *office) Delete(_ context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.objects, key)
	return nil
}

func (o *office) ListCampaigns(context.Context, string, string, int32) (all []campaign.Listed, err error) {
	for _, id := range slices.Sorted(maps.Keys(o.held)) {
		all = append(all, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: "Campanha " + id})
	}
	return all, nil
}

func (o *office) Overview(_ context.Context, id campaign.ID) (c campaign.Campaign, err error) {
	reasons := map[campaign.Reason]int{
		{Outcome: campaign.OutcomeFailed, Code: campaign.CodeSuppressed, List: 1}: o.held[id.CampaignID],
		{Outcome: campaign.OutcomeFailed, Code: campaign.CodeSuppressed, List: 2}: 7,
	}
	c.ID, c.Batches = id, []campaign.BatchProgress{{Head: campaign.LedgerSummary{Reasons: reasons}}}
	return c, nil
}

// create creates the list nao-me-ligue with numbers.
func (o *office) create(numbers ...uint64) {
	o.t.Helper()
	c := lists.Change{Settings: &lists.Settings{Reason: "Lei 17.334"}, Add: numberset.New(numbers)}
	if _, err := o.book.Change(o.t.Context(), "acme", "nao-me-ligue", c, account.AuditEntry{}); err != nil {
		o.t.Fatal(err)
	}
	o.audited = nil
}

// on returns the numbers of the list.
func (o *office) on() []string {
	o.t.Helper()
	numbers, err := o.book.Numbers(o.t.Context(), o.rows["nao-me-ligue"])
	if err != nil {
		o.t.Fatal(err)
	}
	all := []string{}
	for _, n := range numbers {
		all = append(all, e164.Number(n).String())
	}
	return all
}

// choose sends a file and returns the path of its review.
func (o *office) choose(content string) string {
	o.t.Helper()
	a := o.sendFile(o.admin, content)
	if a.Status != http.StatusSeeOther {
		o.t.Fatalf("answered %d: %s", a.Status, a.Text())
	}
	return a.Location
}

func (o *office) sendFile(who webtest.Person, content string) webtest.Answer {
	o.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("csrf", who.Session.CSRF)
	part, err := w.CreateFormFile("file", "lista.csv")
	if err != nil {
		o.t.Fatal(err)
	}
	_, _ = part.Write([]byte(content))
	_ = w.Close()
	r := httptest.NewRequestWithContext(o.t.Context(), http.MethodPost, webtest.Base+list+"/numbers", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Origin", webtest.Base)
	return who.Do(r)
}

// form returns the values of a review's form.
func form(review webtest.Answer, mode string) url.Values {
	return url.Values{"mode": {mode}, "once": {review.Value("once")}, "was": {review.Value("was")}, "column": {review.Value("column")}}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if page := o.admin.Get(listpages.Path); page.Status != http.StatusOK || !strings.Contains(page.Text(), "There is no list.") {
		t.Errorf("answered %d: %s", page.Status, page.Text())
	}
	made := o.admin.Post(listpages.Path, url.Values{
		"name": {"nao-me-ligue"}, "reason": {"Lei 17.334"}, "areaCodes": {"11, 12"}, "traffic": {"promotion"}, "until": {"2026-12-31"},
	})
	if page := o.admin.Follow(made); !strings.Contains(page.Text(), "The list was created") || page.Value("areaCodes") == "11 12" {
		t.Errorf("the page says %s", page.Text())
	}
	l := o.rows["nao-me-ligue"]
	want := lists.Settings{
		Reason: "Lei 17.334", AreaCodes: []int{11, 12}, Traffic: []campaign.Traffic{campaign.Promotion},
		Until: time.Date(2027, 1, 1, 3, 0, 0, 0, time.UTC),
	}
	l.Until = l.Until.UTC()
	if diff := cmp.Diff(want, l.Settings); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	page := o.admin.Get(listpages.Path)
	if !strings.Contains(page.Text(), "nao-me-ligue Lei 17.334 0") {
		t.Errorf("the lists are %s", page.Text())
	}
	webtest.Light(t, o.admin, list)
}

func TestCreate_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	for name, test := range map[string]struct {
		edit url.Values
		says string
	}{
		"a name":     {url.Values{"name": {"Não me ligue"}}, "Use up to 40"},
		"no name":    {url.Values{"name": {""}}, "Use up to 40"},
		"known":      {url.Values{"name": {"nao-me-ligue"}}, "exists already"},
		"no reason":  {url.Values{"reason": {""}}, "Enter the reason"},
		"area code":  {url.Values{"areaCodes": {"11 1"}}, "two digits"},
		"not a code": {url.Values{"areaCodes": {"SP"}}, "two digits"},
		"no code":    {url.Values{"areaCodes": {"11 20"}}, "exist in Brazil"},
		"not a day":  {url.Values{"until": {"amanhã"}}, "Choose today or a later date."},
		"yesterday":  {url.Values{"until": {"2026-03-01"}}, "Choose today or a later date."},
		"too late":   {url.Values{"until": {"9999-12-31"}}, "Choose today or a later date."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := url.Values{"name": {"other"}, "reason": {"r"}, "source": {"kept"}}
			maps.Copy(sent, test.edit)
			page := o.admin.Post(listpages.Path, sent)
			if page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), test.says) || page.Value("source") != "kept" && !strings.Contains(page.Body, `value="kept"`) {
				t.Errorf("answered %d: %s", page.Status, page.Text())
			}
			if _, wrongName := test.edit["name"]; strings.Contains(page.Body, `aria-invalid="true"`) != wrongName {
				t.Errorf("the name is marked: %t", !wrongName)
			}
		})
	}
	if page := o.admin.Get(listpages.Path); strings.Contains(page.Body, "pattern=") {
		t.Error("the browser refuses a name in words of its own")
	}
}

// A file of any columns is reviewed: nothing changes before a person has chosen what to do.
func TestReview(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321, 5511987654323)
	review := o.choose("nome;telefone\nAna;" + ana + "\nBia;(11) 98765-4322\nBia;011 98765-4322\nRui;123\n")
	page := o.admin.Get(review)
	for _, want := range []string{
		"Valid numbers 2", "New 1", "Already there 1", "Lines with a problem 0", "Invalid numbers 1", "Repeated numbers 1", "The list has 2 numbers now.", "4 011 98765-4322 +5511987654322",
		"Add 1 number to the list", "Remove 1 number from the list", "Replacing the list removes 1 number that is not in the file.", "Replace the list with the 2 numbers",
	} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
	if diff := cmp.Diff([]string{ana, caio}, o.on()); diff != "" {
		t.Errorf("on the list before the choice (-want +got):\n%s", diff)
	}
	refused := o.admin.Get(review + "/refused?column=1")
	if !strings.Contains(refused.Body, `"5";`) || !strings.Contains(refused.Body, `;"123"`) || strings.Contains(refused.Body, "987654321") {
		t.Errorf("refused:\n%s", refused.Body)
	}
	webtest.Light(t, o.admin, review)
}

func TestApply(t *testing.T) {
	t.Parallel()
	for mode, test := range map[string]struct {
		says string
		on   []string
	}{
		"add":     {"1 number added.", []string{ana, bia, caio}},
		"remove":  {"1 number removed.", []string{caio}},
		"replace": {"The list was replaced. It has 2 numbers.", []string{ana, bia}},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.create(5511987654321, 5511987654323)
			review := o.choose(ana + "\n" + bia + "\n") // without a header
			sent := form(o.admin.Get(review), mode)
			done := o.admin.Post(review, sent)
			if page := o.admin.Follow(done); !strings.Contains(page.Text(), test.says) {
				t.Errorf("answered %d: %s", done.Status, page.Text())
			}
			if diff := cmp.Diff(test.on, o.on()); diff != "" {
				t.Errorf("on the list (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"list." + mode + " nao-me-ligue"}, o.audited); diff != "" {
				t.Errorf("audited (-want +got):\n%s", diff)
			}
			if again := o.admin.Post(review, sent); again.Status != http.StatusConflict {
				t.Errorf("again: answered %d", again.Status)
			}
			if gone := o.admin.Get(review); gone.Status != http.StatusNotFound || !strings.Contains(gone.Text(), "no longer exists") {
				t.Errorf("the used file: answered %d: %s", gone.Status, gone.Text())
			}
		})
	}
}

// A list that somebody changed after the review is reviewed again.
func TestApply_Changed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321)
	review := o.choose("telefone\n" + bia + "\n")
	sent := form(o.admin.Get(review), "replace")
	o.create(5511987654323)
	page := o.admin.Post(review, sent)
	if page.Status != http.StatusConflict || !strings.Contains(page.Text(), "Somebody changed the list") || !strings.Contains(page.Text(), "removes 2 numbers") {
		t.Errorf("answered %d: %s", page.Status, page.Text())
	}
	if diff := cmp.Diff([]string{ana, caio}, o.on()); diff != "" {
		t.Errorf("on the list (-want +got):\n%s", diff)
	}
}

// Without a column of a known name, the person chooses one.
func TestReview_Column(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	review := o.choose("quem,onde\nAna," + ana + "\n")
	page := o.admin.Get(review)
	if !strings.Contains(page.Text(), "Which column") || !strings.Contains(page.Text(), "The first lines") || strings.Contains(page.Text(), "Valid numbers") {
		t.Errorf("the page says %s", page.Text())
	}
	if page = o.admin.Get(review + "?column=1"); !strings.Contains(page.Text(), "New 1") {
		t.Errorf("with the column: %s", page.Text())
	}
	if page = o.admin.Get(review + "?column=0"); !strings.Contains(page.Text(), "no valid number") || strings.Contains(page.Body, `name="mode"`) {
		t.Errorf("with the other column: %s", page.Text())
	}
}

func TestReview_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	for name, test := range map[string]struct{ content, says string }{
		"a picture":    {"\x89PNG\r\n\x1a\n\x00", "picture or a document"},
		"no lines":     {"telefone\n", "only its first line"},
		"many columns": {"telefone,nome\n1,a,b\n", "column"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := o.admin.Get(o.choose(test.content))
			if page.Status != http.StatusOK || !strings.Contains(page.Text(), test.says) || strings.Contains(page.Body, `name="mode"`) {
				t.Errorf("answered %d: %s", page.Status, page.Text())
			}
		})
	}
	if page := o.sendFile(o.admin, ""); page.Status != http.StatusUnprocessableEntity || !strings.Contains(page.Text(), "The file is empty") {
		t.Errorf("an empty file: answered %d: %s", page.Status, page.Text())
	}
}

// A first line that is refused as a number is no name of the column: it is counted and can be downloaded.
func TestReview_FirstLineRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	for _, first := range []string{"1187654321", "987654321", "(011) 8765-4321", "１１９８７６５４３２１", "11987654321 ramal 2"} {
		review := o.choose("\n" + first + "\n" + bia + "\n")
		if page := o.admin.Get(review); !strings.Contains(page.Text(), "Valid numbers 1") || !strings.Contains(page.Text(), "Invalid numbers 1") {
			t.Errorf("%s: the page says %s", first, page.Text())
		}
		if refused := o.admin.Get(review + "/refused?column=0"); !strings.Contains(refused.Body, `"2";`) || !strings.Contains(refused.Body, first) {
			t.Errorf("%s: refused:\n%s", first, refused.Body)
		}
		alone := o.admin.Get(o.choose(first + "\n"))
		if !strings.Contains(alone.Text(), "Invalid numbers 1") || !strings.Contains(alone.Text(), "no valid number") {
			t.Errorf("%s alone: the page says %s", first, alone.Text())
		}
	}
	for _, name := range []string{"telefone", "Números 2026"} {
		if page := o.admin.Get(o.choose(name + "\n" + bia + "\n")); !strings.Contains(page.Text(), "Lines with a problem 0 Invalid numbers 0") {
			t.Errorf("%s: the page says %s", name, page.Text())
		}
	}
}

// The review offers how the file is read, and its refused numbers to correct: the change has what it showed.
func TestReview_Reading(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	review := o.choose("telefone\n" + ana + "\n1187654322\n987654323\n" + ana + "\n")
	page := o.admin.Get(review)
	for _, want := range []string{
		"Add the 9 to 1 number", "3 1187654322 +5511987654322", "4 987654323", "Repeated number: an earlier line has it 1 line", "5 " + ana, "Line 4: 987654323",
	} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("no %q in %s", want, page.Text())
		}
	}
	sent := url.Values{"column": {"0"}, "nine": {"1"}, "correct.4": {"11 98765-4323"}}
	page = o.admin.Post(review+"/reading", sent)
	if !strings.Contains(page.Text(), "Valid numbers 3") || !strings.Contains(page.Text(), "Add 3 numbers to the list") || strings.Contains(page.Body, "refused?column=0&amp;correct") {
		t.Errorf("answered %d: %s", page.Status, page.Text())
	}
	choices := o.admin.Post(review+"/reading", url.Values{"choices": {"1"}, "column": {"0"}, "correct.4": {page.Value("correct.4")}})
	if !strings.Contains(choices.Text(), "Valid numbers 2") || !strings.Contains(page.Body, `method="post" action="`+review+`/reading">`) {
		t.Errorf("the form of the choices loses the corrected number: %s", choices.Text())
	}
	values := form(page, "add")
	values.Set("nine", page.Value("nine"))
	values.Set("correct.4", page.Value("correct.4"))
	o.admin.Post(review, values)
	if diff := cmp.Diff([]string{ana, bia, caio}, o.on()); diff != "" {
		t.Errorf("on the list (-want +got):\n%s", diff)
	}
	if a := o.admin.Get(review + "/reading"); a.Location != review {
		t.Errorf("the address of the form leads to %q", a.Location)
	}
}

// The files of another tenant, and keys of other objects, are not found.
func TestReview_Foreign(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	review := o.choose("telefone\n" + ana + "\n")
	if page := o.SignIn("other", web.RoleAdmin).Get(review); page.Status != http.StatusNotFound {
		t.Errorf("another tenant: answered %d", page.Status)
	}
	if page := o.admin.Get(list + "/files/..%2Fx"); page.Status != http.StatusNotFound {
		t.Errorf("another key: answered %d", page.Status)
	}
	if page := o.viewer.Get(review); page.Status != http.StatusForbidden {
		t.Errorf("a viewer: answered %d", page.Status)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321)
	for number, want := range map[string]string{
		"(11) 98765-4321": ana + " is on the list.", "11 98765-4322": bia + " is not on the list.", "Ana": "Invalid number.",
		"98765-4321": "+987654321 is not on the list. The area code was left out", "4004-1234": "is not on the list. Service numbers",
		"12345678901234567890": "12345678901234567890 is not on the list. The number is too short or too long",
	} {
		page := o.viewer.Post(list+"/search", url.Values{"phone": {number}})
		if !strings.Contains(page.Text(), want) {
			t.Errorf("%s: %s", number, page.Text())
		}
	}
}

// An earlier release saved numbers as they were written. They are found, and the page says that they hold nobody back.
func TestSearch_SavedAsWritten(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(4407911840966, 987654321, 4407911123456, 447911123456)
	for number, want := range map[string]string{
		"+4407911840966": "saved +4407911840966 on the list, as it was written. This number holds no messages back.",
		"98765-4321":     "saved +987654321 on the list, as it was written. This number holds no messages back.",
		"+4407911123456": "+447911123456 is on the list.", // also as dispatch reads it
		"+447911840966":  "+447911840966 is not on the list.",
	} {
		page := o.viewer.Post(list+"/search", url.Values{"phone": {number}})
		if !strings.Contains(page.Text(), want) || strings.Contains(want, "saved") && strings.Contains(page.Text(), "is on the list.") {
			t.Errorf("%s: %s", number, page.Text())
		}
	}
	if page := o.viewer.Post(list+"/search", url.Values{"phone": {"98765-4321"}}); !strings.Contains(page.Text(), "The area code was left out") {
		t.Errorf("no reason in %s", page.Text())
	}
}

// addsUp checks that each line of a file is a number, or among those that the page counts as left out and that can be downloaded.
func addsUp(t *testing.T, page, download string, lines int) {
	t.Helper()
	_, tally, _ := strings.Cut(page, "Valid numbers ")
	var valid, added, known, faulty, invalid, repeated int
	_, err := fmt.Sscanf(tally, "%d New %d Already there %d Lines with a problem %d Invalid numbers %d Repeated numbers %d",
		&valid, &added, &known, &faulty, &invalid, &repeated)
	if err != nil {
		t.Fatal(err)
	}
	if out := faulty + invalid + repeated; valid != added+known || valid+out != lines || strings.Count(download, "\n")-1 != out {
		t.Errorf("of %d lines, the download has %d, and the page says %.120s", lines, strings.Count(download, "\n")-1, tally)
	}
}

// A file and the search take the numbers that a dispatch takes, and name the same E.164.
func TestForms(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	invalid := 0
	for _, f := range phonetest.Forms() {
		if !phonetest.Accepted(f.Typed) {
			invalid++
		}
	}
	review := o.choose(phonetest.File())
	if page := o.admin.Get(review); !strings.Contains(page.Text(), fmt.Sprint("Invalid numbers ", invalid)) {
		t.Errorf("the review of %d invalid numbers says %s", invalid, page.Text())
	}
	refused := o.admin.Get(review + "/refused?column=0&kind=invalid").Body
	if lines := strings.Count(refused, "\n") - 1; lines != invalid {
		t.Errorf("%d of %d invalid numbers are in the file:\n%s", lines, invalid, refused)
	}
	addsUp(t, o.admin.Get(review).Text(), o.admin.Get(review+"/refused?column=0").Body, len(phonetest.Forms()))
	o.admin.Post(review, form(o.admin.Get(review), "replace"))
	want := phonetest.Numbers(func(f phonetest.Form) string { return f.Typed })
	on := o.on()
	slices.Sort(on)
	if diff := cmp.Diff(want, on); diff != "" {
		t.Errorf("on the list (-want +got):\n%s", diff)
	}
	for _, f := range phonetest.Forms() {
		if !phonetest.Accepted(f.Typed) {
			continue
		}
		page := o.viewer.Post(list+"/search", url.Values{"phone": {f.Text}})
		if !strings.Contains(page.Text(), f.Typed+" is on the list.") {
			t.Errorf("the search for %q says %s", f.Text, page.Text())
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321, 5511987654322)
	file := o.admin.Post(list+"/export", nil)
	if !strings.Contains(file.Body, `"`+ana+`"`+"\r\n"+`"`+bia+`"`) {
		t.Errorf("the file is\n%s", file.Body)
	}
	if diff := cmp.Diff([]string{"admin@example.com list.export nao-me-ligue"}, o.Audited()); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
}

func TestSaveAndDelete(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321)
	saved := o.admin.Post(list+"/settings", url.Values{"reason": {"Pedido"}, "areaCodes": {"21"}})
	if page := o.admin.Follow(saved); !strings.Contains(page.Text(), "The list was saved.") || !strings.Contains(page.Text(), "Pedido") {
		t.Errorf("answered %d: %s", saved.Status, page.Text())
	}
	stale := o.admin.Post(list+"/settings", url.Values{"reason": {"Outro motivo"}, "was": {"1"}})
	if stale.Status != http.StatusConflict || !strings.Contains(stale.Body, `value="Outro motivo"`) || o.rows["nao-me-ligue"].Reason != "Pedido" {
		t.Errorf("a stale form: answered %d: %s", stale.Status, stale.Text())
	}
	if page := o.admin.Post(list+"/delete", nil); page.Status != http.StatusOK || o.rows["nao-me-ligue"].Deleted {
		t.Errorf("without the confirmation: answered %d", page.Status)
	}
	gone := o.admin.Post(list+"/delete", url.Values{"confirm": {"1"}})
	if page := o.admin.Follow(gone); !strings.Contains(page.Text(), "The list was deleted.") || !strings.Contains(page.Text(), "There is no list.") {
		t.Errorf("answered %d: %s", gone.Status, page.Text())
	}
	if page := o.admin.Get(list); page.Status != http.StatusNotFound {
		t.Errorf("the deleted list: answered %d", page.Status)
	}
	if diff := cmp.Diff([]string{"list.put nao-me-ligue", "list.delete nao-me-ligue"}, o.audited); diff != "" {
		t.Errorf("audited (-want +got):\n%s", diff)
	}
}

// A form that was opened and saved keeps the end of the list to the second, also if it has passed. An edited day ends
// with the day.
func TestSave_Until(t *testing.T) {
	t.Parallel()
	evening := time.Date(2026, 12, 24, 21, 30, 0, 0, time.UTC) // 18:30 in São Paulo
	for name, test := range map[string]struct {
		was, want   time.Time
		shown, sent string
	}{
		"unedited":            {evening, evening, "2026-12-24", "2026-12-24"},
		"unedited, a day":     {time.Date(2026, 12, 25, 3, 0, 0, 0, time.UTC), time.Date(2026, 12, 25, 3, 0, 0, 0, time.UTC), "2026-12-24", "2026-12-24"},
		"unedited, passed":    {time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), "2026-01-01", "2026-01-01"},
		"unedited, no end":    {time.Time{}, time.Time{}, "", ""},
		"another day":         {evening, time.Date(2026, 12, 26, 3, 0, 0, 0, time.UTC), "2026-12-24", "2026-12-25"},
		"no end any more":     {evening, time.Time{}, "2026-12-24", ""},
		"an end for the list": {time.Time{}, time.Date(2026, 12, 25, 3, 0, 0, 0, time.UTC), "", "2026-12-24"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.create(5511987654321)
			l := o.rows["nao-me-ligue"]
			l.Until = test.was
			o.rows["nao-me-ligue"] = l
			if shown := `name="until" type="date" value="` + test.shown + `"`; !strings.Contains(o.admin.Get(list).Body, shown) {
				t.Errorf("the form does not have %s", shown)
			}
			saved := o.admin.Post(list+"/settings", url.Values{"reason": {"Pedido"}, "until": {test.sent}})
			if got := o.rows["nao-me-ligue"]; !got.Until.Equal(test.want) || got.Reason != "Pedido" {
				t.Errorf("answered %d; the list ends at %s, want %s", saved.Status, got.Until.UTC(), test.want)
			}
		})
	}
}

// The page of a list shows in which of the last campaigns it held messages back.
func TestHeld(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	o.held = map[string]int{"a": 3, "b": 0}
	if page := o.viewer.Get(list); !strings.Contains(page.Body, `hx-get="`+list+`/held"`) {
		t.Error("the page does not request the campaigns")
	}
	page := o.viewer.Get(list + "/held")
	if !strings.Contains(page.Text(), "Campanha a 3") || strings.Contains(page.Text(), "Campanha b") {
		t.Errorf("the page says %s", page.Text())
	}
	o.held = map[string]int{"b": 0}
	if page = o.viewer.Get(list + "/held"); !strings.Contains(page.Text(), "has held no messages back") {
		t.Errorf("the page says %s", page.Text())
	}
}

func TestViewer(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create(5511987654321)
	page := o.viewer.Get(list)
	if page.Status != http.StatusOK || strings.Contains(page.Body, "/delete") || strings.Contains(page.Body, "/numbers") {
		t.Errorf("answered %d: %s", page.Status, page.Text())
	}
	for _, path := range []string{"/settings", "/numbers", "/export", "/delete", "/uploads", "/files/AAAAAAAAAAAAAAAAAAAAAA"} {
		if page := o.viewer.Post(list+path, url.Values{"confirm": {"1"}, "reason": {"r"}}); page.Status != http.StatusForbidden {
			t.Errorf("%s: answered %d", path, page.Status)
		}
	}
}
