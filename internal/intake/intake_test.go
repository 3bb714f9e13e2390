package intake_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/insight/recount"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// noon is in the future, so that the sweep function of the stack does not release the batches.
var noon = time.Date(2036, 11, 21, 12, 0, 0, 0, time.UTC)

// queue keeps the tasks that are sent to it, and the longest of their delays.
type queue struct {
	mu    sync.Mutex
	tasks []submission.Task
	delay time.Duration
}

func (q *queue) Send(ctx context.Context, _ string, body []byte, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := ctx.Err(); err != nil { // of a dead process
		return err
	}
	q.delay = max(q.delay, delay)
	var t submission.Task
	if err := json.Unmarshal(body, &t); err != nil {
		return err
	}
	q.tasks = append(q.tasks, t)
	return nil
}

// noReleases are schedules that nobody needs.
type noReleases struct{}

func (noReleases) Schedule(context.Context, campaign.Batch) error { return nil }

// company is a new tenant in the stack's tables and bucket.
type company struct {
	t      *testing.T
	tenant string
	env    stackenv.Env
	store  *dynamotest.Store
	blobs  *s3.Store
	queue  *queue
	now    time.Time
	t1     campaign.Template

	partLines int
	wavesFrom int
	mixed     submission.Submission // for copies
	*intake.Service
}

func newCompany(t *testing.T) *company {
	t.Helper()
	return newCompanyIn(t, stackenv.Load(t))
}

func newCompanyIn(t *testing.T, env stackenv.Env) *company {
	t.Helper()
	c := &company{t: t, env: env, queue: &queue{}, now: noon, tenant: "t-" + rand.Text()}
	c.store, c.blobs = c.stores(c.env.AWS())
	c.Service = c.service(c.store, c.blobs)
	c.t1 = campaign.Template{ID: random.UUID(), Tenant: c.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi {{nome}}"}}
	_, err := c.store.PutTemplate(t.Context(), c.t1)
	c.must(err)
	return c
}

func (c *company) service(store *dynamotest.Store, blobs *s3.Store) *intake.Service {
	return &intake.Service{
		Store: store, Uploads: blobs, Stat: blobs.Stat, Tasks: c.queue, Now: func() time.Time { return c.now }, Lead: time.Minute, Rules: store,
	}
}

const (
	ana = "ana@example.com"
	bia = "bia@example.com"
)

// entries is the number of entries of the audit log.
var entries atomic.Int64

// stepOf returns the step of a person who sees a submission. No other one has its time.
func stepOf(choice intake.Choice, sub submission.Submission, who, action string) intake.Step {
	at := noon.Add(time.Duration(entries.Add(1)))
	return intake.Step{
		ID: sub.ID, Choice: choice, Shown: sub.Shown(), Reason: "wrong",
		Audit: account.AuditEntry{Tenant: sub.Tenant, At: at, Who: who, Action: action, Subject: sub.Name},
	}
}

// Send and Discard are what ana decides about a submission as she sees it.
func (c *company) Send(ctx context.Context, sub submission.Submission) error {
	_, err := c.Decide(ctx, stepOf(intake.Send, sub, ana, "campaign.dispatch"))
	return err
}

func (c *company) Discard(ctx context.Context, sub submission.Submission) error {
	_, err := c.Decide(ctx, stepOf(intake.Discard, sub, ana, "campaign.discard"))
	return err
}

// save stores a submission.
func (c *company) save(sub submission.Submission) submission.Submission {
	c.t.Helper()
	sub, err := c.store.SaveSubmission(c.t.Context(), sub)
	c.must(err)
	return sub
}

func (c *company) stores(cfg aws.Config) (*dynamotest.Store, *s3.Store) {
	return dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(cfg), Campaigns: c.env["CAMPAIGNS_TABLE"], Outcomes: c.env["OUTCOMES_TABLE"],
		Now: func() time.Time { return c.now },
	}), s3.New(cfg, c.env["BUCKET"], true)
}

func (c *company) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// worker returns a worker with parts of two messages, or as many as partLines.
func (c *company) worker(store *dynamotest.Store, blobs *s3.Store, tasks port.Queue) *intake.Worker {
	now := func() time.Time { return c.now }
	return &intake.Worker{
		Store: store, Blobs: blobs, Tasks: tasks, Now: now, PartLines: max(2, c.partLines), WavesFrom: c.wavesFrom,
		Open: blobs.OpenFile,
		Dispatch: &dispatch.Service{
			Store: store, Blobs: blobs, Releases: noReleases{}, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20}, Now: now, Lead: time.Minute,
			Reach: reach.Lookup{OptOuts: &optout.Book{Store: store, Now: now}, Lists: &lookup.Cache{Store: store, Blobs: blobs, Now: now}},
		},
	}
}

// run handles tasks until there are none.
func (c *company) run() {
	c.t.Helper()
	for len(c.queue.tasks) > 0 {
		tasks := c.queue.tasks
		if c.queue.delay > 0 { // others read the clock meanwhile
			c.now = c.now.Add(c.queue.delay)
		}
		c.queue.tasks, c.queue.delay = nil, 0
		for _, err := range c.worker(c.store, c.blobs, c.queue).Handle(c.t.Context(), tasks) {
			c.must(err)
		}
	}
}

// upload uploads a file and returns its submission.
func (c *company) upload(file string, change func(sub *submission.Submission)) submission.Submission {
	c.t.Helper()
	asked := submission.Submission{
		ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c " + rand.Text(), TemplateID: c.t1.ID, File: submission.File{Name: "f.csv", Size: int64(len(file))},
	}
	if change != nil {
		change(&asked)
	}
	sub, _, err := c.Start(c.t.Context(), asked)
	c.must(err)
	c.put(sub, file)
	c.must(c.Finish(c.t.Context(), sub))
	c.run()
	return c.stored(sub)
}

// put sends the first chunk as a browser does.
func (c *company) put(sub submission.Submission, body string) {
	c.t.Helper()
	address, err := c.ChunkURL(c.t.Context(), sub, 1)
	c.must(err)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, address, strings.NewReader(body))
	c.must(err)
	res, err := http.DefaultClient.Do(r)
	c.must(err)
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("the bucket answers %d", res.StatusCode)
	}
}

func (c *company) stored(sub submission.Submission) submission.Submission {
	c.t.Helper()
	stored, err := c.store.Submission(c.t.Context(), sub.ID)
	c.must(err)
	return stored
}

// check reads the file of a submission.
func (c *company) check(sub submission.Submission) submission.Submission {
	c.t.Helper()
	columns := sub.Columns.Chosen
	if missing := columns.Missing(); len(missing) > 0 {
		c.t.Fatalf("no column for %v in %v", missing, sub.Columns.Header)
	}
	c.must(c.Check(c.t.Context(), sub, columns, c.t1))
	c.run()
	return c.stored(sub)
}

