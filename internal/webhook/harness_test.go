package webhook_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/netguard"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
	"campaign-dispatch/localstack/stackenv"
)

// start is far from now, so that the stack's own sweep finds nothing of a test.
var start = time.Date(2100, 5, 4, 12, 0, 0, 0, time.UTC)

// harness is a tenant in the stack's table, a test clock, an in-memory queue, and a receiver.
type harness struct {
	t        *testing.T
	store    *dynamotest.Store
	blobs    *s3.Store
	tenant   string
	endpoint delivery.Endpoint
	batch    campaign.Batch
	receiver *receiver
	entries  map[campaign.BatchKey]int // number of entries by batch
	// broken makes a step of the notifier fail, nil for none.
	broken func(step string) error

	mu      sync.Mutex
	now     time.Time
	queue   []queued
	notices []string // published to the operators
}

type queued struct {
	task delivery.NotifyTask
	at   time.Time
}

func newHarness(t *testing.T, messages int) *harness {
	t.Helper()
	env := stackenv.Load(t)
	w := &harness{t: t, now: start, receiver: newReceiver(t)}
	w.store = dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]),
		Webhooks: env.OwnTable(t, env["WEBHOOKS_TABLE"]), Now: w.Now,
	})
	w.blobs = &s3.Store{
		Client: awss3.NewFromConfig(env.AWS(), func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"],
	}
	w.begin(messages)
	return w
}

// another returns the harness of another tenant with the same tables.
func (w *harness) another(messages int) *harness {
	w.t.Helper()
	other := &harness{t: w.t, now: start, receiver: newReceiver(w.t), store: w.store, blobs: w.blobs}
	other.begin(messages)
	return other
}

// begin creates the tenant with an endpoint and a batch.
func (w *harness) begin(messages int) {
	w.t.Helper()
	w.tenant = "t" + strings.ToLower(rand.Text())
	w.endpoint = w.newEndpoint(w.receiver.URL)
	w.batch = w.newBatch(messages)
}

func (w *harness) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func newSecret() string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(rand.Text()+rand.Text()))
}

func (w *harness) newEndpoint(url string, kinds ...string) delivery.Endpoint {
	w.t.Helper()
	e := delivery.Endpoint{ID: rand.Text(), Tenant: w.tenant, URL: url, Secret: newSecret(), Kinds: kinds}
	w.must(w.store.SaveEndpoint(w.t.Context(), e))
	return e
}

func (w *harness) newBatch(messages int) campaign.Batch {
	w.t.Helper()
	var writer payload.Writer
	for i := range messages {
		writer.Add(5511900000000+uint64(i), fmt.Appendf(nil, "uid-%d", i), [][]byte{fmt.Appendf(nil, "a b%d", i)})
	}
	content, offsets := writer.Finish()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{
			ID: campaign.ID{Tenant: w.tenant, CampaignID: "c-" + strings.ToLower(rand.Text())}, BatchID: campaign.BatchID("lote"),
		},
		Name: "lote", Payload: "payloads/" + w.tenant + "/" + rand.Text(), Offsets: offsets, Accepted: messages,
		AcceptedAt: start, Due: start, State: campaign.BatchSending, TemplateID: "template-" + w.tenant, TemplateVersion: 1,
	}
	_, _ = rand.Read(b.Key[:])
	w.must(w.blobs.Put(w.t.Context(), b.Payload, content, "application/octet-stream"))
	w.must(w.store.Accept(w.t.Context(), acceptance.Command{
		Batch: b, Campaign: rand.Text(), Ordinal: 1, Packed: []byte{1},
	}, rand.Text()))
	return b
}

func (w *harness) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// record records changes and queues the tasks.
func (w *harness) record(changes ...campaign.Change) {
	w.t.Helper()
	w.feed(w.fresh(changes...))
}

// fresh returns changes as the next entries of the batch's log.
func (w *harness) fresh(changes ...campaign.Change) ledger.NewEntries {
	if w.entries == nil {
		w.entries = map[campaign.BatchKey]int{}
	}
	first := w.entries[w.batch.Key] + 1
	w.entries[w.batch.Key] += len(changes)
	return ledger.NewEntries{Key: w.batch.Key, Entries: ledger.Numbered(first, changes)}
}

// feed queues the tasks of new entries.
func (w *harness) feed(fresh ...ledger.NewEntries) {
	w.t.Helper()
	feeder := feed.Feeder{Store: w.store, Queue: harnessQueue{w}, Now: w.Now}
	w.must(feeder.Handle(w.t.Context(), fresh))
}

// sent returns changes to sent for the first n messages.
func sent(n int) []campaign.Change {
	changes := make([]campaign.Change, n)
	for i := range changes {
		changes[i] = campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: start}
	}
	return changes
}

