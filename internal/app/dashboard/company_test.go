package dashboard_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/campaigns"
	exportpages "campaign-dispatch/internal/dashboard/exports"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/privacy/expiry"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// queue keeps the tasks that are sent to it.
type queue[T any] struct {
	mu    sync.Mutex // while functions send
	tasks []T
}

func (q *queue[T]) Send(_ context.Context, _ string, body []byte, _ time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var t T
	q.tasks = append(q.tasks, t)
	return json.Unmarshal(body, &q.tasks[len(q.tasks)-1])
}

func (q *queue[T]) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		if err := q.Send(ctx, group, body, 0); err != nil {
			return err
		}
	}
	return nil
}

// run handles the tasks of a queue until there are none.
func run[T any](c *company, q *queue[T], handle func(ctx context.Context, tasks []T) []error) {
	c.t.Helper()
	for len(q.tasks) > 0 {
		tasks := q.tasks
		q.tasks = nil
		c.must(errors.Join(handle(c.t.Context(), tasks)...))
	}
}

// company is a new tenant on tables of its own and the stack's bucket, with the services of the API,
// of the queues and of the dashboard in one process. They have one clock.
type company struct {
	*webtest.Dashboard
	t        *testing.T
	now      time.Time
	tenant   string
	template string
	client   *dynamodb.Client
	store    *dynamotest.Store
	blobs    *s3.Store
	book     *optout.Book
	lists    *book.Book

	worker    *intake.Worker
	dispatch  *dispatch.Service
	canceller *control.Canceller
	recorder  *outcome.Recorder
	maker     *exports.Maker
	privacy   *privacy.Service
	expirer   *expiry.Expirer
	api       *http.ServeMux

	tasks   queue[submission.Task]
	revokes queue[campaign.RevokeTask]
	files   queue[export.Task]
	events  queue[reaction.EventTask]
	notify  queue[delivery.NotifyMessage]

	mu       sync.Mutex
	accepted []campaign.Batch // in their order
}

// Schedule keeps an accepted batch.
func (c *company) Schedule(_ context.Context, b campaign.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted = append(c.accepted, b)
	return nil
}

// Authorize accepts every token as the tenant's.
func (c *company) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: c.tenant, ClientID: "rcs_1", Scope: account.ScopeDispatch}, nil
}

// Credentials are none.
func (*company) Credentials(context.Context, string) ([]account.Credential, error) { return nil, nil }

// newCompany returns a company whose parts have as many messages, and whose requests do the steps of a
// small file for atOnce.
func newCompany(t *testing.T, partLines int, atOnce time.Duration) *company {
	t.Helper()
	env := stackenv.Load(t)
	cfg := env.AWS()
	c := &company{t: t, now: time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC), tenant: "t-" + strings.ToLower(rand.Text())}
	c.client, c.blobs = dynamodb.NewFromConfig(cfg), s3.New(cfg, env["BUCKET"], true)
	outcomes, _ := env.LedgerTable(t)
	c.store = dynamotest.New(dynamo.Tables{
		Client: c.client, Auth: env.OwnTable(t, env["AUTH_TABLE"]), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]), Outcomes: outcomes,
		Webhooks: env.OwnTable(t, env["WEBHOOKS_TABLE"]), Now: c.clock,
	})
	c.book, c.lists = &optout.Book{Store: c.store, Now: c.clock}, &book.Book{Store: c.store, Blobs: c.blobs, Now: c.clock}
	c.must(c.store.SaveTenant(t.Context(), campaign.Tenant{ID: c.tenant, Name: "Empresa", AgentID: "agent"}, nil))
	c.template = random.UUID()
	_, err := c.store.PutTemplate(t.Context(), campaign.Template{ID: c.template, Tenant: c.tenant, Name: "T", Content: content.Content{Text: "Olá {{nome}}"}})
	c.must(err)
	c.wire(partLines, atOnce)
	return c
}

func (c *company) clock() time.Time { return c.now }