// ready returns a submission that is ready to be sent.
func (c *company) ready(file string, change func(sub *submission.Submission)) submission.Submission {
	c.t.Helper()
	sub := c.upload(file, change)
	if sub.State == submission.StateColumns {
		sub = c.check(sub)
	}
	if sub.State != submission.StateReady {
		c.t.Fatalf("the submission is %s, %s", sub.State, sub.Fault.Code)
	}
	if f := sub.Check.Findings; sub.Check.Rows != f.Accepted+f.LeftOut() {
		c.t.Errorf("%d lines, of which %d are accepted and %d left out", sub.Check.Rows, f.Accepted, f.LeftOut())
	}
	return sub
}

// send dispatches the parts of a submission.
func (c *company) send(sub submission.Submission) submission.Submission {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), sub))
	c.run()
	return c.stored(sub)
}

// batches returns the accepted messages of each batch of a campaign, by name.
func (c *company) batches(sub submission.Submission) map[string]int {
	c.t.Helper()
	all, err := c.store.Dispatched(c.t.Context(), sub.ID)
	if errors.Is(err, campaign.ErrNotFound) {
		return map[string]int{}
	}
	c.must(err)
	accepted := map[string]int{}
	for _, b := range all.Batches {
		accepted[b.Name] += b.Accepted
	}
	return accepted
}

// files returns the names of the files of a submission that are left.
func (c *company) files(sub submission.Submission) (names []string) {
	c.t.Helper()
	for _, folder := range sub.Folders() {
		for o, err := range c.blobs.List(c.t.Context(), folder) {
			c.must(err)
			names = append(names, strings.TrimPrefix(o.Key, folder))
		}
	}
	return names
}

// list saves a list that keeps all messages from numbers.
func (c *company) list(name string, numbers ...uint64) {
	c.t.Helper()
	listBook := &book.Book{Store: c.store, Blobs: c.blobs, Now: func() time.Time { return c.now }}
	change := lists.Change{Settings: &lists.Settings{Reason: "r"}, Add: numberset.New(numbers)}
	_, err := listBook.Change(c.t.Context(), c.tenant, name, change, account.AuditEntry{Tenant: c.tenant, At: c.now})
	c.must(err)
}

const five = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880003;c;Caio\n11988880004;d;Davi\n11988880005;e;Eva\n"

// A line whose value has lost letters is left out, if the template needs the value.
func TestSubmission_LostLetters(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready("Celular;Código;Nome;Loja\n11988880001;a;Jos\ufffd;Sul\n11988880002;b;Bia;S\ufffdo\n11988880003;c;C\x00aio;Sul\n", nil)
	want := []submission.LineFault{
		{Code: "invalid_utf8", Column: "nome", Lines: submission.Lines{Count: 1, First: []int{2}}},
		{Code: "invalid_character", Column: "nome", Lines: submission.Lines{Count: 1, First: []int{4}}},
	}
	if diff := cmp.Diff(want, sub.Check.Findings.Omitted); diff != "" || sub.Check.Findings.Accepted != 1 {
		t.Errorf("%d accepted, left out (-want +got):\n%s", sub.Check.Findings.Accepted, diff)
	}
}

func TestSubmission_Findings(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.must((&optout.Book{Store: c.store, Now: func() time.Time { return c.now }}).Record(t.Context(), c.tenant,
		[]campaign.OptChange{{Phone: "+5511988880002", Out: true, At: noon}}))
	c.list("procon", 5511988880002, 5511988880005)
	sub := c.ready(five+"11988880001;again;Ana\n11988880006;;Fay\n11988880007;g;\n123;h;Gil\n", nil)
	want := submission.Findings{
		Accepted: 5, OptedOut: 1, Rejected: sub.Check.Findings.Rejected,
		Classes: campaign.ClassCounts{Basic: 5}, OptedOutClasses: campaign.ClassCounts{Basic: 1},
		Suppressed: map[int]int{1: 1}, SuppressedClasses: campaign.ClassCounts{Basic: 1},
		Repeated: submission.Lines{Count: 1, First: []int{7}}, Outs: sub.Check.Findings.Outs,
		Zones:   map[window.Zone]int{window.SaoPaulo: 3},
		ByZones: map[window.Set]campaign.ClassCounts{inSaoPaulo: {Basic: 5}},
		Omitted: []submission.LineFault{
			{Code: "missing_uid", Column: "uid", Lines: submission.Lines{Count: 1, First: []int{8}}},
			{Code: "missing_variable", Column: "nome", Lines: submission.Lines{Count: 1, First: []int{9}}},
		},
	}
	if diff := cmp.Diff(want, sub.Check.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	kinds := map[int]submission.Kind{}
	for l, err := range c.LeftOut(t.Context(), sub) {
		c.must(err)
		kinds[l.Line] = l.Kind
	}
	left := map[int]submission.Kind{
		3: submission.KindOptedOut, 6: submission.KindSuppressed, 7: submission.KindRepeated, 8: submission.KindFaulty, 9: submission.KindFaulty, 10: submission.KindInvalid,
	}
	if diff := cmp.Diff(left, kinds); diff != "" {
		t.Errorf("lines that get no message (-want +got):\n%s", diff)
	}
	if got := sub.Check.Findings.Rejected; len(got) != 1 || got[0].Count != 1 || got[0].First[0] != 10 {
		t.Errorf("rejected: %+v", got)
	}
	if done := c.send(sub); done.State != submission.StateSent || done.Sending.Accepted != 5 || done.Sending.Rejected != 1 {
		t.Errorf("sent: %s, %d accepted, %d rejected", done.State, done.Sending.Accepted, done.Sending.Rejected)
	}
	if diff := cmp.Diff(map[string]int{"1": 2, "2": 2, "3": 1, "4": 0}, c.batches(sub)); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if left := c.files(sub); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// All messages with an invalid URL are counted, however many a part has.
func TestSubmission_InvalidURLs(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.partLines = campaign.MaxMessages
	c.t1.Content = content.Content{Text: "Oi", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "{{nome}}"}}}
	_, err := c.store.PutTemplate(t.Context(), c.t1)
	c.must(err)
	const people = 150
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n")
	for n := range people {
		file.WriteString(strconv.Itoa(11988880000+n) + ";u;http://e.example\n")
	}
	got := c.ready(file.String(), nil).Check.Findings.BadURLs
	if got.Count != people || len(got.First) != submission.MaxShown || got.First[0] != 2 {
		t.Errorf("%d invalid URLs in the lines %v, want %d from line 2", got.Count, got.First, people)
	}
}