// notifier returns a new process each time.
func (w *harness) notifier() *webhook.Notifier {
	guard := netguard.Guard{Local: true}
	store := breaking{w.store, &webhook.PostSums{Store: w.store}, w}
	return &webhook.Notifier{
		Store: store, Endpoints: store, Blobs: w.blobs, Notify: harnessQueue{w}, Tickets: tickets{w}, HTTP: guard.Client(8, time.Minute),
		Now: w.Now, Jitter: func() float64 { return 0 },
	}
}

// run advances the time and processes the tasks and due rows, until nothing is left to do
// or the time is over.
func (w *harness) run(span time.Duration, process *webhook.Notifier) {
	w.t.Helper()
	end := w.Now().Add(span)
	for w.Now().Before(end) {
		due := w.due(end)
		if !w.advanceTo(due, end) {
			return
		}
		tasks := w.arrivedOf(due)
		for i, err := range process.Handle(w.t.Context(), tasks) {
			if err != nil {
				w.mu.Lock()
				w.queue = append(w.queue, queued{tasks[i], w.now.Add(time.Second)})
				w.mu.Unlock()
			}
		}
	}
}

// arrived receives the tasks that are due, and those of sweep.
func (w *harness) arrived() []delivery.NotifyTask { return w.arrivedOf(w.due(w.Now())) }

// arrivedOf is arrived, given rows that are due now or later.
func (w *harness) arrivedOf(due []overdue.Item) []delivery.NotifyTask {
	now := w.Now()
	w.mu.Lock()
	var tasks []delivery.NotifyTask
	var later []queued
	for _, q := range w.queue {
		if q.at.After(now) {
			later = append(later, q)
			continue
		}
		tasks = append(tasks, q.task)
	}
	w.queue = later
	w.mu.Unlock()
	for _, d := range due {
		if d.Check.After(now) {
			continue
		}
		_, err := w.store.PostponeDelivery(w.t.Context(), *d.Delivery, d.Check, now.Add(10*time.Minute))
		w.must(err)
		tasks = append(tasks, *d.Delivery)
	}
	return tasks
}

// delivery reads the delivery of a task, or the one created by a task with entries.
func (w *harness) delivery(t delivery.NotifyTask) delivery.Delivery {
	w.t.Helper()
	if t.Entries != "" {
		entries, err := base64.StdEncoding.DecodeString(t.Entries)
		w.must(err)
		t = delivery.Delivery{Tenant: t.Tenant, EndpointID: t.EndpointID, Entries: entries}.Identified().Task()
	}
	d, err := w.store.Delivery(w.t.Context(), t)
	w.must(err)
	return d
}

// left returns the pending messages of a delivery, if not all are pending.
func (w *harness) left(d delivery.Delivery) []int {
	w.t.Helper()
	var messages []int
	fresh, err := ledger.UnpackNewEntries(d.Entries)
	w.must(err)
	for _, p := range d.Pending {
		messages = append(messages, fresh[0].Entries[p].Index)
	}
	return messages
}

// checkNothingIsDue checks that sweep finds nothing of the tenant at any time.
func (w *harness) checkNothingIsDue() {
	w.t.Helper()
	if due := w.due(w.Now().Add(1000 * time.Hour)); len(due) > 0 {
		w.t.Errorf("%d rows are due", len(due))
	}
}

func (w *harness) due(until time.Time) (found []overdue.Item) {
	for _, shard := range stackenv.DueShards(w.t, w.store.Tables().Client, w.store.Tables().Webhooks, until) {
		for d, err := range w.store.DueDeliveries(w.t.Context(), shard, until) {
			w.must(err)
			if d.Delivery.Tenant == w.tenant {
				found = append(found, d)
			}
		}
	}
	return append(found, w.dueCircuits(until)...)
}

// dueCircuits returns the due circuits of the tenant's endpoints. Querying all shards of
// the index is slow, because the emulator scans the whole table each time.
func (w *harness) dueCircuits(until time.Time) (found []overdue.Item) {
	endpoints, err := w.store.Endpoints(w.t.Context(), w.tenant)
	w.must(err)
	for _, e := range endpoints {
		c, err := w.store.Circuit(w.t.Context(), w.tenant, e.ID)
		w.must(err)
		if c.Version > 0 && !c.Next.After(until) {
			found = append(found, overdue.Item{Delivery: &delivery.NotifyTask{Tenant: w.tenant, EndpointID: e.ID}, Check: c.Next})
		}
	}
	return found
}

// advance moves the clock to the next task or row.
func (w *harness) advance(end time.Time) { w.advanceTo(w.due(end), end) }

