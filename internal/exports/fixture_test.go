package exports_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// queue keeps the tasks that are sent to it.
type queue struct {
	mu    sync.Mutex
	tasks []export.Task
}

func (q *queue) Send(_ context.Context, _ string, body []byte, _ time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var t export.Task
	if err := json.Unmarshal(body, &t); err != nil {
		return err
	}
	q.tasks = append(q.tasks, t)
	return nil
}

// company is a new tenant with a campaign in the stack's tables and bucket.
type company struct {
	t     *testing.T
	id    campaign.ID
	name  string // of the campaign
	env   stackenv.Env
	store *dynamotest.Store
	blobs *s3.Store
	queue *queue
	*exports.Service
	now    time.Time
	erased map[export.Audience]int // people
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{t: t, name: "Entregas", env: stackenv.Load(t), queue: &queue{}, now: noon}
	c.id = campaign.ID{Tenant: "t-" + rand.Text(), CampaignID: random.UUID()}
	c.store, c.blobs = c.stores(c.env.AWS())
	c.Service = &exports.Service{
		Tokens: holder{c.id.Tenant}, Store: c.store, Files: c.blobs, Tasks: c.queue, Now: func() time.Time { return c.now },
	}
	_, err := c.store.PutTemplate(t.Context(), campaign.Template{
		ID: c.template(), Tenant: c.id.Tenant, Version: 1, Name: "t", Content: content.Content{Text: "Oi", Suggestions: []content.Suggestion{
			{Kind: content.Reply, Text: "Sim, já"}, {Kind: content.OpenURL, Text: "Ver", URL: "https://example.com/", CountClicks: true},
		}},
	})
	c.must(err)
	return c
}

func (c *company) stores(cfg aws.Config) (*dynamotest.Store, *s3.Store) {
	return dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(cfg), Campaigns: c.env["CAMPAIGNS_TABLE"], Outcomes: c.env["OUTCOMES_TABLE"],
		Now: func() time.Time { return c.now },
	}), s3.New(cfg, c.env["BUCKET"], true)
}

func (c *company) template() string { return "template-" + c.id.Tenant }

func (c *company) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func number(ordinal, i int) uint64 { return uint64(5511_9_8000_0000 + 10_000*ordinal + i) }

// accept writes a batch with a message for each uid, as dispatch does.
func (c *company) accept(ordinal int, uids []string, change func(b *campaign.Batch)) campaign.Batch {
	c.t.Helper()
	return c.acceptOf(ordinal, uids, campaign.SubmissionTotals{}, change)
}

// acceptOf writes a batch of a file.
func (c *company) acceptOf(ordinal int, uids []string, totals campaign.SubmissionTotals, change func(b *campaign.Batch)) campaign.Batch {
	c.t.Helper()
	var w payload.Writer
	numbers := make([]uint64, len(uids))
	for i, uid := range uids {
		numbers[i] = number(ordinal, i)
		w.Add(numbers[i], []byte(uid), nil)
	}
	body, offsets := w.Finish()
	name := fmt.Sprint("batch ", ordinal)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: c.id, BatchID: campaign.BatchID(name)}, Name: name, Ordinal: ordinal,
		TemplateID: c.template(), TemplateVersion: 1, Payload: "payloads/" + rand.Text(), Offsets: offsets, Accepted: len(uids),
		AcceptedAt: noon, Due: noon, State: campaign.BatchSending, NextCheck: noon.Add(time.Hour),
		TapKey: []byte("sixteen bytes..."), CountsClicks: true,
	}
	_, _ = rand.Read(b.Key[:])
	if change != nil {
		change(&b)
	}
	c.must(c.blobs.Put(c.t.Context(), b.Payload, body, "application/octet-stream"))
	c.must(c.store.Accept(c.t.Context(), acceptance.Command{
		Batch: b, Campaign: c.name, Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: noon, Submission: totals,
	}, rand.Text()))
	return b
}

// record records an outcome of messages a number of minutes after noon.
func (c *company) record(b campaign.Batch, outcome campaign.Outcome, code string, minute int, indexes ...int) {
	c.t.Helper()
	changes := make([]campaign.Change, len(indexes))
	for i, index := range indexes {
		changes[i] = campaign.Change{Index: index, Outcome: outcome, Code: code, At: noon.Add(time.Duration(minute) * time.Minute)}
	}
	head, err := c.store.LedgerHead(c.t.Context(), b.Key)
	c.must(err)
	_, err = c.store.AppendLedger(c.t.Context(), b, head, head.NewChanges(changes))
	c.must(err)
}

// tap records a tap on a suggestion of a message, or a click on it.
func (c *company) tap(b campaign.Batch, outcome campaign.Outcome, index, suggestion int) {
	c.t.Helper()
	read := c.store.Taps
	if outcome == campaign.OutcomeClicked {
		read = c.store.Clicks
	}
	taps, err := read(c.t.Context(), b.Key)
	c.must(err)
	_, err = c.store.AppendTaps(c.t.Context(), b, taps, []campaign.Change{{Index: index, Outcome: outcome, Suggestion: suggestion, At: noon.Add(time.Hour)}})
	c.must(err)
}

// create starts an export.
func (c *company) create(asked export.Request) export.Export {
	c.t.Helper()
	e, err := c.Create(c.t.Context(), c.id, random.UUID(), asked)
	c.must(err)
	return e
}

// maker returns the maker of files on the stores.
func (c *company) maker(store *dynamotest.Store, blobs *s3.Store, tasks port.Queue) *exports.Maker {
	return &exports.Maker{Store: store, Blobs: blobs, Tasks: tasks, Now: func() time.Time { return c.now }, PartSize: 1}
}

// run handles the tasks of the queue until it is empty.
func (c *company) run() {
	c.t.Helper()
	for len(c.queue.tasks) > 0 {
		tasks := c.queue.tasks
		c.queue.tasks = nil
		for _, err := range c.maker(c.store, c.blobs, c.queue).Handle(c.t.Context(), tasks) {
			c.must(err)
		}
	}
}

// stored returns the stored export.
func (c *company) stored(e export.Export) export.Export {
	c.t.Helper()
	e, err := c.store.Export(c.t.Context(), e.ExportID)
	c.must(err)
	return e
}

// download follows the link of an export.
func (c *company) download(e export.Export) (http.Header, string) {
	c.t.Helper()
	url, err := c.Open(c.t.Context(), e.ExportID+"."+e.Secret)
	c.must(err)
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, http.NoBody)
	c.must(err)
	res, err := http.DefaultClient.Do(r)
	c.must(err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	c.must(err)
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("the file answers %d", res.StatusCode)
	}
	return res.Header, string(body)
}

// made starts an export, runs it and returns its file.
func (c *company) made(asked export.Request) string {
	c.t.Helper()
	e := c.create(asked)
	c.run()
	if e = c.stored(e); e.State != export.Completed {
		c.t.Fatalf("the export is %s", e.State)
	}
	_, file := c.download(e)
	return file
}