func TestSubmission_KnownColumns(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.upload("Contato;Cadastro;Cliente\n11988880001;a;Ana\n", nil)
	if sub.State != submission.StateColumns || sub.Columns.Phone != -1 || sub.Columns.UID != -1 || sub.Columns.Values[0].Column != -1 {
		t.Fatalf("%s with the columns %d, %d and %v", sub.State, sub.Columns.Phone, sub.Columns.UID, sub.Columns.Values)
	}
	if diff := cmp.Diff([][]string{{"11988880001", "a", "Ana"}}, sub.Columns.First); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
	sub.Columns.Phone, sub.Columns.UID, sub.Columns.Values[0].Column = 0, 1, 2
	if checked := c.check(sub); checked.Check.Findings.Accepted != 1 {
		t.Errorf("%s: %d accepted", checked.State, checked.Check.Findings.Accepted)
	}
	if next := c.upload("CLIENTE;Contato;cadastro\nBia;11988880002;b\n", nil); next.Columns.Phone != 1 || next.Columns.UID != 2 || next.Columns.Values[0].Column != 0 {
		t.Errorf("the next file has the columns %d, %d and %v", next.Columns.Phone, next.Columns.UID, next.Columns.Values)
	}
}

// overtaken is a store in which something happens between the read and the write of the known columns.
type overtaken struct {
	intake.Store
	happens func()
}

func (o *overtaken) ChangeKnownColumns(ctx context.Context, tenant string, change func(map[string]string) bool) error {
	return o.Store.ChangeKnownColumns(ctx, tenant, func(names map[string]string) bool {
		if happens := o.happens; happens != nil {
			o.happens = nil
			happens()
		}
		return change(names)
	})
}

// Of two people who confirm columns at the same time, both have theirs remembered.
func TestSubmission_KnownColumnsOfTwo(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	orders := campaign.Template{ID: random.UUID(), Tenant: c.tenant, Version: 1, Name: "t", Content: content.Content{Text: "{{pedido}}"}}
	_, err := c.store.PutTemplate(t.Context(), orders)
	c.must(err)
	ofOrders := func(sub *submission.Submission) { sub.TemplateID = orders.ID }
	first := c.upload("phone;uid;Cliente\n11988880001;a;Ana\n", nil)
	second := c.upload("phone;uid;Compra\n11988880002;b;17\n", ofOrders)
	first.Columns.Values[0].Column, second.Columns.Values[0].Column = 2, 2
	faster := *c.Service
	faster.Store = &overtaken{c.Store, func() { c.check(second) }}
	c.must(faster.Check(t.Context(), first, first.Columns.Chosen, c.t1))
	for file, change := range map[string]func(*submission.Submission){"phone;uid;cliente\n1;c;C\n": nil, "phone;uid;compra\n1;c;C\n": ofOrders} {
		if next := c.upload(file, change); next.Columns.Values[0].Column != 2 {
			t.Errorf("the next file with the columns %v has %v", next.Columns.Header, next.Columns.Values)
		}
	}
}

// An upload that began as that of a draft, whose template nobody checks, does not open the template of
// another tenant.
func TestFinish_ForeignTemplate(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	foreign := campaign.Template{ID: random.UUID(), Tenant: "another-" + c.tenant, Version: 1, Name: "t", Content: content.Content{Text: "secret"}}
	_, err := c.store.PutTemplate(t.Context(), foreign)
	c.must(err)
	sub := c.upload("phone;uid\n11988880001;a\n", func(sub *submission.Submission) { sub.TemplateID = foreign.ID })
	if sub.State != submission.StateFailed || sub.Fault.Code != "template_not_found" {
		t.Errorf("%s, %q", sub.State, sub.Fault.Code)
	}
}

func TestStart_Continues(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := strings.Repeat("a", port.ChunkSize) + "b"
	asked := submission.Submission{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID, File: submission.File{Name: "f.csv", Size: int64(len(file)), Modified: "7"}}
	first, _, err := c.Start(t.Context(), asked)
	c.must(err)
	if err := c.Finish(t.Context(), first); err == nil {
		t.Error("an upload without chunks was finished")
	}
	c.put(first, file[:port.ChunkSize])
	again, sent, err := c.Start(t.Context(), asked)
	c.must(err)
	if again.CampaignID != first.CampaignID || !slices.Equal(sent, []int{1}) {
		t.Errorf("the same file has the submission %s with the chunks %v, want %s", again.CampaignID, sent, first.CampaignID)
	}
	if err := c.Finish(t.Context(), again); err == nil {
		t.Error("an upload without its last chunk was finished")
	}
	if _, sent, err := c.Start(t.Context(), asked); err != nil || !slices.Equal(sent, []int{1}) {
		t.Errorf("it continues with the chunks %v, %v", sent, err)
	}
	for name, change := range map[string]func(sub *submission.Submission){
		"another person": func(sub *submission.Submission) { sub.By = "bia@example.com" },
		"another time":   func(sub *submission.Submission) { sub.File.Modified = "8" },
		"another tenant": func(sub *submission.Submission) { sub.Tenant += "-2" },
	} {
		other := asked
		change(&other)
		if sub, _, err := c.Start(t.Context(), other); err != nil || sub.CampaignID == first.CampaignID {
			t.Errorf("%s: submission %s, %v", name, sub.CampaignID, err)
		}
	}
}

// A list of a campaign's recipients becomes a file.
func TestTake_List(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	object := "exports/" + rand.Text() + ".csv"
	c.must(c.blobs.Put(t.Context(), object, []byte(five), "text/csv"))
	sub, err := c.Take(t.Context(), submission.Submission{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID}, intake.FormFile{Object: object})
	c.must(err)
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateReady || sub.Check.Findings.Accepted != 5 {
		t.Errorf("%s, %q, %d accepted", sub.State, sub.Fault.Code, sub.Check.Findings.Accepted)
	}
	if _, err := c.Take(t.Context(), submission.Submission{ID: campaign.ID{Tenant: c.tenant}}, intake.FormFile{Object: "exports/none"}); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a missing object: %v", err)
	}
}

func TestStart_Limits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for n := range submission.MaxOpen + 1 {
		_, _, err := c.Start(t.Context(), submission.Submission{ID: campaign.ID{Tenant: c.tenant}, File: submission.File{Name: strconv.Itoa(n), Size: 1}})
		if full := n == submission.MaxOpen; (err != nil) != full {
			t.Errorf("submission %d: %v", n, err)
		}
	}
	for _, size := range []int64{-1, 0, submission.MaxSize + 1} {
		if _, _, err := newCompany(t).Start(t.Context(), submission.Submission{ID: campaign.ID{Tenant: "x" + rand.Text()}, File: submission.File{Size: size}}); err == nil {
			t.Errorf("a file of %d bytes was taken", size)
		}
	}
}

