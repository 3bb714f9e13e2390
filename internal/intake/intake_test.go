package intake_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/port"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/random"
	"campaign-dispatch/internal/recipients"
	"campaign-dispatch/localstack/stackenv"
)

// noon is in the future, so that the sweep function of the stack does not release the batches.
var noon = time.Date(2036, 11, 21, 12, 0, 0, 0, time.UTC)

// queue keeps the tasks that are sent to it, and the longest of their delays.
type queue struct {
	mu    sync.Mutex
	tasks []campaign.ImportTask
	delay time.Duration
}

func (q *queue) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.delay = max(q.delay, delay)
	var t campaign.ImportTask
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
	*intake.Service
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{t: t, env: stackenv.Load(t), queue: &queue{}, now: noon, tenant: "t-" + rand.Text()}
	c.store, c.blobs = c.stores(c.env.AWS())
	c.Service = &intake.Service{
		Store: c.store, Uploads: c.blobs, Stat: c.blobs.Stat, Tasks: c.queue, Now: func() time.Time { return c.now }, Lead: time.Minute,
	}
	c.t1 = campaign.Template{ID: random.UUID(), Tenant: c.tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi {{nome}}"}}
	_, err := c.store.PutTemplate(t.Context(), c.t1)
	c.must(err)
	return c
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
		Store: store, Blobs: blobs, Tasks: tasks, Now: now, PartLines: max(2, c.partLines), OptOuts: &optout.Book{Store: store, Now: now},
		Open: func(ctx context.Context, key, tag string) (intake.Source, int64, error) {
			file, err := blobs.OpenFile(ctx, key, tag)
			if err != nil {
				return nil, 0, err
			}
			return file, file.Size, nil
		},
		Dispatch: &dispatch.Service{
			Store: store, Blobs: blobs, Releases: noReleases{}, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20}, Now: now, Lead: time.Minute,
		},
	}
}

// run handles tasks until there are none.
func (c *company) run() {
	c.t.Helper()
	for len(c.queue.tasks) > 0 {
		tasks := c.queue.tasks
		c.now = c.now.Add(c.queue.delay)
		c.queue.tasks, c.queue.delay = nil, 0
		for _, err := range c.worker(c.store, c.blobs, c.queue).Handle(c.t.Context(), tasks) {
			c.must(err)
		}
	}
}

// upload uploads a file and returns its import.
func (c *company) upload(file string, change func(i *campaign.Import)) campaign.Import {
	c.t.Helper()
	asked := campaign.Import{
		ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c " + rand.Text(), TemplateID: c.t1.ID, FileName: "f.csv", Size: int64(len(file)),
	}
	if change != nil {
		change(&asked)
	}
	i, _, err := c.Start(c.t.Context(), asked)
	c.must(err)
	c.put(i, 1, file)
	c.must(c.Finish(c.t.Context(), i))
	c.run()
	return c.stored(i)
}

// put sends a part as a browser does.
func (c *company) put(i campaign.Import, part int, body string) {
	c.t.Helper()
	address, err := c.PartURL(c.t.Context(), i, part)
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

func (c *company) stored(i campaign.Import) campaign.Import {
	c.t.Helper()
	stored, err := c.store.Import(c.t.Context(), i.ID)
	c.must(err)
	return stored
}

// check reads the file of an import.
func (c *company) check(i campaign.Import) campaign.Import {
	c.t.Helper()
	columns := recipients.Columns{Phone: i.Phone, UID: i.UID}
	for _, v := range i.Values {
		columns.Values = append(columns.Values, recipients.Value(v))
	}
	if missing := columns.Missing(); len(missing) > 0 {
		c.t.Fatalf("no column for %v in %v", missing, i.Header)
	}
	c.must(c.Check(c.t.Context(), i, columns, c.t1))
	c.run()
	return c.stored(i)
}

// ready returns an import that is ready to be sent.
func (c *company) ready(file string, change func(i *campaign.Import)) campaign.Import {
	c.t.Helper()
	i := c.check(c.upload(file, change))
	if i.State != campaign.ImportReady {
		c.t.Fatalf("the import is %s, %s", i.State, i.Fault)
	}
	return i
}

// send dispatches the parts of an import.
func (c *company) send(i campaign.Import) campaign.Import {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), i))
	c.run()
	return c.stored(i)
}

