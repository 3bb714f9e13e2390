package control_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/control"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// service is a control service and a canceller for a tenant of its own, on the stack's
// table. Queues, payloads and the provider are fakes.
type service struct {
	t         *testing.T
	store     *dynamotest.Store
	id        campaign.ID
	server    *httptest.Server
	service   *control.Service
	canceller *control.Canceller
	unfit     error // returned for the access token

	mu       sync.Mutex
	tasks    []campaign.RevokeTask
	delays   []time.Duration // of the tasks
	events   events
	handErr  error
	handed   []time.Time // due times of the scheduled batches
	payloads map[string][]byte
	asked    []string         // message ids that were revoked
	refuse   map[string]error // by message id
}

func (d *service) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: d.id.Tenant, ClientID: "rcs_1", Scope: account.ScopeDispatch}, d.unfit
}

func (d *service) Send(_ context.Context, _ string, body []byte, delay time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var task campaign.RevokeTask
	err := json.Unmarshal(body, &task)
	d.tasks, d.delays = append(d.tasks, task), append(d.delays, delay)
	return err
}

func (d *service) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		if err := d.Send(ctx, group, body, 0); err != nil {
			return err
		}
	}
	return nil
}

func (d *service) Schedule(_ context.Context, b campaign.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handed = append(d.handed, b.Due)
	return d.handErr
}

func (d *service) GetRange(_ context.Context, key string, from, to int) ([]byte, error) {
	content, there := d.payloads[key]
	if !there {
		return nil, campaign.ErrNotFound
	}
	return content[min(from, len(content)):min(to, len(content))], nil
}

func (d *service) Revoke(_ context.Context, _ campaign.Agent, messageID, phone string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !strings.HasPrefix(phone, "+5511") {
		return &outgoing.Failure{Kind: outgoing.Permanent, Code: "no such number"}
	}
	d.asked = append(d.asked, messageID)
	return d.refuse[messageID]
}

// events are the events that were queued.
type events []reaction.EventTask

func (e *events) Send(_ context.Context, _ string, body []byte, _ time.Duration) error {
	var task reaction.EventTask
	err := json.Unmarshal(body, &task)
	*e = append(*e, task)
	return err
}

// Record stores changes as the outcomes function does, without webhook deliveries.
func (d *service) Record(ctx context.Context, b campaign.Batch, changes []campaign.Change) error {
	_, err := outcome.AppendLedger(ctx, d.store, b, changes)
	return err
}

func newService(t *testing.T) *service {
	t.Helper()
	env := stackenv.Load(t)
	clock := func() time.Time { return noon }
	d := &service{
		t:  t,
		id: campaign.ID{Tenant: "t-" + rand.Text(), CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"},
		store: dynamotest.New(dynamo.Tables{
			Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
		}),
		payloads: map[string][]byte{}, refuse: map[string]error{},
	}
	mux := http.NewServeMux()
	d.service = &control.Service{
		Tokens: d, Store: d.store, Revokes: d, Events: &d.events, Releases: d, Now: clock, Lead: 5 * time.Minute, SweepDelay: 2 * time.Minute,
	}
	d.service.Register(mux)
	d.server = httptest.NewServer(mux)
	t.Cleanup(d.server.Close)
	d.canceller = &control.Canceller{Store: d.store, Recorder: d, Tasks: d, Retries: d, Blobs: d, Provider: d, Concurrency: 8, SweepAfter: 10 * time.Minute, Now: clock}
	return d
}

func (d *service) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *service) accept(ordinal int, name string, n int, state campaign.BatchState) campaign.Batch {
	d.t.Helper()
	var w payload.Writer
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = uint64(5511_9_8000_0000 + 10_000*ordinal + i)
		w.Add(numbers[i], []byte("u"), nil)
	}
	body, offsets := w.Finish()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: d.id, BatchID: campaign.BatchID(name)}, Name: name, TemplateID: "7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c",
		Payload: rand.Text(), Offsets: offsets, Accepted: n, AcceptedAt: noon, Due: noon, State: state, NextCheck: noon.Add(time.Hour),
	}
	if state == campaign.BatchPending {
		b.Scheduled, b.Due = true, noon.Add(3*time.Hour)
	}
	_, _ = rand.Read(b.Key[:])
	d.payloads[b.Payload] = body
	d.must(d.store.Accept(d.t.Context(), acceptance.Command{
		Batch: b, Campaign: "Entregas", Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: noon,
	}, rand.Text()))
	return b
}