func TestSubmission_InvalidFile(t *testing.T) {
	t.Parallel()
	for file, fault := range map[string]string{
		"":                                  "",
		"phone,uid,nome\n":                  "no_rows",
		"phone,\"uid,nome\n1,a,b\n2,c\n":    "quotes",
		"phone,uid,nome\n1,a,b,c\n":         "columns",
		"PK\x03\x04 this is not a workbook": "workbook_damaged",
	} {
		if file == "" {
			continue // Start refuses it
		}
		c := newCompany(t)
		sub := c.upload(file, nil)
		if sub.State != submission.StateFailed || sub.Fault.Code != fault || len(c.files(sub)) > 0 {
			t.Errorf("%q: %s, %q, files %v; want a failure %s", file, sub.State, sub.Fault.Code, c.files(sub), fault)
		}
	}
}

// What is sent is what was confirmed, also if a newer version of the template was saved before the first part or between two,
// and if an earlier release stopped because of it.
func TestSubmission_TemplateChanged(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(c *company, sub submission.Submission, change func()){
		"before the first part": func(c *company, sub submission.Submission, change func()) {
			c.must(c.Send(c.t.Context(), sub))
			change()
		},
		"between two parts": func(c *company, sub submission.Submission, change func()) {
			c.sendFirst(sub)
			change()
		},
		"stopped by an earlier release": func(c *company, sub submission.Submission, change func()) {
			stopped := c.stop(c.sendFirst(sub))
			c.queue.tasks = nil
			change()
			stopped.Fault.Code = campaign.CodeTemplateChanged
			c.must(c.Send(c.t.Context(), c.save(stopped)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.ready(five, nil)
			begin(c, sub, c.changeTemplate)
			c.run()
			if sub = c.stored(sub); sub.State != submission.StateSent || sub.Sending.Accepted != 5 {
				t.Fatalf("%s, %q, %d accepted", sub.State, sub.Fault.Code, sub.Sending.Accepted)
			}
			all, err := c.store.Dispatched(t.Context(), sub.ID)
			c.must(err)
			for _, b := range all.Batches {
				if b.TemplateVersion != 1 || len(b.TapKey) > 0 {
					t.Errorf("part %s has version %d, suggestions %t", b.Name, b.TemplateVersion, len(b.TapKey) > 0)
				}
			}
		})
	}
}

// The rest of a campaign that an earlier release stopped goes on, without the person whom another batch has reached.
func TestSubmission_RestPastAnotherBatch(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.stop(c.sendFirst(c.ready(five, nil)))
	c.queue.tasks = nil
	c.must(c.reach(sub, "api", "11988880004"))
	sub.Fault.Code = "number_already_dispatched"
	sub = c.send(c.save(sub))
	if sub.State != submission.StateSent || sub.Sending.Accepted != 4 || sub.Sending.InOtherBatches != 1 || sub.Sending.Erased != 0 {
		t.Errorf("%s, %q, %+v", sub.State, sub.Fault.Code, sub.Sending)
	}
	if diff := cmp.Diff(map[string]int{"api": 1, "1": 2, "2": 1, "3": 1}, c.batches(sub)); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// Lines with the number of another batch are left out of a file before the confirmation.
func TestSubmission_NumberInAnotherBatchBefore(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.uploadedFile(five)
	c.must(c.reach(sub, "api", "11988880002"))
	c.must(c.Finish(t.Context(), sub))
	c.run()
	if sub = c.stored(sub); sub.State == submission.StateColumns {
		sub = c.check(sub)
	}
	want := []submission.LineFault{{Code: "number_already_dispatched", Column: "phone", Lines: submission.Lines{Count: 1, First: []int{3}}}}
	if diff := cmp.Diff(want, sub.Check.Findings.Omitted); diff != "" || sub.Check.Findings.Accepted != 4 {
		t.Errorf("%d people, left out (-want +got):\n%s", sub.Check.Findings.Accepted, diff)
	}
}

// changeTemplate saves a version that needs another variable, and has a suggestion.
func (c *company) changeTemplate() {
	c.t.Helper()
	next := c.t1
	next.Text, next.Suggestions = "Oi {{pedido}}", content.Replies("Sim")
	_, err := c.store.PutTemplate(c.t.Context(), next)
	c.must(err)
}

// Before the confirmation, a newer version of the template has to be checked first.
func TestSubmission_TemplateChangedBefore(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, nil)
	c.changeTemplate()
	if err := c.Send(t.Context(), sub); !errors.Is(err, intake.ErrChanged) || len(c.batches(sub)) > 0 {
		t.Errorf("confirmed: %v, batches %v", err, c.batches(sub))
	}
}

// unsaved is a store in a process that dies before it saves.
type unsaved struct{ intake.Store }

func (unsaved) SaveSubmission(context.Context, submission.Submission) (submission.Submission, error) {
	return submission.Submission{}, errDead
}

// acceptUnsaved sends the first part of a submission in a process that dies after the acceptance.
func (c *company) acceptUnsaved(sub submission.Submission) {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), sub))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Store = unsaved{w.Store}
	if err := w.Handle(c.t.Context(), c.queue.tasks)[0]; !errors.Is(err, errDead) {
		c.t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"1": 2}, c.batches(sub)); diff != "" || c.stored(sub).Sending.Parts != 0 {
		c.t.Fatalf("%d parts are saved as sent, batches (-want +got):\n%s", c.stored(sub).Sending.Parts, diff)
	}
}