func (c *company) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// wire makes the services, as the functions do.
func (c *company) wire(partLines int, atOnce time.Duration) {
	lists := &lookup.Cache{Store: c.store, Blobs: c.blobs, Now: c.clock}
	c.dispatch = &dispatch.Service{
		Tokens: c, Store: c.store, Blobs: c.blobs, Releases: c, SeenNumbers: &dispatch.SeenNumbers{Limit: 16 << 20}, Now: c.clock,
		Lead: 5 * time.Minute, SweepDelay: time.Minute, Reach: reach.Lookup{OptOuts: c.book, Lists: lists}, ListNames: lists.Names,
	}
	c.worker = &intake.Worker{
		Store: c.store, Blobs: c.blobs, Tasks: &c.tasks, Now: c.clock, PartLines: partLines, Open: c.blobs.OpenFile, Dispatch: c.dispatch,
	}
	c.recorder = &outcome.Recorder{Store: c.store, Days: c.store, Blobs: c.blobs, Notify: &c.notify, SweepAfter: time.Minute, Now: c.clock}
	c.canceller = &control.Canceller{Store: c.store, Recorder: c.recorder, Tasks: &c.revokes, Retries: &c.revokes, Blobs: c.blobs, Concurrency: 8, SweepAfter: time.Minute, Now: c.clock}
	c.maker = &exports.Maker{Store: c.store, Blobs: c.blobs, Tasks: &c.files, Now: c.clock, PartSize: exports.PartSize}
	c.privacy = &privacy.Service{
		Store: privacy.Store{Campaigns: c.store, Outcomes: c.store, Erasure: c.store},
		Blobs: c.blobs, OptOuts: c.book, Lists: c.lists, Now: c.clock, Progress: func(string, int, int) {},
	}
	c.expirer = &expiry.Expirer{Store: c.store, Now: c.clock}
	c.wireSite(atOnce)
}

// wireSite makes the pages and the API.
func (c *company) wireSite(atOnce time.Duration) {
	messages := &query.Service{Tokens: c, Store: c.store, Blobs: c.blobs, BaseURL: webtest.Base, Now: c.clock}
	c.api = http.NewServeMux()
	messages.Register(c.api)
	c.api.Handle("POST /api/v1/external/campaigns/dispatch", httpapi.HandlerFunc(c.dispatch.ServeDispatch))
	service := &intake.Service{
		Store: c.store, Uploads: c.blobs, Stat: c.blobs.Stat, Tasks: &c.tasks, Now: c.clock, Lead: 5 * time.Minute, Rules: c.store, Worker: c.worker, AtOnce: atOnce,
	}
	files := &exports.Service{Tokens: c, Store: c.store, Files: c.blobs, Tasks: &c.files, Now: c.clock}
	pages := site{
		&sending.Pages{Store: exportsOf{c.store, files}, Intake: service, Origin: c.blobs.Origin, Now: c.clock, Lead: 5 * time.Minute},
		&campaigns.Pages{
			Store: rowsOf{c.store, c}, OptOuts: c.book, Now: c.clock, Messages: messages, Waves: service,
			Controls: &control.Service{Store: c.store, Revokes: &c.revokes, Events: &c.events, Releases: c, Now: c.clock, Lead: 5 * time.Minute, SweepDelay: time.Minute},
		},
		&overview.Pages{Store: rowsOf{c.store, c}, Now: c.clock},
		&exportpages.Pages{Exports: exportsOf{c.store, files}},
		&billing.Pages{Store: c.store, Now: c.clock},
		&people.Pages{Store: contactsOf{c.store, messages}, OptOuts: c.book, Reach: c.dispatch.Reach, Shards: optout.Shards, Now: c.clock},
	}
	c.Dashboard = webtest.Serve(c.t, webtest.UI(c.t, c.clock), campaigns.Area(), pages,
		sending.Area(), overview.Area(), exportpages.Area(), billing.Area(), people.Area())
}

// exportsOf are the campaigns and exports of the pages.
type exportsOf struct {
	*dynamotest.Store
	*exports.Service
}

// contactsOf are rows, with the messages of people.
type contactsOf struct {
	*dynamotest.Store
	*query.Service
}

// rowsOf are rows with the credentials of a company.
type rowsOf struct {
	*dynamotest.Store
	*company
}

// site are the pages of several areas.
type site []web.Pages

func (s site) Register(ui *web.UI, mux *http.ServeMux) {
	for _, pages := range s {
		pages.Register(ui, mux)
	}
}

// upload uploads a file as the form's script does. It returns the path of its page.
func (c *company) upload(who webtest.Person, name string, file []byte) string {
	c.t.Helper()
	id := c.posted(who, sending.SubmissionsPath, url.Values{
		"name": {name}, "template": {c.template}, "fileName": {"lista.csv"}, "size": {strconv.Itoa(len(file))}, "modified": {"1"},
	})["id"]
	for chunk := 0; chunk*port.ChunkSize < len(file); chunk++ {
		to := c.posted(who, sending.SubmissionsPath+"/chunk", url.Values{"id": {id}, "chunk": {strconv.Itoa(chunk + 1)}})["url"]
		body := file[chunk*port.ChunkSize : min(len(file), (chunk+1)*port.ChunkSize)]
		r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, to, strings.NewReader(string(body)))
		c.must(err)
		c.answer(r)
	}
	path := c.posted(who, sending.SubmissionsPath+"/finish", url.Values{"id": {id}})["path"]
	run(c, &c.tasks, c.worker.Handle)
	return path
}