func (d *service) record(b campaign.Batch, outcome campaign.Outcome, first, last int) {
	d.t.Helper()
	var changes []campaign.Change
	for i := first; i <= last; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: outcome, At: noon})
	}
	d.must(d.Record(d.t.Context(), b, changes))
}

// post calls a path below the campaign, checks the answer against the OpenAPI document,
// and returns "status code-or-status".
func (d *service) post(path, body string) string {
	d.t.Helper()
	address := d.server.URL + "/api/v1/external/campaigns/" + d.id.CampaignID + path
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, address, strings.NewReader(body))
	d.must(err)
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: openapitest.New(d.t, http.DefaultTransport)}
	res, err := client.Do(r)
	d.must(err)
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Code   string
		Status any
	}
	d.must(json.NewDecoder(res.Body).Decode(&answer))
	if answer.Code != "" {
		return fmt.Sprint(res.StatusCode, " ", answer.Code)
	}
	return fmt.Sprint(res.StatusCode, " ", answer.Status)
}

// work handles the queued tasks, each twice, as SQS may deliver them.
func (d *service) work() {
	d.t.Helper()
	tasks := d.tasks
	d.tasks = nil
	for _, task := range tasks {
		for _, err := range d.canceller.Handle(d.t.Context(), []campaign.RevokeTask{task, task}) {
			d.must(err)
		}
	}
}

func (d *service) campaign() campaign.Campaign {
	d.t.Helper()
	c, err := d.store.Campaign(d.t.Context(), d.id)
	d.must(err)
	return c
}

func TestServeCancel_UnreleasedBatches(t *testing.T) {
	t.Parallel()
	d := newService(t)
	waiting := d.accept(1, "later", 150, campaign.BatchPending)
	done := d.accept(2, "done", 2, campaign.BatchCompleted)
	d.record(done, campaign.OutcomeRead, 0, 1)
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	released, err := d.store.StartRelease(t.Context(), waiting.BatchRef, "", noon.AddDate(1, 0, 0), noon)
	if err != nil || released {
		t.Errorf("released after the answer: %v, %v", released, err)
	}
	d.work()
	c := d.campaign()
	if c.Status() != campaign.StatusCancelled || c.Batches[0].Status() != campaign.StatusCancelled || c.Batches[1].Status() != campaign.StatusCompleted {
		t.Errorf("%s: %s, %s", c.Status(), c.Batches[0].Status(), c.Batches[1].Status())
	}
	if diff := cmp.Diff(map[campaign.Outcome]int{campaign.OutcomeStopped: 150}, c.Batches[0].Head.Counts); diff != "" {
		t.Error(diff)
	}
	if len(d.asked) > 0 || len(d.tasks) > 0 {
		t.Errorf("%d messages and %d tasks of a campaign cancelled without revoke", len(d.asked), len(d.tasks))
	}
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Errorf("again: %s", got)
	}
}

func TestServeCancel_BatchBeingSent(t *testing.T) {
	t.Parallel()
	d := newService(t)
	sending := d.accept(1, "", 3, campaign.BatchSending)
	d.record(sending, campaign.OutcomeSent, 0, 0)
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	b, err := d.store.Batch(t.Context(), sending.BatchRef)
	d.must(err)
	if !b.CancelledAt.Equal(noon) || b.State != campaign.BatchSending || b.NextCheck.IsZero() {
		t.Errorf("%+v", b)
	}
	if got := d.campaign().Status(); got != campaign.StatusSending {
		t.Errorf("%s while two messages may still be sent", got)
	}
	d.record(sending, campaign.OutcomeStopped, 1, 2)
	if got := d.campaign().Status(); got != campaign.StatusCancelled {
		t.Errorf("%s once all were stopped", got)
	}
}