// A part that was accepted before the process died is not sent again, whatever happened until
// the next task.
func TestSubmission_AcceptedBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(c *company, sub submission.Submission)
		want   map[string]int
	}{
		"nothing happened":   {func(*company, submission.Submission) {}, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a day passed":       {func(c *company, _ submission.Submission) { c.now = noon.Add(25 * time.Hour) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a person erased":    {func(c *company, sub submission.Submission) { c.erase(sub, 1, 1) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"the part erased":    {func(c *company, sub submission.Submission) { c.erase(sub, 1, 2) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a later one erased": {func(c *company, sub submission.Submission) { c.erase(sub, 2, 2) }, map[string]int{"1": 2, "3": 1}},
		"rescheduled":        {func(c *company, sub submission.Submission) { c.reschedule(sub, noon.Add(48*time.Hour)) }, map[string]int{"1": 2, "2": 2, "3": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.ready(five, func(sub *submission.Submission) { sub.Schedule = noon.Add(24 * time.Hour).Format(time.RFC3339) })
			c.acceptUnsaved(sub)
			test.change(c, sub)
			c.run()
			accepted := 0
			for _, n := range test.want {
				accepted += n
			}
			if sub = c.stored(sub); sub.State != submission.StateSent || sub.Sending.Accepted != accepted || sub.Sending.Rejected != 0 {
				t.Errorf("%s, %q, %d accepted, %d rejected", sub.State, sub.Fault.Code, sub.Sending.Accepted, sub.Sending.Rejected)
			}
			if s := c.totals(sub); s.Accepted != accepted || s.Erased != 5-accepted || s.PartsToCome != 0 {
				t.Errorf("%+v, want %d accepted", s, accepted)
			}
			if diff := cmp.Diff(test.want, c.batches(sub)); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			c.sameTime(sub)
		})
	}
}

// totals returns the totals of a campaign's file.
func (c *company) totals(sub submission.Submission) campaign.SubmissionTotals {
	c.t.Helper()
	all, err := c.store.Overview(c.t.Context(), sub.ID)
	c.must(err)
	s := all.Submission
	if s.Lines != s.Invalid+s.Faulty+s.Repeated+s.People || s.People != s.Erased+s.InOtherBatches+s.NotAccepted()+s.Accepted {
		c.t.Errorf("%+v does not add up", s)
	}
	standings, err := c.store.Standings(c.t.Context(), sub.Tenant, []string{sub.CampaignID})
	c.must(err)
	if diff := cmp.Diff(s, standings[sub.CampaignID].Submission); diff != "" {
		c.t.Errorf("the list has other totals than the page (-page +list):\n%s", diff)
	}
	return s
}

// What becomes of the people of a file stays known, whatever ends the sending.
func TestSubmission_Totals(t *testing.T) {
	t.Parallel()
	const file = five + "11988880001;again;Ana\n11988880006;;Fay\n123;h;Gil\n"
	type want struct{ erased, others, accepted, toCome, never int }
	for name, test := range map[string]struct {
		change func(c *company, sub submission.Submission)
		want   want
	}{
		"all sent":                  {func(c *company, _ submission.Submission) { c.run() }, want{accepted: 5}},
		"one part sent":             {func(*company, submission.Submission) {}, want{accepted: 2, toCome: 3}},
		"a person erased":           {func(c *company, sub submission.Submission) { c.erase(sub, 2, 1); c.run() }, want{erased: 1, accepted: 4}},
		"a part erased":             {func(c *company, sub submission.Submission) { c.erase(sub, 2, 2); c.run() }, want{erased: 2, accepted: 3}},
		"the last one erased":       {func(c *company, sub submission.Submission) { c.erase(sub, 3, 1); c.run() }, want{erased: 1, accepted: 4}},
		"a person in another batch": {func(c *company, sub submission.Submission) { c.must(c.reach(sub, "api", "11988880003")); c.run() }, want{others: 1, accepted: 4}},
		"a part in another batch": {func(c *company, sub submission.Submission) {
			c.must(c.reach(sub, "api", "11988880003", "11988880004"))
			c.run()
		}, want{others: 2, accepted: 3}},
		"the last one in another batch": {func(c *company, sub submission.Submission) { c.must(c.reach(sub, "api", "11988880005")); c.run() }, want{others: 1, accepted: 4}},
		"erased, and in another batch": {func(c *company, sub submission.Submission) {
			c.must(c.reach(sub, "api", "11988880004"))
			c.erase(sub, 2, 1)
			c.run()
		}, want{erased: 1, others: 1, accepted: 3}},
		"in another batch, cancelled": {func(c *company, sub submission.Submission) {
			c.must(c.reach(sub, "api", "11988880004"))
			c.oneMore(sub)
			c.must(c.store.CancelCampaign(t.Context(), sub.ID, c.now, false))
			c.run()
		}, want{others: 1, accepted: 3, never: 1}},
		"cancelled": {func(c *company, sub submission.Submission) {
			c.must(c.store.CancelCampaign(t.Context(), sub.ID, c.now, false))
			c.run()
		}, want{accepted: 2, never: 3}},
		"discarded": {func(c *company, sub submission.Submission) {
			c.must(c.discard(c.stop(sub)))
			c.run()
		}, want{accepted: 2, never: 3}},
		"discarded in a part": {func(c *company, sub submission.Submission) {
			c.mayDiscard(sub)
		}, want{accepted: 4, never: 1}},
		"expired": {func(c *company, sub submission.Submission) {
			c.queue.tasks = nil
			c.now = c.stored(sub).FilesUntil()
		}, want{accepted: 2, never: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			sub := c.sendFirst(c.ready(file, nil))
			test.change(c, sub)
			s := c.totals(sub)
			if s.Lines != 8 || s.Invalid != 1 || s.Faulty != 1 || s.Repeated != 1 || s.People != 5 {
				t.Errorf("the file is %+v", s)
			}
			if got := (want{s.Erased, s.InOtherBatches, s.Accepted, s.ToCome(), s.NeverAccepted()}); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

// endingStore does something between the read and the write of an acceptance.
type endingStore struct {
	dispatch.Store
	end func()
}

func (s endingStore) Accept(ctx context.Context, a acceptance.Command, token string) error {
	s.end()
	return s.Store.Accept(ctx, a, token)
}

// No part is accepted after the rest of its file was discarded, also not one that was read before.
func TestSubmission_PartAfterDiscard(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.sendFirst(c.ready(five, nil))
	service := c.worker(c.store, c.blobs, c.queue).Dispatch.(*dispatch.Service)
	service.Store = endingStore{c.store, func() { _, err := c.store.EndParts(t.Context(), sub.ID); c.must(err) }}
	for range 2 {
		_, err := service.Accept(t.Context(), dispatch.Call{
			ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, Batch: "2", Part: sub.PartID(2), Totals: sub.Totals(), People: 2,
			Messages: []dispatch.Message{{Phone: "11988880003", UID: "c", Vars: map[string]string{"nome": "Caio"}}},
		})
		if refusal, ok := errors.AsType[*dispatch.Refusal](err); !ok || refusal.Faults[0].Code != dispatch.CodeCancelled {
			t.Errorf("the part gets %v, want a refusal", err)
		}
	}
	if s := c.totals(sub); len(c.batches(sub)) != 1 || s.NeverAccepted() != 3 {
		t.Errorf("batches %v, %+v", c.batches(sub), s)
	}
}

// mayDiscard discards a submission while its next part is accepted.
func (c *company) mayDiscard(sub submission.Submission) {
	c.t.Helper()
	w := c.worker(c.store, c.blobs, c.queue)
	w.Dispatch = discardingAfter{w.Dispatch, func() { c.must(c.discard(c.stop(sub))) }}
	c.must(w.Handle(c.t.Context(), c.queue.tasks)[0])
}

// discardingAfter discards a submission after a part was accepted.
type discardingAfter struct {
	dispatch.Dispatcher
	discard func()
}

func (d discardingAfter) Accept(ctx context.Context, asked dispatch.Call) (dispatch.Receipt, error) {
	r, err := d.Dispatcher.Accept(ctx, asked)
	d.discard()
	return r, err
}

// erase deletes the first messages of a part, as an erasure does.
func (c *company) erase(sub submission.Submission, part, messages int) {
	c.t.Helper()
	body, err := c.blobs.Get(c.t.Context(), sub.PartKey(part))
	c.must(err)
	lines := slices.Collect(bytes.Lines(body))
	c.must(c.blobs.Put(c.t.Context(), sub.PartKey(part), slices.Concat(slices.Delete(lines, 1, 1+messages)...), "application/x-ndjson"))
}

func (c *company) reschedule(sub submission.Submission, due time.Time) {
	c.t.Helper()
	sent, err := c.store.Dispatched(c.t.Context(), sub.ID)
	c.must(err)
	_, moved, err := c.store.RescheduleCampaign(c.t.Context(), sent, due, due)
	if c.must(err); !moved {
		c.t.Fatal("the campaign was not rescheduled")
	}
}

// sameTime checks that all parts that are not sent yet go at one time.
func (c *company) sameTime(sub submission.Submission) {
	c.t.Helper()
	all, err := c.store.Dispatched(c.t.Context(), sub.ID)
	c.must(err)
	for _, b := range all.Batches {
		if due := all.Batches[0].Due; !b.Due.Equal(due) && due.After(c.now) {
			c.t.Errorf("part %s goes at %v, part %s at %v", b.Name, b.Due, all.Batches[0].Name, due)
		}
	}
}

// A batch of another system that has the name of a part is not the part.
func TestSubmission_BatchTaken(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"a call of the API": "", "a part of an earlier check": "earlier"} {
		c := newCompany(t)
		sub := c.sendFirst(c.ready(five, nil))
		_, err := c.worker(c.store, c.blobs, c.queue).Dispatch.Accept(t.Context(), dispatch.Call{
			ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, Batch: "2", Part: part,
			Messages: []dispatch.Message{{Phone: "11988880009", UID: "x", Vars: map[string]string{"nome": "X"}}},
		})
		c.must(err)
		c.run()
		if sub = c.stored(sub); sub.State != submission.StateInterrupted || sub.Fault.Code != "batch_taken" || sub.Sending.Parts != 1 {
			t.Errorf("%s: %s, %q after %d parts; want a stop", name, sub.State, sub.Fault.Code, sub.Sending.Parts)
		}
		if diff := cmp.Diff(map[string]int{"1": 2, "2": 1}, c.batches(sub)); diff != "" {
			t.Errorf("%s: batches (-want +got):\n%s", name, diff)
		}
	}
}

// The rest of a schedule that has passed meanwhile goes at once.
func TestSubmission_LateRest(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) })
	sub.State, sub.Sending.Parts, sub.Sending.Accepted = submission.StateInterrupted, 1, 2
	c.now = noon.Add(2 * time.Hour)
	if sub = c.send(c.save(sub)); sub.State != submission.StateSent || !sub.Sending.RestAtOnce || sub.Sending.Accepted != 5 {
		t.Errorf("%s, %q, late %t, %d accepted", sub.State, sub.Fault.Code, sub.Sending.RestAtOnce, sub.Sending.Accepted)
	}
}

// sendFirst dispatches the first part of a submission alone.
func (c *company) sendFirst(sub submission.Submission) submission.Submission {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), sub))
	tasks := c.queue.tasks
	c.queue.tasks = nil
	const margin = 20 * time.Second // in which no further part begins
	ctx, cancel := context.WithTimeout(c.t.Context(), margin)
	defer cancel()
	c.must(c.worker(c.store, c.blobs, c.queue).Handle(ctx, tasks)[0])
	if sub = c.stored(sub); sub.Sending.Parts != 1 {
		c.t.Fatalf("%d parts are sent, want 1", sub.Sending.Parts)
	}
	return sub
}

// The rest of a schedule that is too near goes at its time, and not before.
func TestSubmission_LateRestWaits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	due := noon.Add(time.Hour)
	sub := c.sendFirst(c.ready(five, func(sub *submission.Submission) { sub.Schedule = due.Format(time.RFC3339) }))
	c.now = due.Add(-30 * time.Second)
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateSent || sub.Sending.Accepted != 5 {
		t.Errorf("%s, %q, %d accepted", sub.State, sub.Fault.Code, sub.Sending.Accepted)
	}
	all, err := c.store.Dispatched(t.Context(), sub.ID)
	c.must(err)
	for _, b := range all.Batches {
		if b.Due.Before(due) {
			t.Errorf("part %s goes at %v, want %v at the earliest", b.Name, b.Due, due)
		}
	}
}