// batches returns the accepted messages of each batch of a campaign, by name.
func (c *company) batches(i campaign.Import) map[string]int {
	c.t.Helper()
	all, err := c.store.Dispatched(c.t.Context(), i.ID)
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

// files returns the names of the files of an import that are left.
func (c *company) files(i campaign.Import) (names []string) {
	c.t.Helper()
	for o, err := range c.blobs.List(c.t.Context(), campaign.ImportPrefix+i.Tenant+"/"+i.CampaignID+"/") {
		c.must(err)
		names = append(names, o.Key[strings.LastIndex(o.Key, "/")+1:])
	}
	return names
}

const five = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880003;c;Caio\n11988880004;d;Davi\n11988880005;e;Eva\n"

func TestImport_Findings(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.must((&optout.Book{Store: c.store, Now: func() time.Time { return c.now }}).Record(t.Context(), c.tenant,
		[]campaign.OptChange{{Phone: "+5511988880002", Out: true, At: noon}}))
	i := c.ready(five+"11988880001;again;Ana\n11988880006;;Fay\n11988880007;g;\n123;h;Gil\n", nil)
	want := campaign.ImportFindings{
		Accepted: 5, OptedOut: 1, Rejected: i.Findings.Rejected, Classes: i.Findings.Classes,
		Repeated: campaign.Findings{Count: 1, Lines: []int{7}},
		LeftOut: []campaign.Problem{
			{Code: "missing_uid", Column: "uid", Findings: campaign.Findings{Count: 1, Lines: []int{8}}},
			{Code: "missing_variable", Column: "nome", Findings: campaign.Findings{Count: 1, Lines: []int{9}}},
		},
	}
	if diff := cmp.Diff(want, i.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if got := i.Findings.Rejected; len(got) != 1 || got[0].Count != 1 || got[0].Lines[0] != 10 {
		t.Errorf("rejected: %+v", got)
	}
	if done := c.send(i); done.State != campaign.ImportSent || done.SentAccepted != 5 || done.SentRejected != 1 {
		t.Errorf("sent: %s, %d accepted, %d rejected", done.State, done.SentAccepted, done.SentRejected)
	}
	if diff := cmp.Diff(map[string]int{"1": 2, "2": 2, "3": 1}, c.batches(i)); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	if left := c.files(i); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// All messages with an invalid URL are counted, however many a part has.
func TestImport_InvalidURLs(t *testing.T) {
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
	got := c.ready(file.String(), nil).Findings.BadURLs
	if got.Count != people || len(got.Lines) != campaign.MaxFindings || got.Lines[0] != 2 {
		t.Errorf("%d invalid URLs in the lines %v, want %d from line 2", got.Count, got.Lines, people)
	}
}

func TestImport_KnownColumns(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.upload("Contato;Cadastro;Cliente\n11988880001;a;Ana\n", nil)
	if i.State != campaign.ImportColumns || i.Phone != -1 || i.UID != -1 || i.Values[0].Column != -1 {
		t.Fatalf("%s with the columns %d, %d and %v", i.State, i.Phone, i.UID, i.Values)
	}
	if diff := cmp.Diff([][]string{{"11988880001", "a", "Ana"}}, i.First); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
	i.Phone, i.UID, i.Values[0].Column = 0, 1, 2
	if checked := c.check(i); checked.Findings.Accepted != 1 {
		t.Errorf("%s: %d accepted", checked.State, checked.Findings.Accepted)
	}
	if next := c.upload("CLIENTE;Contato;cadastro\nBia;11988880002;b\n", nil); next.Phone != 1 || next.UID != 2 || next.Values[0].Column != 0 {
		t.Errorf("the next file has the columns %d, %d and %v", next.Phone, next.UID, next.Values)
	}
}

func TestStart_Continues(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := strings.Repeat("a", intake.PartSize) + "b"
	asked := campaign.Import{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID, FileName: "f.csv", Size: int64(len(file)), Modified: "7"}
	first, _, err := c.Start(t.Context(), asked)
	c.must(err)
	if err := c.Finish(t.Context(), first); err == nil {
		t.Error("an upload without parts was finished")
	}
	c.put(first, 1, file[:intake.PartSize])
	again, parts, err := c.Start(t.Context(), asked)
	c.must(err)
	if again.CampaignID != first.CampaignID || parts[1] != intake.PartSize || len(parts) != 1 {
		t.Errorf("the same file has the import %s with the parts %v, want %s", again.CampaignID, parts, first.CampaignID)
	}
	if err := c.Finish(t.Context(), again); err == nil {
		t.Error("an upload without its last part was finished")
	}
	if _, parts, err := c.Start(t.Context(), asked); err != nil || len(parts) != 1 {
		t.Errorf("it continues with the parts %v, %v", parts, err)
	}
	for name, change := range map[string]func(i *campaign.Import){
		"another person": func(i *campaign.Import) { i.By = "bia@example.com" },
		"another time":   func(i *campaign.Import) { i.Modified = "8" },
		"another tenant": func(i *campaign.Import) { i.Tenant += "-2" },
	} {
		other := asked
		change(&other)
		if i, _, err := c.Start(t.Context(), other); err != nil || i.CampaignID == first.CampaignID {
			t.Errorf("%s: import %s, %v", name, i.CampaignID, err)
		}
	}
}

// A list of a campaign's recipients becomes a file.
func TestStartFrom(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	object := "exports/" + rand.Text() + ".csv"
	c.must(c.blobs.Put(t.Context(), object, []byte(five), "text/csv"))
	i, err := c.StartFrom(t.Context(), campaign.Import{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID}, object)
	c.must(err)
	c.run()
	if i = c.check(c.stored(i)); i.State != campaign.ImportReady || i.Findings.Accepted != 5 {
		t.Errorf("%s, %q, %d accepted", i.State, i.Fault, i.Findings.Accepted)
	}
	if _, err := c.StartFrom(t.Context(), campaign.Import{ID: campaign.ID{Tenant: c.tenant}}, "exports/none"); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a missing object: %v", err)
	}
}

func TestStart_Limits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for n := range campaign.MaxImports + 1 {
		_, _, err := c.Start(t.Context(), campaign.Import{ID: campaign.ID{Tenant: c.tenant}, FileName: strconv.Itoa(n), Size: 1})
		if full := n == campaign.MaxImports; (err != nil) != full {
			t.Errorf("import %d: %v", n, err)
		}
	}
	for _, size := range []int64{-1, 0, campaign.MaxImport + 1} {
		if _, _, err := newCompany(t).Start(t.Context(), campaign.Import{ID: campaign.ID{Tenant: "x" + rand.Text()}, Size: size}); err == nil {
			t.Errorf("a file of %d bytes was taken", size)
		}
	}
}

func TestImport_InvalidFile(t *testing.T) {
	t.Parallel()
	for file, fault := range map[string]string{
		"":                                  "",
		"phone,uid,nome\n":                  "no_rows",
		"phone,uid,nome\n1,a,b\n2,\"c\n":    "quotes",
		"PK\x03\x04 this is not a workbook": "workbook_damaged",
	} {
		if file == "" {
			continue // Start refuses it
		}
		c := newCompany(t)
		i := c.upload(file, nil)
		if i.State == campaign.ImportColumns {
			i = c.check(i)
		}
		if i.State != campaign.ImportFailed || i.Fault != fault || len(c.files(i)) > 0 {
			t.Errorf("%q: %s, %q, files %v; want a failure %s", file, i.State, i.Fault, c.files(i), fault)
		}
	}
}

// What is sent is what was checked: not a template with another version.
func TestImport_TemplateChanged(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.ready(five, nil)
	next := c.t1
	next.Version = 2
	_, err := c.store.PutTemplate(t.Context(), next)
	c.must(err)
	if i = c.send(i); i.State != campaign.ImportStopped || i.Fault != campaign.CodeTemplateChanged || len(c.batches(i)) > 0 {
		t.Errorf("%s, %q, %v; want a stop with no batch", i.State, i.Fault, c.batches(i))
	}
}

// unsaved is a store in a process that dies before it saves.
type unsaved struct{ intake.Store }

func (unsaved) SaveImport(context.Context, campaign.Import) (campaign.Import, error) {
	return campaign.Import{}, errDead
}

// acceptUnsaved sends the first part of an import in a process that dies after the acceptance.
func (c *company) acceptUnsaved(i campaign.Import) {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), i))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Store = unsaved{w.Store}
	if err := w.Handle(c.t.Context(), c.queue.tasks)[0]; !errors.Is(err, errDead) {
		c.t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"1": 2}, c.batches(i)); diff != "" || c.stored(i).Sent != 0 {
		c.t.Fatalf("%d parts are saved as sent, batches (-want +got):\n%s", c.stored(i).Sent, diff)
	}
}