func TestServeCancel_Revoke(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 120, campaign.BatchSending)
	d.record(b, campaign.OutcomeSent, 0, 110)
	d.record(b, campaign.OutcomeDelivered, 3, 109)
	d.refuse[b.Key.MessageID(1)] = &outgoing.Failure{Kind: outgoing.Permanent, Code: "unreachable"}
	d.refuse[b.Key.MessageID(2)] = &outgoing.Failure{Kind: outgoing.Throttled, Code: "throttled"}
	if got := d.post("/cancel?revoke=true", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	d.work() // the campaign, which queues its frames
	d.work() // the frames
	slices.Sort(d.asked)
	want := []string{b.Key.MessageID(0), b.Key.MessageID(1), b.Key.MessageID(2), b.Key.MessageID(110)}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(d.asked)); diff != "" {
		t.Error(diff)
	}
	left := map[int]bool{}
	for _, task := range d.tasks {
		left[task.Frame] = true
	}
	// Frame 0 has a throttled message; frame 1 has nine that may still be sent.
	if diff := cmp.Diff(map[int]bool{0: true, 1: true}, left); diff != "" {
		t.Error(diff)
	}
	d.record(b, campaign.OutcomeRevoked, 0, 2)
	d.record(b, campaign.OutcomeStopped, 111, 119)
	d.work()
	if len(d.tasks) != 0 {
		t.Errorf("%d tasks are left", len(d.tasks))
	}
}

// A message is erased after the task has read the batch: the batch has another payload
// then.
func TestServeCancel_RevokeWithErasedMessage(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 3, campaign.BatchSending)
	d.record(b, campaign.OutcomeSent, 0, 2)
	d.erase(b, 1)
	if got := d.post("/cancel?revoke=true", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	d.work() // the campaign, which queues its frames
	d.work() // the frame
	want := []string{b.Key.MessageID(0), b.Key.MessageID(2)}
	slices.Sort(want)
	slices.Sort(d.asked)
	if diff := cmp.Diff(want, slices.Compact(d.asked)); diff != "" {
		t.Error(diff)
	}
}

// erase replaces the batch's payload with one without the message.
func (d *service) erase(b campaign.Batch, index int) {
	d.t.Helper()
	all, err := payload.ReadAll(d.t.Context(), d, b)
	d.must(err)
	all[index] = campaign.Message{}
	var w payload.Writer
	for _, m := range all {
		w.AddMessage(m)
	}
	b.FormerPayload, b.Payload = b.Payload, payload.SuccessorKey(b.Payload, rand.Text())
	d.payloads[b.Payload], b.Offsets = w.Finish()
	pointer, content := payload.Pointer(b)
	d.payloads[pointer] = content
	delete(d.payloads, b.FormerPayload)
}

func TestServeCancel_Refused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	if got := d.post("/cancel", ""); got != "404 campaign_not_found" {
		t.Error(got)
	}
	b := d.accept(1, "", 1, campaign.BatchSending)
	for _, query := range []string{
		"?revoke=yes", "?revoke", "?revoke=", "?revoke=1", "?revoke=true&revoke=false", "?revoke=true&revoke=true", "?Revoke=true",
		"?REVOKE=true", "?revoke=true;x=1", "?x=1;revoke=true", "?revoke=%zz", "?revoke=True", "?revoke=true%20", "?rev%4Fke=true",
	} {
		if got := d.post("/cancel"+query, ""); got != "400 invalid_revoke" {
			t.Errorf("%s: %s", query, got)
		}
	}
	if c, err := d.store.Campaign(t.Context(), b.ID); err != nil || !c.CancelledAt.IsZero() {
		t.Errorf("a refused call cancelled the campaign: %v", err)
	}
	d.record(b, campaign.OutcomeDelivered, 0, 0)
	if got := d.post("/cancel", ""); got != "409 campaign_completed" {
		t.Error(got)
	}
}