// advanceTo is advance, given the rows that are due until the end. It reports whether there is a task or row.
func (w *harness) advanceTo(due []overdue.Item, end time.Time) bool {
	next := end
	for _, d := range due {
		if d.Check.Before(next) {
			next = d.Check
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queue {
		if q.at.Before(next) {
			next = q.at
		}
	}
	if next.After(w.now) {
		w.now = next
	}
	return w.now.Before(end)
}

type harnessQueue struct{ *harness }

// SendGroups queues the feeder's messages.
func (q harnessQueue) SendGroups(_ context.Context, _ []string, bodies [][]byte) error {
	for _, body := range bodies {
		var m delivery.NotifyMessage
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		q.mu.Lock()
		for _, t := range m.Tasks() {
			q.queue = append(q.queue, queued{t, q.now})
		}
		q.mu.Unlock()
	}
	return nil
}

func (q harnessQueue) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	if err := q.fail("queue"); err != nil {
		return err
	}
	var t delivery.NotifyTask
	if err := json.Unmarshal(body, &t); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, queued{t, q.now.Add(delay)})
	return nil
}

// tickets is the topic of the operators.
type tickets struct{ *harness }

func (o tickets) Announce(_ context.Context, subject, text string) error {
	o.mu.Lock()
	o.notices = append(o.notices, subject+": "+text)
	o.mu.Unlock()
	return o.fail("publish")
}

func (w *harness) fail(step string) error {
	if w.broken == nil {
		return nil
	}
	return w.broken(step)
}

// breaking is the table with steps that can fail before or after they are done.
type breaking struct {
	*dynamotest.Store
	*webhook.PostSums
	w *harness
}

func (b breaking) SaveDelivery(ctx context.Context, read, d delivery.Delivery) (bool, error) {
	if err := b.w.fail("save delivery"); err != nil {
		return false, err
	}
	ok, err := b.Store.SaveDelivery(ctx, read, d)
	if unreadable := b.w.fail("saved delivery"); unreadable != nil {
		return false, unreadable
	}
	return ok, err
}

func (b breaking) ClaimDelivery(ctx context.Context, read delivery.Delivery, until time.Time) (bool, time.Time, error) {
	if err := b.w.fail("claim delivery"); err != nil {
		return false, time.Time{}, err
	}
	claimed, others, err := b.Store.ClaimDelivery(ctx, read, until)
	if unreadable := b.w.fail("claimed delivery"); unreadable != nil {
		return false, time.Time{}, unreadable
	}
	return claimed, others, err
}

func (b breaking) DeleteDelivery(ctx context.Context, t delivery.NotifyTask) error {
	if err := b.w.fail("delete delivery"); err != nil {
		return err
	}
	err := b.Store.DeleteDelivery(ctx, t)
	if unreadable := b.w.fail("deleted delivery"); unreadable != nil {
		return unreadable
	}
	return err
}

func (b breaking) DisableEndpoint(
	ctx context.Context, tenant, id, offReason string, noticeEvery time.Duration,
) (disabled, notice bool, err error) {
	if err := b.w.fail("switch endpoint"); err != nil {
		return false, false, err
	}
	disabled, notice, err = b.Store.DisableEndpoint(ctx, tenant, id, offReason, noticeEvery)
	if unreadable := b.w.fail("switched endpoint"); unreadable != nil {
		return false, false, unreadable
	}
	return disabled, notice, err
}

func (b breaking) SaveCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	if err := b.w.fail("save circuit"); err != nil {
		return false, err
	}
	ok, err := b.Store.SaveCircuit(ctx, c)
	if unreadable := b.w.fail("saved circuit"); unreadable != nil {
		return false, unreadable
	}
	return ok, err
}

func (b breaking) EndCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	if err := b.w.fail("end circuit"); err != nil {
		return false, err
	}
	ok, err := b.Store.EndCircuit(ctx, c)
	if unreadable := b.w.fail("ended circuit"); unreadable != nil {
		return false, unreadable
	}
	return ok, err
}

// receiver is a webhook endpoint.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	posts []post
	// answer returns the response status, 204 if nil.
	answer func(w http.ResponseWriter, body string) int
}

type post struct {
	header http.Header
	body   []byte
	status int
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	status := http.StatusNoContent
	if r.answer != nil {
		status = r.answer(w, string(body))
	}
	r.posts = append(r.posts, post{request.Header, body, status})
	w.WriteHeader(status)
}

func (r *receiver) set(answer func(w http.ResponseWriter, body string) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// taken returns the number of deliveries by webhook ID, and the number of posts.
func (r *receiver) taken() (ids map[string]int, posts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids = map[string]int{}
	for _, p := range r.posts {
		if p.status/100 == 2 {
			ids[p.header.Get("webhook-id")]++
		}
	}
	return ids, len(r.posts)
}