// What was confirmed in time goes at its time, even if the function begins a little later. What
// begins after the time does not go.
func TestSubmission_BeginsLate(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]submission.State{
		-30 * time.Second: submission.StateSent, time.Second: submission.StateInterrupted,
	} {
		c := newCompany(t)
		due := noon.Add(time.Hour)
		sub := c.ready(five, func(sub *submission.Submission) { sub.Schedule = due.Format(time.RFC3339) })
		c.must(c.Send(t.Context(), sub))
		c.now = due.Add(late)
		if c.run(); c.stored(sub).State != want || want == submission.StateSent && c.now.Before(due) {
			t.Errorf("%v after its time: %s, %q at %v; want %s", late, c.stored(sub).State, c.stored(sub).Fault, c.now, want)
		}
	}
}

// The rest of a campaign goes with the parts that were rescheduled meanwhile.
func TestSubmission_Rescheduled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.sendFirst(c.ready(five, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	due := noon.Add(24 * time.Hour)
	c.reschedule(sub, due)
	c.run()
	all, err := c.store.Dispatched(t.Context(), sub.ID)
	c.must(err)
	for _, b := range all.Batches {
		if !b.Due.Equal(due) {
			t.Errorf("part %s goes at %v, want %v", b.Name, b.Due, due)
		}
	}
	if len(all.Batches) != 3 {
		t.Errorf("%d parts are sent, want 3", len(all.Batches))
	}
}

// moving is a dispatch service before whose next call a campaign is rescheduled.
type moving struct {
	dispatch.Dispatcher
	move func()
}

func (m *moving) Accept(ctx context.Context, c dispatch.Call) (dispatch.Receipt, error) {
	if move := m.move; move != nil {
		m.move = nil
		move()
	}
	return m.Dispatcher.Accept(ctx, c)
}

// A campaign that is rescheduled just before a part is accepted takes the part along.
func TestSubmission_RescheduledInStep(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.sendFirst(c.ready(five, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Dispatch = &moving{w.Dispatch, func() { c.reschedule(sub, noon.Add(24*time.Hour)) }}
	tasks := c.queue.tasks
	c.queue.tasks = nil
	c.must(w.Handle(t.Context(), tasks)[0])
	if sent := c.stored(sub); sent.State != submission.StateSent || len(c.batches(sub)) != 3 {
		t.Errorf("%s, %q, batches %v", sent.State, sent.Fault, c.batches(sub))
	}
	c.sameTime(sub)
}

// The campaign keeps who asked for its approval, whichever part is accepted first.
func TestSubmission_AskedBy(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, approved := range []bool{true, false} { // before the first part, or after it
		sub, given := c.ready(five, nil), submission.Approval{AskedBy: bia, Decision: submission.DecisionApproved}
		if approved {
			sub.Approval = given
			sub = c.save(sub)
		}
		sub = c.sendFirst(sub)
		c.queue.tasks, sub.Approval, sub.State = nil, given, submission.StateInterrupted
		c.send(c.save(sub))
		all, err := c.store.Overview(t.Context(), sub.ID)
		if err != nil || all.AskedBy != "bia@example.com" {
			t.Errorf("approved before the first part %t: asked by %q, %v", approved, all.AskedBy, err)
		}
	}
}

// A campaign whose rest was refused for the budget is rescheduled: the rest goes with it.
func TestSubmission_RescheduledAfterBudget(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, func(sub *submission.Submission) { sub.Schedule = noon.Add(time.Hour).Format(time.RFC3339) })
	limit := func(day campaign.Money) {
		c.must(c.store.SetBilling(t.Context(), c.tenant, campaign.Billing{
			Prices: campaign.Prices{Basic: 50_000, Single: 50_000}, Limits: campaign.Spending{Day: day},
		}))
	}
	c.must(c.Send(t.Context(), sub))
	limit(100_000) // for one part
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateInterrupted || sub.Fault.Code != campaign.CodeBudgetExceeded || sub.Sending.Parts != 1 {
		t.Fatalf("%s, %q after %d parts; want a stop", sub.State, sub.Fault.Code, sub.Sending.Parts)
	}
	due := noon.Add(24 * time.Hour)
	c.reschedule(sub, due)
	shown, err := c.Submission(t.Context(), sub.ID)
	c.must(err)
	if shown.Schedule != due.Format(time.RFC3339) {
		t.Errorf("the page of the rest shows %s, want %v", shown.Schedule, due)
	}
	limit(1_000_000)
	if sub = c.send(shown); sub.State != submission.StateSent || len(c.batches(sub)) != 3 {
		t.Errorf("%s, %q, batches %v", sub.State, sub.Fault.Code, c.batches(sub))
	}
	c.sameTime(sub)
}

// Of a campaign that was cancelled meanwhile, nothing more goes, and only the parts that were not
// accepted are left.
func TestSubmission_CampaignCancelled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.sendFirst(c.ready(five, nil))
	c.must(c.store.CancelCampaign(t.Context(), sub.ID, c.now, false))
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateDiscarded || len(c.batches(sub)) != 1 {
		t.Errorf("%s, %q, batches %v; want it discarded", sub.State, sub.Fault.Code, c.batches(sub))
	}
	c.wantNotAccepted(sub, 2, 3)
}

// wantNotAccepted checks that only parts are left of a closed submission, and that the campaign knows which.
func (c *company) wantNotAccepted(sub submission.Submission, parts ...int) {
	c.t.Helper()
	var want []string
	for _, part := range parts {
		want = append(want, "check-1/part-"+strconv.Itoa(part))
	}
	if diff := cmp.Diff(want, c.files(sub)); diff != "" {
		c.t.Errorf("files (-want +got):\n%s", diff)
	}
	totals := c.totals(sub)
	if diff := cmp.Diff(parts, totals.PartsNotAccepted()); diff != "" {
		c.t.Errorf("the campaign knows of other parts (-want +got):\n%s", diff)
	}
	for _, part := range parts {
		if key := submission.NotAcceptedKey(sub.ID, totals, part); key != sub.PartKey(part) {
			c.t.Errorf("the campaign takes %s for part %d", key, part)
		}
	}
}

// Of a campaign that was cancelled before its first part, all parts are left.
func TestSubmission_CancelledBefore(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, nil)
	c.must(c.Send(t.Context(), sub))
	c.must(c.store.CreateCancelled(t.Context(), campaign.Campaign{ID: sub.ID, Name: sub.Name, Submission: c.stored(sub).Totals(), CancelledAt: c.now}))
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateDiscarded || len(c.batches(sub)) > 0 {
		t.Errorf("%s, %q, batches %v; want it discarded", sub.State, sub.Fault.Code, c.batches(sub))
	}
	c.wantNotAccepted(sub, 1, 2, 3)
	c.wantDays(map[string]campaign.DayCounts{"2036-11-21": {NotSent: 5}})
}