// A part that was accepted before the process died is not sent again, whatever happened until
// the next task.
func TestImport_AcceptedBefore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(c *company, i campaign.Import)
		want   map[string]int
	}{
		"nothing happened":   {func(*company, campaign.Import) {}, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a day passed":       {func(c *company, _ campaign.Import) { c.now = noon.Add(25 * time.Hour) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a person erased":    {func(c *company, i campaign.Import) { c.erase(i, 1, 1) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"the part erased":    {func(c *company, i campaign.Import) { c.erase(i, 1, 2) }, map[string]int{"1": 2, "2": 2, "3": 1}},
		"a later one erased": {func(c *company, i campaign.Import) { c.erase(i, 2, 2) }, map[string]int{"1": 2, "3": 1}},
		"rescheduled":        {func(c *company, i campaign.Import) { c.reschedule(i, noon.Add(48*time.Hour)) }, map[string]int{"1": 2, "2": 2, "3": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			i := c.ready(five, func(i *campaign.Import) { i.Schedule = noon.Add(24 * time.Hour).Format(time.RFC3339) })
			c.acceptUnsaved(i)
			test.change(c, i)
			c.run()
			accepted := 0
			for _, n := range test.want {
				accepted += n
			}
			if i = c.stored(i); i.State != campaign.ImportSent || i.SentAccepted != accepted || i.SentRejected != 0 {
				t.Errorf("%s, %q, %d accepted, %d rejected", i.State, i.Fault, i.SentAccepted, i.SentRejected)
			}
			if s := c.totals(i); s.Accepted != accepted || s.Erased != 5-accepted || s.PartsToCome != 0 {
				t.Errorf("%+v, want %d accepted", s, accepted)
			}
			if diff := cmp.Diff(test.want, c.batches(i)); diff != "" {
				t.Errorf("batches (-want +got):\n%s", diff)
			}
			c.sameTime(i)
		})
	}
}

// totals returns the totals of a campaign's file.
func (c *company) totals(i campaign.Import) campaign.SubmissionTotals {
	c.t.Helper()
	all, err := c.store.Overview(c.t.Context(), i.ID)
	c.must(err)
	s := all.Submission
	if s.Lines != s.Invalid+s.Faulty+s.Repeated+s.People || s.People != s.Erased+s.NotAccepted()+s.Accepted {
		c.t.Errorf("%+v does not add up", s)
	}
	standings, err := c.store.Standings(c.t.Context(), i.Tenant, []string{i.CampaignID})
	c.must(err)
	if diff := cmp.Diff(s, standings[i.CampaignID].Submission); diff != "" {
		c.t.Errorf("the list has other totals than the page (-page +list):\n%s", diff)
	}
	return s
}

// What becomes of the people of a file stays known, whatever ends the sending.
func TestImport_Totals(t *testing.T) {
	t.Parallel()
	const file = five + "11988880001;again;Ana\n11988880006;;Fay\n123;h;Gil\n"
	type want struct{ erased, accepted, toCome, never int }
	for name, test := range map[string]struct {
		change func(c *company, i campaign.Import)
		want   want
	}{
		"all sent":            {func(c *company, _ campaign.Import) { c.run() }, want{accepted: 5}},
		"one part sent":       {func(*company, campaign.Import) {}, want{accepted: 2, toCome: 3}},
		"a person erased":     {func(c *company, i campaign.Import) { c.erase(i, 2, 1); c.run() }, want{erased: 1, accepted: 4}},
		"a part erased":       {func(c *company, i campaign.Import) { c.erase(i, 2, 2); c.run() }, want{erased: 2, accepted: 3}},
		"the last one erased": {func(c *company, i campaign.Import) { c.erase(i, 3, 2); c.run() }, want{erased: 1, accepted: 4}},
		"cancelled": {func(c *company, i campaign.Import) {
			c.must(c.store.CancelCampaign(t.Context(), i.ID, c.now, false))
			c.run()
		}, want{accepted: 2, never: 3}},
		"discarded": {func(c *company, i campaign.Import) {
			c.must(c.discard(i))
			c.run()
		}, want{accepted: 2, never: 3}},
		"discarded in a part": {func(c *company, i campaign.Import) {
			c.mayDiscard(i)
		}, want{accepted: 4, never: 1}},
		"expired": {func(c *company, i campaign.Import) {
			c.queue.tasks = nil
			c.now = c.stored(i).ExpiresAt()
		}, want{accepted: 2, never: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			i := c.sendFirst(c.ready(file, nil))
			test.change(c, i)
			s := c.totals(i)
			if s.Lines != 8 || s.Invalid != 1 || s.Faulty != 1 || s.Repeated != 1 || s.People != 5 {
				t.Errorf("the file is %+v", s)
			}
			if got := (want{s.Erased, s.Accepted, s.ToCome(), s.NeverAccepted()}); got != test.want {
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

func (s endingStore) Accept(ctx context.Context, a campaign.AcceptCommand, token string) error {
	s.end()
	return s.Store.Accept(ctx, a, token)
}

// No part is accepted after the rest of its file was discarded, also not one that was read before.
func TestImport_PartAfterDiscard(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.sendFirst(c.ready(five, nil))
	service := c.worker(c.store, c.blobs, c.queue).Dispatch.(*dispatch.Service)
	service.Store = endingStore{c.store, func() { c.must(c.store.EndParts(t.Context(), i.ID)) }}
	for range 2 {
		_, err := service.Accept(t.Context(), dispatch.Call{
			ID: i.ID, Name: i.Name, TemplateID: i.TemplateID, Batch: "2", Part: i.PartID(2), Totals: i.Totals(), People: 2,
			Messages: []dispatch.Message{{Phone: "11988880003", UID: "c", Vars: map[string]string{"nome": "Caio"}}},
		})
		if refusal, ok := errors.AsType[*dispatch.Refusal](err); !ok || refusal.Faults[0].Code != dispatch.CodeCancelled {
			t.Errorf("the part gets %v, want a refusal", err)
		}
	}
	if s := c.totals(i); len(c.batches(i)) != 1 || s.NeverAccepted() != 3 {
		t.Errorf("batches %v, %+v", c.batches(i), s)
	}
}

// mayDiscard discards an import while its next part is accepted.
func (c *company) mayDiscard(i campaign.Import) {
	c.t.Helper()
	w := c.worker(c.store, c.blobs, c.queue)
	w.Dispatch = discardingAfter{w.Dispatch, func() { c.must(c.discard(i)) }}
	c.must(w.Handle(c.t.Context(), c.queue.tasks)[0])
}

// discardingAfter discards an import after a part was accepted.
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
func (c *company) erase(i campaign.Import, part, messages int) {
	c.t.Helper()
	body, err := c.blobs.Get(c.t.Context(), i.PartBlob(part))
	c.must(err)
	lines := slices.Collect(bytes.Lines(body))
	c.must(c.blobs.Put(c.t.Context(), i.PartBlob(part), slices.Concat(slices.Delete(lines, 1, 1+messages)...), "application/x-ndjson"))
}

func (c *company) reschedule(i campaign.Import, due time.Time) {
	c.t.Helper()
	sent, err := c.store.Dispatched(c.t.Context(), i.ID)
	c.must(err)
	_, moved, err := c.store.MoveCampaign(c.t.Context(), sent, due, due)
	if c.must(err); !moved {
		c.t.Fatal("the campaign was not rescheduled")
	}
}

// sameTime checks that all parts that are not sent yet go at one time.
func (c *company) sameTime(i campaign.Import) {
	c.t.Helper()
	all, err := c.store.Dispatched(c.t.Context(), i.ID)
	c.must(err)
	for _, b := range all.Batches {
		if due := all.Batches[0].Due; !b.Due.Equal(due) && due.After(c.now) {
			c.t.Errorf("part %s goes at %v, part %s at %v", b.Name, b.Due, all.Batches[0].Name, due)
		}
	}
}

// A batch of another system that has the name of a part is not the part.
func TestImport_BatchTaken(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"a call of the API": "", "a part of an earlier check": "earlier"} {
		c := newCompany(t)
		i := c.sendFirst(c.ready(five, nil))
		_, err := c.worker(c.store, c.blobs, c.queue).Dispatch.Accept(t.Context(), dispatch.Call{
			ID: i.ID, Name: i.Name, TemplateID: i.TemplateID, Batch: "2", Part: part,
			Messages: []dispatch.Message{{Phone: "11988880009", UID: "x", Vars: map[string]string{"nome": "X"}}},
		})
		c.must(err)
		c.run()
		if i = c.stored(i); i.State != campaign.ImportStopped || i.Fault != "batch_taken" || i.Sent != 1 {
			t.Errorf("%s: %s, %q after %d parts; want a stop", name, i.State, i.Fault, i.Sent)
		}
		if diff := cmp.Diff(map[string]int{"1": 2, "2": 1}, c.batches(i)); diff != "" {
			t.Errorf("%s: batches (-want +got):\n%s", name, diff)
		}
	}
}

// The rest of a schedule that has passed meanwhile goes at once.
func TestImport_LateRest(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.ready(five, func(i *campaign.Import) { i.Schedule = noon.Add(time.Hour).Format(time.RFC3339) })
	i.State, i.Sent, i.SentAccepted = campaign.ImportSending, 1, 2
	c.now = noon.Add(2 * time.Hour)
	if i = c.send(i); i.State != campaign.ImportSent || !i.Late || i.SentAccepted != 5 {
		t.Errorf("%s, %q, late %t, %d accepted", i.State, i.Fault, i.Late, i.SentAccepted)
	}
}

// sendFirst dispatches the first part of an import alone.
func (c *company) sendFirst(i campaign.Import) campaign.Import {
	c.t.Helper()
	c.must(c.Send(c.t.Context(), i))
	tasks := c.queue.tasks
	c.queue.tasks = nil
	const margin = 20 * time.Second // in which no further part begins
	ctx, cancel := context.WithTimeout(c.t.Context(), margin)
	defer cancel()
	c.must(c.worker(c.store, c.blobs, c.queue).Handle(ctx, tasks)[0])
	if i = c.stored(i); i.Sent != 1 {
		c.t.Fatalf("%d parts are sent, want 1", i.Sent)
	}
	return i
}

// The rest of a schedule that is too near goes at its time, and not before.
func TestImport_LateRestWaits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	due := noon.Add(time.Hour)
	i := c.sendFirst(c.ready(five, func(i *campaign.Import) { i.Schedule = due.Format(time.RFC3339) }))
	c.now = due.Add(-30 * time.Second)
	c.run()
	if i = c.stored(i); i.State != campaign.ImportSent || i.SentAccepted != 5 {
		t.Errorf("%s, %q, %d accepted", i.State, i.Fault, i.SentAccepted)
	}
	all, err := c.store.Dispatched(t.Context(), i.ID)
	c.must(err)
	for _, b := range all.Batches {
		if b.Due.Before(due) {
			t.Errorf("part %s goes at %v, want %v at the earliest", b.Name, b.Due, due)
		}
	}
}

// What was confirmed in time goes at its time, even if the function begins a little later. What
// begins after the time does not go.
func TestImport_BeginsLate(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]campaign.ImportState{
		-30 * time.Second: campaign.ImportSent, time.Second: campaign.ImportStopped,
	} {
		c := newCompany(t)
		due := noon.Add(time.Hour)
		i := c.ready(five, func(i *campaign.Import) { i.Schedule = due.Format(time.RFC3339) })
		c.must(c.Send(t.Context(), i))
		c.now = due.Add(late)
		if c.run(); c.stored(i).State != want || want == campaign.ImportSent && c.now.Before(due) {
			t.Errorf("%v after its time: %s, %q at %v; want %s", late, c.stored(i).State, c.stored(i).Fault, c.now, want)
		}
	}
}

// The rest of a campaign goes with the parts that were rescheduled meanwhile.
func TestImport_Rescheduled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.sendFirst(c.ready(five, func(i *campaign.Import) { i.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	due := noon.Add(24 * time.Hour)
	c.reschedule(i, due)
	c.run()
	all, err := c.store.Dispatched(t.Context(), i.ID)
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
func TestImport_RescheduledInStep(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.sendFirst(c.ready(five, func(i *campaign.Import) { i.Schedule = noon.Add(time.Hour).Format(time.RFC3339) }))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Dispatch = &moving{w.Dispatch, func() { c.reschedule(i, noon.Add(24*time.Hour)) }}
	tasks := c.queue.tasks
	c.queue.tasks = nil
	c.must(w.Handle(t.Context(), tasks)[0])
	if sent := c.stored(i); sent.State != campaign.ImportSent || len(c.batches(i)) != 3 {
		t.Errorf("%s, %q, batches %v", sent.State, sent.Fault, c.batches(i))
	}
	c.sameTime(i)
}

// The campaign keeps who asked for its approval, whichever part is accepted first.
func TestImport_AskedBy(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for _, approved := range []bool{true, false} { // before the first part, or after it
		i := c.ready(five, nil)
		if approved {
			i.AskedBy = "bia@example.com"
		}
		i = c.sendFirst(i)
		c.queue.tasks, i.AskedBy = nil, "bia@example.com"
		c.send(i)
		all, err := c.store.Overview(t.Context(), i.ID)
		if err != nil || all.AskedBy != "bia@example.com" {
			t.Errorf("approved before the first part %t: asked by %q, %v", approved, all.AskedBy, err)
		}
	}
}

// A campaign whose rest was refused for the budget is rescheduled: the rest goes with it.
func TestImport_RescheduledAfterBudget(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.ready(five, func(i *campaign.Import) { i.Schedule = noon.Add(time.Hour).Format(time.RFC3339) })
	limit := func(day campaign.Money) {
		c.must(c.store.SaveBilling(t.Context(), c.tenant, campaign.Billing{
			Prices: campaign.Prices{Basic: 50_000, Single: 50_000}, Limits: campaign.Spending{Day: day},
		}))
	}
	limit(100_000) // for one part
	if i = c.send(i); i.State != campaign.ImportStopped || i.Fault != campaign.CodeBudgetExceeded || i.Sent != 1 {
		t.Fatalf("%s, %q after %d parts; want a stop", i.State, i.Fault, i.Sent)
	}
	due := noon.Add(24 * time.Hour)
	c.reschedule(i, due)
	shown, err := c.Import(t.Context(), i.ID)
	c.must(err)
	if shown.Schedule != due.Format(time.RFC3339) {
		t.Errorf("the page of the rest shows %s, want %v", shown.Schedule, due)
	}
	limit(1_000_000)
	if i = c.send(shown); i.State != campaign.ImportSent || len(c.batches(i)) != 3 {
		t.Errorf("%s, %q, batches %v", i.State, i.Fault, c.batches(i))
	}
	c.sameTime(i)
}

// Of a campaign that was cancelled meanwhile, nothing more goes and no file is left.
func TestImport_CampaignCancelled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.sendFirst(c.ready(five, nil))
	c.must(c.store.CancelCampaign(t.Context(), i.ID, c.now, false))
	c.run()
	if i = c.stored(i); i.State != campaign.ImportCancelled || len(c.files(i)) > 0 || len(c.batches(i)) != 1 {
		t.Errorf("%s, %q with files %v; want it discarded", i.State, i.Fault, c.files(i))
	}
}

func TestCancel_DeletesFiles(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.ready(five, nil)
	if len(c.files(i)) != 4 {
		t.Errorf("files: %v", c.files(i))
	}
	c.must(c.Cancel(t.Context(), i))
	if left := c.files(i); len(left) > 0 || c.stored(i).State != campaign.ImportCancelled {
		t.Errorf("files %v are left of an import that is %s", left, c.stored(i).State)
	}
}

// Of a file that is checked twice, no part of the first check is left.
func TestCancel_DeletesEarlierParts(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.ready(five, nil)
	c.must(c.Check(t.Context(), i, recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}, c.t1))
	c.must(c.Cancel(t.Context(), c.stored(i)))
	if left := c.files(i); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// discarding discards an import while its task writes a part.
type discarding struct {
	intake.Blobs
	discard func()
}

func (d discarding) Put(ctx context.Context, key string, body []byte, contentType string) error {
	d.discard()
	return d.Blobs.Put(ctx, key, body, contentType)
}

func TestCancel_WhileReading(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.upload(five, nil)
	c.must(c.Check(t.Context(), i, recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}, c.t1))
	w := c.worker(c.store, c.blobs, c.queue)
	w.Blobs = discarding{c.blobs, func() { _ = c.discard(i) }}
	c.must(w.Handle(t.Context(), c.queue.tasks)[0])
	if left := c.files(i); len(left) > 0 || c.stored(i).State != campaign.ImportCancelled {
		t.Errorf("files %v are left of an import that is %s", left, c.stored(i).State)
	}
}

// An import whose task was lost continues when somebody looks at it.
func TestImport_LostTask(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	i := c.upload(five, nil)
	c.must(c.Check(t.Context(), i, recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}, c.t1))
	c.queue.tasks = nil
	_, err := c.Import(t.Context(), i.ID)
	c.must(err)
	if len(c.queue.tasks) > 0 {
		t.Error("the task was queued while it may be running")
	}
	c.now = c.now.Add(5 * time.Minute)
	_, err = c.Import(t.Context(), i.ID)
	c.must(err)
	c.run()
	if got := c.stored(i); got.State != campaign.ImportReady || got.Read.Rows != 5 {
		t.Errorf("%s after %d rows", got.State, got.Read.Rows)
	}
}

var errDead = errors.New("the process is dead")

// process dies at a call: before it is made, or after it without seeing the answer.
type process struct {
	mu    sync.Mutex
	calls int
	at    int
	after bool
	die   context.CancelFunc

	transport http.Transport // its connections are the process's own
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.calls > p.at || p.calls == p.at && !p.after {
		p.die()
		return nil, errDead
	}
	res, err := p.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if p.calls == p.at {
		p.die()
		return nil, errDead
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// handleUntil handles a task in a process that dies at a call. It reports whether the process
// ended before.
func (c *company) handleUntil(task campaign.ImportTask, at int, after bool) (ended bool) {
	c.t.Helper()
	ctx, die := context.WithCancel(c.t.Context())
	p := &process{at: at, after: after, die: die}
	defer p.transport.CloseIdleConnections()
	defer die()
	cfg := c.env.AWS()
	cfg.HTTPClient = &http.Client{Transport: p}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	store, blobs := c.stores(cfg)
	failed := c.worker(store, blobs, c.queue).Handle(ctx, []campaign.ImportTask{task})
	if p.calls < at {
		c.must(failed[0])
		return true
	}
	return false
}

// Whatever call a process dies at, the task that the queue delivers again finds the same and
// sends each message once.
func TestWorker_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	const file = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880003;c;Caio\n" +
		"11988880001;again;Ana\n11988880006;;Fay\n123;h;Gil\n"
	want := c.ready(file, nil)
	for _, after := range []bool{false, true} {
		for step, begin := range map[string]func() campaign.Import{
			"reading": func() campaign.Import {
				i := c.upload(file, nil)
				c.must(c.Check(t.Context(), i, recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}, c.t1))
				return i
			},
			"sending": func() campaign.Import {
				i := c.ready(file, nil)
				c.must(c.Send(t.Context(), i))
				return i
			},
		} {
			at := 1
			for ended := false; !ended; at++ {
				i := begin()
				task := c.queue.tasks[0]
				ended = c.handleUntil(task, at, after)
				c.run()
				if got := c.stored(i); step == "reading" {
					if diff := cmp.Diff(want.Findings, got.Findings); diff != "" || got.State != campaign.ImportReady || got.Read.Hash != want.Read.Hash || got.Read.Parts != want.Read.Parts {
						t.Fatalf("%s, death at call %d (after it: %t): %s, %d parts (-want +got):\n%s", step, at, after, got.State, got.Read.Parts, diff)
					}
				} else {
					if diff := cmp.Diff(map[string]int{"1": 2, "2": 1}, c.batches(i)); diff != "" || got.State != campaign.ImportSent || got.SentAccepted != 3 || got.SentRejected != 1 {
						t.Fatalf("%s, death at call %d (after it: %t): %s %q, %d accepted (-want +got):\n%s", step, at, after, got.State, got.Fault, got.SentAccepted, diff)
					}
					if s := c.totals(got); s.Accepted != 3 || s.PartsToCome != 0 {
						t.Fatalf("%s, death at call %d (after it: %t): %+v", step, at, after, s)
					}
				}
				c.store, c.blobs = c.stores(c.env.AWS())
				c.must(c.discard(i))
			}
			if at < 15 {
				t.Errorf("%s: only %d calls", step, at)
			}
		}
	}
}

// discard closes an import, so that the tenant's limit is not reached.
func (c *company) discard(i campaign.Import) error { return c.Cancel(c.t.Context(), c.stored(i)) }