// Cancel and reschedule have no dry run: a request for one is refused and changes
// nothing.
func TestServe_DryRunRefused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "tarde", 1, campaign.BatchPending)
	for _, query := range []string{"?dryRun=true", "?dryRun", "?dryrun=true", "?dryRun=false&dryRun=true", "?revoke=true&dryRun=true"} {
		for path, body := range map[string]string{"/cancel": "", "/reschedule": `{"batch":"tarde","schedule":"2037-11-21T14:00:00"}`} {
			if got := d.post(path+query, body); got != "400 invalid_dry_run" {
				t.Errorf("%s%s: %s", path, query, got)
			}
		}
	}
	c, err := d.store.Campaign(t.Context(), b.ID)
	d.must(err)
	if !c.CancelledAt.IsZero() || !c.Batches[0].Due.Equal(b.Due) {
		t.Errorf("the campaign was changed: %+v", c)
	}
	if got := d.post("/cancel?dryRun=false&x=1", ""); got != "202 cancelling" {
		t.Error(got)
	}
}

func TestServeReschedule_Batch(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "tarde", 1, campaign.BatchPending)
	later, earlier := noon.Add(5*time.Hour), noon.Add(time.Hour)
	if got := d.post("/reschedule", `{"batch":"tarde","schedule":"2037-11-21T14:00:00"}`); got != "200 scheduled" {
		t.Fatal(got)
	}
	started, err := d.store.StartRelease(t.Context(), b.BatchRef, "", b.Due, noon)
	d.must(err)
	if started {
		t.Error("the batch was released at its old time")
	}
	if got := d.post("/reschedule", `{"batch":"`+b.BatchID+`","schedule":"2037-11-21T13:00:00Z"}`); got != "200 scheduled" {
		t.Fatal(got)
	}
	if diff := cmp.Diff([]time.Time{later, earlier}, d.handed); diff != "" {
		t.Error(diff)
	}
	now, err := d.store.Batch(t.Context(), b.BatchRef)
	d.must(err)
	if !now.Due.Equal(earlier) || !now.NextCheck.Equal(earlier.Add(2*time.Minute)) || now.State != campaign.BatchPending {
		t.Errorf("%+v", now)
	}
}

func TestServeReschedule_Refused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "", 1, campaign.BatchSending)
	d.accept(2, "p", 1, campaign.BatchPending)
	for body, want := range map[string]string{
		`{`:                                   "400 malformed_json",
		`[]`:                                  "400 invalid_type",
		`{"batch":"p"}`:                       "400 missing_field",
		`{"batch":"p","schedule":null}`:       "400 missing_field",
		`{"batch":"p","schedule":7}`:          "400 invalid_type",
		`{"batch":7,"schedule":"2037"}`:       "400 invalid_type",
		`{"schedule":"2037","schedule":"20"}`: "400 duplicate_name",
		`{"batch":"p","schedule":"2037-02-30T10:00:00"}`:         "400 invalid_schedule",
		`{"batch":"p","schedule":"2037-11-21T12:04:59Z"}`:        "400 schedule_too_soon",
		`{"batch":"p","schedule":"2038-11-22T12:00:00Z"}`:        "400 schedule_too_far",
		`{"batch":"other","schedule":"2037-11-21T13:00:00Z"}`:    "404 batch_not_found",
		`{"batch":null,"schedule":"2037-11-21T13:00:00Z"}`:       "409 batch_released",
		`{"schedule":"2037-11-21T13:00:00Z"}`:                    "409 batch_released",
		strings.Repeat(" ", 70_000):                              "413 body_too_large",
		`{"batch":"p","schedule":"2037-11-21T13:00:00Z","x":[]}`: "200 scheduled",
	} {
		if got := d.post("/reschedule", body); got != want {
			t.Errorf("%.80s: %s, want %s", body, got, want)
		}
	}
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	if got := d.post("/reschedule", `{"batch":"p","schedule":"2037-11-21T13:00:00Z"}`); got != "409 campaign_cancelled" {
		t.Error(got)
	}
}

// A batch's payload expires, however often the batch is rescheduled.
func TestServeReschedule_AtMostAYear(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "p", 1, campaign.BatchPending)
	d.service.Now = func() time.Time { return noon.AddDate(0, 6, 0) }
	for schedule, want := range map[string]string{
		"2038-11-21T12:00:01Z": "400 schedule_too_far", "2038-11-21T12:00:00Z": "200 scheduled",
	} {
		if got := d.post("/reschedule", `{"batch":"p","schedule":"`+schedule+`"}`); got != want {
			t.Errorf("%s: %s, want %s", schedule, got, want)
		}
	}
}