// wantDays checks the results of the days that the overview shows, and that a recount agrees.
func (c *company) wantDays(want map[string]campaign.DayCounts) {
	c.t.Helper()
	for _, when := range []string{"when it was closed", "after a recount"} {
		days, err := c.store.Days(c.t.Context(), c.tenant, "2036-01-01", "2037-12-31")
		c.must(err)
		got := map[string]campaign.DayCounts{}
		for _, d := range days {
			got[d.Date] = d.DayCounts
		}
		if diff := cmp.Diff(want, got); diff != "" {
			c.t.Errorf("days %s (-want +got):\n%s", when, diff)
		}
		c.must((&recount.Recounter{Store: c.store, Now: func() time.Time { return c.now }}).Tenant(c.t.Context(), c.tenant))
	}
}

// People who are not accepted any more count as not delivered on the day of their campaign, once.
func TestSubmission_NeverAcceptedByDay(t *testing.T) {
	t.Parallel()
	for name, schedule := range map[string]string{"2036-11-21": "", "2036-11-23": "2036-11-23T12:00:00Z"} {
		c := newCompany(t)
		sub := c.sendFirst(c.ready(five, func(sub *submission.Submission) { sub.Schedule = schedule }))
		c.must(c.store.CancelCampaign(t.Context(), sub.ID, c.now, false))
		c.run()
		c.queue.tasks = []submission.Task{{Tenant: c.tenant, CampaignID: sub.CampaignID}} // repeated
		c.run()
		c.wantNotAccepted(sub, 2, 3)
		if schedule != "" {
			c.now = c.stored(sub).Due()
		}
		c.wantDays(map[string]campaign.DayCounts{name: {NotSent: 3}})
	}
}

// Of a submission that expires, the campaign keeps the parts that it has not accepted. Without a
// campaign nothing is left.
func TestSweep_Expired(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(c *company) submission.Submission{
		"a review": func(c *company) submission.Submission { return c.ready(five, nil) },
		"a part was refused": func(c *company) submission.Submission {
			sub := c.sendFirst(c.ready(five, nil))
			c.queue.tasks, sub.State = nil, submission.StateInterrupted
			sub, err := c.store.SaveSubmission(t.Context(), sub)
			c.must(err)
			return sub
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(stackenv.Load(t))
			env["CAMPAIGNS_TABLE"] = env.OwnTable(t, env["CAMPAIGNS_TABLE"]) // sweep finds nothing else
			c := newCompanyIn(t, env)
			sub := begin(c)
			c.now = noon.Add(submission.Life - time.Hour)
			c.sweepOnly(sub)
			if now := c.stored(sub); now.Closed() {
				t.Fatalf("an hour before its end it is %s", now.State)
			}
			c.now = noon.Add(submission.Life)
			c.sweepOnly(sub)
			if now := c.stored(sub); !now.Closed() || now.DeletingFiles || !now.ExpiresAt().After(c.now.AddDate(0, 0, 29)) {
				t.Errorf("it is %s, until %v", now.State, now.ExpiresAt())
			}
			if sub.Sending.Parts > 0 {
				c.wantNotAccepted(sub, 2, 3)
			} else if left := c.files(sub); len(left) > 0 {
				t.Errorf("files are left: %v", left)
			}
		})
	}
}