// post posts the form with a file, as a browser does without a script.
func (c *company) post(who webtest.Person, name string, file []byte) webtest.Answer {
	c.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, value := range map[string]string{"csrf": who.Session.CSRF, "name": name, "template": c.template} {
		c.must(w.WriteField(field, value))
	}
	part, err := w.CreateFormFile("file", "lista.csv")
	c.must(err)
	_, err = part.Write(file)
	c.must(errors.Join(err, w.Close()))
	r := httptest.NewRequestWithContext(c.t.Context(), http.MethodPost, webtest.Base+web.Root+"/campaigns/new", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return who.Do(r)
}

// posted posts a form of the script, and returns the texts of its answer.
func (c *company) posted(who webtest.Person, path string, form url.Values) map[string]string {
	c.t.Helper()
	got := who.Post(path, form)
	var all map[string]any
	if err := json.Unmarshal([]byte(got.Body), &all); err != nil || got.Status != http.StatusOK {
		c.t.Fatalf("%s answers %d: %s", path, got.Status, got.Body)
	}
	texts := map[string]string{}
	for key, value := range all {
		texts[key] = fmt.Sprint(value)
	}
	return texts
}

// answer sends a request to the bucket.
func (c *company) answer(r *http.Request) []byte {
	c.t.Helper()
	res, err := http.DefaultClient.Do(r)
	c.must(err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	c.must(err)
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("the bucket answers %d", res.StatusCode)
	}
	return body
}

// get reads a campaign by the API.
func (c *company) get(id campaign.ID, into any) {
	c.t.Helper()
	c.call(http.MethodGet, "/"+id.CampaignID, nil, into)
}

// call calls the API of campaigns. body can be nil.
func (c *company) call(method, path string, body, into any) {
	c.t.Helper()
	content, err := json.Marshal(body)
	c.must(err)
	r := httptest.NewRequestWithContext(c.t.Context(), method, webtest.Base+"/api/v1/external/campaigns"+path, bytes.NewReader(content))
	w := httptest.NewRecorder()
	c.api.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code/100 != 2 {
		c.t.Fatalf("the API answers %d: %s", w.Code, w.Body)
	}
}

// messages returns the messages of a batch.
func (c *company) messages(b campaign.Batch) (messages []campaign.Message) {
	c.t.Helper()
	c.must(payload.OfLatest(c.t.Context(), c.store.Batch, c.blobs, b, func(b campaign.Batch) (err error) {
		messages, err = payload.ReadAll(c.t.Context(), c.blobs, b)
		return err
	}))
	return messages
}

// pass lets time pass. What a lifecycle rule of the bucket or the time to live of a row would delete is
// deleted. lives are those of the rules by prefix; all objects of the company were written at from.
func (c *company) pass(until, from time.Time, lives map[string]time.Duration) {
	c.t.Helper()
	c.now = until
	for prefix, life := range lives {
		if c.now.Sub(from) < life {
			continue
		}
		for o, err := range c.blobs.List(c.t.Context(), prefix+c.tenant+"/") {
			c.must(err)
			c.must(c.blobs.Delete(c.t.Context(), o.Key))
		}
	}
	for _, table := range []string{c.store.Tables().Auth, c.store.Tables().Campaigns, c.store.Tables().Outcomes, c.store.Tables().Webhooks} {
		c.expire(table)
	}
}

// expire deletes the rows of a table whose time to live has passed.
func (c *company) expire(table string) {
	c.t.Helper()
	pages := dynamodb.NewScanPaginator(c.client, &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("#ttl <= :now"),
		ProjectionExpression: aws.String("pk, sk"), ExpressionAttributeNames: map[string]string{"#ttl": dynamo.TTL},
		ExpressionAttributeValues: map[string]types.AttributeValue{":now": &types.AttributeValueMemberN{Value: strconv.FormatInt(c.now.Unix(), 10)}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(c.t.Context())
		c.must(err)
		for _, row := range page.Items {
			_, err := c.client.DeleteItem(c.t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: row})
			c.must(err)
		}
	}
}