func TestDiscard_DeletesFiles(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, nil)
	if diff := cmp.Diff([]string{"file-" + sub.File.Object, "check-1/part-1", "check-1/part-2", "check-1/part-3"}, c.files(sub)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	c.must(c.Discard(t.Context(), sub))
	if left := c.files(sub); len(left) > 0 || c.stored(sub).State != submission.StateDiscarded {
		t.Errorf("files %v are left of a submission that is %s", left, c.stored(sub).State)
	}
}

// Of a file that is checked twice, no part of the first check is left.
func TestDiscard_DeletesEarlierParts(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(five, nil)
	c.must(c.Check(t.Context(), sub, submission.Chosen{Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}}}, c.t1))
	c.must(c.Discard(t.Context(), c.stored(sub)))
	if left := c.files(sub); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// discarding discards a submission while its task writes a part.
type discarding struct {
	intake.Blobs
	discard func()
}

func (d discarding) PutOnce(ctx context.Context, key string, body []byte, contentType string) error {
	d.discard()
	return d.Blobs.PutOnce(ctx, key, body, contentType)
}

func TestDiscard_WhileReading(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.upload(five, nil)
	c.must(c.Check(t.Context(), sub, submission.Chosen{Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}}}, c.t1))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Blobs = discarding{c.blobs, func() { _ = c.discard(sub) }}
	c.must(w.Handle(t.Context(), c.queue.tasks)[0])
	if left := c.files(sub); len(left) > 0 || c.stored(sub).State != submission.StateDiscarded {
		t.Errorf("files %v are left of a submission that is %s", left, c.stored(sub).State)
	}
}

// late returns a worker that is interrupted before it writes its first part.
func (c *company) late(meanwhile func()) *intake.Worker {
	w := c.worker(c.store, c.blobs, c.queue)
	w.Blobs = discarding{c.blobs, sync.OnceFunc(meanwhile)}
	return w
}

// A late function of an earlier check replaces no part of what is approved.
func TestCheck_LateWorker(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.upload(five, nil)
	c.must(c.Check(t.Context(), sub, columns, c.t1))
	first := c.queue.tasks
	var approved []byte
	w := c.late(func() {
		c.run()
		c.must(c.Check(t.Context(), c.stored(sub), submission.Chosen{Phone: 0, UID: 2, Values: []submission.Column{{Name: "nome", Column: 1}}}, c.t1))
		c.run()
		var err error
		approved, err = c.blobs.Get(t.Context(), c.stored(sub).PartKey(1))
		c.must(err)
	})
	c.must(w.Handle(t.Context(), first)[0])
	sub = c.stored(sub)
	body, err := c.blobs.Get(t.Context(), sub.PartKey(1))
	c.must(err)
	if diff := cmp.Diff(string(approved), string(body)); diff != "" || sub.State != submission.StateReady || sub.Check.Number != 3 {
		t.Errorf("%s after check %d, part (-approved +now):\n%s", sub.State, sub.Check.Number, diff)
	}
	if sub = c.send(sub); sub.State != submission.StateSent || sub.Sending.Accepted != 5 {
		t.Errorf("%s, %q, %d accepted", sub.State, sub.Fault.Code, sub.Sending.Accepted)
	}
}

// failing is a store of parts that fails, after something else has happened.
type failing struct {
	intake.Blobs
	meanwhile func()
}

func (f failing) PutOnce(context.Context, string, []byte, string) error {
	f.meanwhile()
	return errDead
}

// What a late function cannot read does not end the next check.
func TestCheck_LateFailure(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.upload(five, nil)
	c.must(c.Check(t.Context(), sub, columns, c.t1))
	first := c.queue.tasks
	first[0].Receives = 5
	w := c.worker(c.store, c.blobs, c.queue)
	w.Blobs = failing{c.blobs, func() {
		c.run()
		c.must(c.Check(t.Context(), c.stored(sub), columns, c.t1))
	}}
	if err := w.Handle(t.Context(), first)[0]; !errors.Is(err, errDead) {
		t.Error(err)
	}
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateReady || sub.Check.Number != 3 {
		t.Errorf("%s, %q, after check %d", sub.State, sub.Fault.Code, sub.Check.Number)
	}
}

// A late function writes nobody again who was erased meanwhile.
func TestCheck_LateWorkerAfterErasure(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.upload(five, nil)
	c.must(c.Check(t.Context(), sub, columns, c.t1))
	first := c.queue.tasks
	w := c.late(func() {
		c.run()
		c.erase(c.stored(sub), 1, 1)
	})
	c.must(w.Handle(t.Context(), first)[0])
	if sub = c.send(c.stored(sub)); sub.State != submission.StateSent || sub.Sending.Accepted != 4 {
		t.Errorf("%s, %q, %d accepted, want 4", sub.State, sub.Fault.Code, sub.Sending.Accepted)
	}
}

// A submission whose task is lost again and again ends, so that nobody waits for it in vain.
func TestSubmission_RepairedInVain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begin func(c *company) submission.Submission
		want  submission.State
	}{"checking": {(*company).checking, submission.StateFailed}, "sending": {(*company).sending, submission.StateInterrupted}} {
		c := newCompany(t)
		sub := test.begin(c)
		sub.Repairs = submission.MaxRepairs + 1
		_, err := c.store.SaveSubmission(t.Context(), sub)
		c.must(err)
		c.run()
		if sub = c.stored(sub); sub.State != test.want || sub.Fault.Code != "damaged" {
			t.Errorf("%s: %s, %q; want it %s", name, sub.State, sub.Fault.Code, test.want)
		}
		if test.want == submission.StateInterrupted && c.send(sub).State != submission.StateSent {
			t.Errorf("%s: the rest is not sent: %s", name, c.stored(sub).State)
		}
	}
}

var errDead = errors.New("the process is dead")

// discard closes a submission that is not sent, so that the tenant's limit is not reached.
func (c *company) discard(sub submission.Submission) error {
	if err := c.Discard(c.t.Context(), c.stored(sub)); !errors.Is(err, intake.ErrState) {
		return err
	}
	return nil
}

// stop interrupts a submission whose parts are being sent.
func (c *company) stop(sub submission.Submission) submission.Submission {
	c.t.Helper()
	sub = c.stored(sub)
	sub.State = submission.StateInterrupted
	return c.save(sub)
}
