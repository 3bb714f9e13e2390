package control_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/localstack/stackenv"
)

const (
	evening  = "2037-11-21T18:00:00Z"
	tomorrow = "2037-11-22T13:00:00Z"
)

// waiting accepts a scheduled batch with a reservation for the day of its due time.
func (d *service) waiting(ordinal int, reserved campaign.Money, change func(b *campaign.Batch)) campaign.Batch {
	d.t.Helper()
	name := fmt.Sprint("batch ", ordinal)
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: d.id, BatchID: campaign.BatchID(name)}, Name: name, TemplateID: "7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c",
		Payload: rand.Text(), Offsets: []int{0, 1}, Accepted: 1, AcceptedAt: noon, Due: noon.Add(3 * time.Hour), Scheduled: true,
		State: campaign.BatchPending, NextCheck: noon.Add(time.Hour), Reserved: reserved,
	}
	if reserved > 0 {
		b.ReservedOn = "2037-11-21"
	}
	if change != nil {
		change(&b)
	}
	_, _ = rand.Read(b.Key[:])
	d.must(d.store.Accept(d.t.Context(), acceptance.Command{Batch: b, Campaign: "Entregas", Ordinal: ordinal, CreatedAt: noon}, rand.Text()))
	return b
}

// move reschedules the campaign as its page shows it, and returns the problem's code, or "".
func (d *service) move(schedule string) string {
	d.t.Helper()
	_, err := d.service.RescheduleCampaign(d.t.Context(), d.id, schedule, d.campaign().Plan())
	return d.code(err)
}

func (d *service) code(err error) string {
	d.t.Helper()
	problem, ok := errors.AsType[*httpapi.Problem](err)
	if !ok {
		d.must(err)
		return ""
	}
	return problem.Code
}

// wantDue checks the due time of a batch's row and of the campaign's reading.
func (d *service) wantDue(b campaign.Batch, want string) {
	d.t.Helper()
	row, err := d.store.Batch(d.t.Context(), b.BatchRef)
	d.must(err)
	read, ok := d.campaign().Find(b.Name)
	if got := row.Due.Format(time.RFC3339); got != want || !ok || !read.Due.Equal(row.Due) {
		d.t.Errorf("%s is due at %s (campaign: %v), want %s", b.Name, got, read.Due, want)
	}
}

func TestMove_AllBatches(t *testing.T) {
	t.Parallel()
	d := newService(t)
	var batches []campaign.Batch
	for ordinal := range 3 {
		batches = append(batches, d.waiting(ordinal+1, 1_000_000, nil))
	}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	for _, b := range batches {
		d.wantDue(b, tomorrow)
	}
	if len(d.handed) != 3 || len(d.tasks) != 0 {
		t.Errorf("%d releases scheduled, %d tasks queued", len(d.handed), len(d.tasks))
	}
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-22", "3.00")

	if got := d.move(tomorrow); got != "" || len(d.handed) != 3 {
		t.Errorf("repeated: %q, %d releases scheduled", got, len(d.handed))
	}
	if got := d.move(evening); got != "" {
		t.Error(got)
	}
	d.wantDue(batches[2], evening)
	d.wantReserved("2037-11-21", "3.00")
	d.wantReserved("2037-11-22", "0.00")
	if got := d.post("/reschedule", `{"batch":"batch 2","schedule":"`+tomorrow+`"}`); got != "200 scheduled" {
		t.Error(got)
	}
	d.wantDue(batches[1], tomorrow)
	d.wantDue(batches[0], evening)
}

func TestMove_Refused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(b *campaign.Batch)
		schedule string
		want     string
	}{
		"too soon":      {nil, "2037-11-21T12:01:00Z", "schedule_too_soon"},
		"no time":       {nil, "tomorrow", "invalid_schedule"},
		"too far":       {nil, "2038-11-21T12:00:01Z", "schedule_too_far"},
		"after the end": {func(b *campaign.Batch) { b.NotAfter = noon.Add(4 * time.Hour) }, evening, "schedule_after_not_after"},
		"started":       {func(b *campaign.Batch) { b.State = campaign.BatchSending }, evening, "campaign_started"},
		"no room":       {func(b *campaign.Batch) { b.Reserved = 5_000_000 }, tomorrow, campaign.CodeBudgetExceeded},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newService(t)
			first := d.waiting(1, 1_000_000, nil)
			d.waiting(2, 1_000_000, tt.change)
			d.must(d.store.SetBilling(t.Context(), d.id.Tenant, campaign.Billing{
				Prices: campaign.Prices{Basic: 1_000_000}, Limits: campaign.Spending{Day: 5_000_000},
			}))
			before := d.campaign().Plan()
			if got := d.move(tt.schedule); got != tt.want {
				t.Errorf("refused with %q, want %q", got, tt.want)
			}
			if _, err := d.service.MayRescheduleCampaign(t.Context(), d.campaign(), tt.schedule, before); d.code(err) != tt.want {
				t.Errorf("checked: %v, want %q", err, tt.want)
			}
			d.wantDue(first, "2037-11-21T15:00:00Z")
			if got := d.campaign().Plan(); got != before || len(d.handed) != 0 {
				t.Errorf("the refused call changed the campaign, or scheduled %d releases", len(d.handed))
			}
		})
	}
}

func TestMove_CancelledCampaign(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.waiting(1, 0, nil)
	plan := d.campaign().Plan()
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	if _, err := d.service.RescheduleCampaign(t.Context(), d.id, evening, plan); d.code(err) != "campaign_cancelled" {
		t.Error(err)
	}
}

// Batches whose data has expired do not keep the others from being rescheduled.
func TestMove_ExpiredBatch(t *testing.T) {
	t.Parallel()
	d := newService(t)
	created := noon.AddDate(-2, 0, 0)
	d.waiting(1, 0, func(b *campaign.Batch) { b.AcceptedAt, b.State = created, campaign.BatchSent })
	waits := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: d.id, BatchID: campaign.BatchID("new")}, Name: "new", Payload: "p", Offsets: []int{0, 1}, Accepted: 1,
		AcceptedAt: noon, Due: noon.Add(time.Hour), Scheduled: true, State: campaign.BatchPending, NextCheck: noon.Add(time.Hour),
	}
	_, _ = rand.Read(waits.Key[:])
	d.must(d.store.Accept(t.Context(), acceptance.Command{Batch: waits, Campaign: "Entregas", Ordinal: 2, CreatedAt: created}, rand.Text()))
	if got := d.move(evening); got != "" {
		t.Fatal(got)
	}
	d.wantDue(waits, evening)
}

// Of two people who reschedule the same campaign to different times, one is refused.
func TestMove_TwoPeople(t *testing.T) {
	t.Parallel()
	d := newService(t)
	batches := []campaign.Batch{d.waiting(1, 1_000_000, nil), d.waiting(2, 0, nil)}
	plan := d.campaign().Plan()
	codes, times := [2]string{}, [2]string{evening, tomorrow}
	var calls sync.WaitGroup
	for i := range times {
		calls.Go(func() {
			_, err := d.service.RescheduleCampaign(t.Context(), d.id, times[i], plan)
			codes[i] = d.code(err)
		})
	}
	calls.Wait()
	won := 0
	if codes[0] != "" {
		won = 1
	}
	if codes[won] != "" || codes[1-won] != "campaign_changed" {
		t.Fatalf("refused with %q", codes)
	}
	for _, b := range batches {
		d.wantDue(b, times[won])
	}
}

// A batch that is added while the campaign is rescheduled keeps its own time, or the
// reschedule is refused.
func TestMove_BatchAdded(t *testing.T) {
	t.Parallel()
	d := newService(t)
	first := d.waiting(1, 0, nil)
	plan := d.campaign().Plan()
	second := d.waiting(2, 0, nil)
	if _, err := d.service.RescheduleCampaign(t.Context(), d.id, evening, plan); d.code(err) != "campaign_changed" {
		t.Error(err)
	}
	d.wantDue(first, "2037-11-21T15:00:00Z")
	if got := d.move(evening); got != "" {
		t.Fatal(got)
	}
	third := d.waiting(3, 0, nil)
	d.wantDue(second, evening)
	d.wantDue(third, "2037-11-21T15:00:00Z")
}

// Whatever changes the campaign at the same time, either all its batches move, or none.
func TestMove_Races(t *testing.T) {
	t.Parallel()
	tests := map[string]func(d *service, b campaign.Batch) error{
		"release": func(d *service, b campaign.Batch) error {
			_, err := d.store.StartRelease(d.t.Context(), b.BatchRef, "", b.Due, noon)
			return err
		},
		"cancel": func(d *service, _ campaign.Batch) error {
			_, err := d.service.Cancel(d.t.Context(), d.id, false)
			return err
		},
		"reschedule of one batch": func(d *service, b campaign.Batch) error {
			_, err := d.service.RescheduleBatch(d.t.Context(), d.id, b.Name, evening)
			return err
		},
		"another batch": func(d *service, _ campaign.Batch) error {
			d.waiting(4, 0, nil)
			return nil
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				d := newService(t)
				batches := []campaign.Batch{d.waiting(1, 1_000_000, nil), d.waiting(2, 1_000_000, nil), d.waiting(3, 0, nil)}
				plan := d.campaign().Plan()
				var code string
				var calls sync.WaitGroup
				calls.Go(func() {
					_, err := d.service.RescheduleCampaign(t.Context(), d.id, tomorrow, plan)
					code = d.code(err)
				})
				calls.Go(func() { d.must(change(d, batches[1])) })
				calls.Wait()
				d.wantAllOrNone(code, batches)
			}
		})
	}
}

// wantAllOrNone checks that all batches have moved after a move without a problem, and none
// after a refused one. The second batch may have been changed by another call.
func (d *service) wantAllOrNone(code string, batches []campaign.Batch) {
	d.t.Helper()
	want := tomorrow
	if code != "" {
		want = batches[0].Due.Format(time.RFC3339)
	}
	d.wantDue(batches[0], want)
	d.wantDue(batches[2], want)
	second, err := d.store.Batch(d.t.Context(), batches[1].BatchRef)
	d.must(err)
	if due := second.Due.Format(time.RFC3339); due != want && due != evening {
		d.t.Errorf("after %q the second batch is due at %s", code, due)
	}
	if code == "" && second.Released() {
		d.t.Error("a batch of the moved campaign was released")
	}
}

var errCrash = errors.New("crash")

// crashing is a store whose process ends before FinishMove.
type crashing struct{ *dynamotest.Store }

func (crashing) FinishMove(context.Context, campaign.ID, func(time.Time) time.Time) ([]campaign.Batch, error) {
	return nil, errCrash
}

// large returns a service with a campaign of more batches than one transaction changes.
// Every batch has a reservation.
func large(t *testing.T) (*service, []campaign.Batch) {
	t.Helper()
	d := newService(t)
	var batches []campaign.Batch
	for ordinal := range campaign.MovedAtOnce + 3 {
		batches = append(batches, d.waiting(ordinal+1, 1_000_000, nil))
	}
	return d, batches
}

func TestMove_ManyBatches(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	if len(d.handed) != len(batches) || len(d.tasks) != 1 {
		t.Errorf("%d releases scheduled, %d tasks queued", len(d.handed), len(d.tasks))
	}
	d.wantDue(batches[0], tomorrow)
	d.wantDue(batches[len(batches)-1], tomorrow)
	if c := d.campaign(); len(c.Unmoved()) > 0 || c.Move.Open {
		t.Errorf("%d rows are left, open: %v", len(c.Unmoved()), c.Move.Open)
	}
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-22", "83.00")
	d.run(d.tasks[0])
	d.wantReserved("2037-11-22", "83.00")
}

// run handles a task as the revoke function does.
func (d *service) run(task campaign.RevokeTask) {
	d.t.Helper()
	for _, err := range d.canceller.Handle(d.t.Context(), []campaign.RevokeTask{task}) {
		d.must(err)
	}
}

// After a crash, all batches have the new time at once, and the task moves their rows.
func TestMove_Crash(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	last := batches[len(batches)-1]
	d.wantDue(last, tomorrow)
	row, err := d.store.Batch(t.Context(), last.BatchRef)
	d.must(err)
	if !row.Unmoved || len(d.campaign().Unmoved()) != 3 {
		t.Fatalf("unmoved: %v, %d rows", row.Unmoved, len(d.campaign().Unmoved()))
	}
	progress, _, err := d.store.BatchProgress(t.Context(), d.id, last.BatchID)
	d.must(err)
	overview, err := d.store.Overview(t.Context(), d.id)
	d.must(err)
	for reader, got := range map[string]campaign.Batch{"batch": progress.Batch, "overview": overview.Batches[len(batches)-1].Batch} {
		if got.Due.Format(time.RFC3339) != tomorrow {
			t.Errorf("%s is due at %v", reader, got.Due)
		}
	}

	d.run(d.tasks[0])
	if c := d.campaign(); len(c.Unmoved()) > 0 || c.Move.Open {
		t.Errorf("%d rows are left, open: %v", len(c.Unmoved()), c.Move.Open)
	}
	d.wantDue(last, tomorrow)
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-22", "83.00")
}

// The previous version of the service has one new day for all batches, and a move has only the sum of what it holds.
func TestMove_BegunByThePreviousVersion(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	meta := d.updateMeta("REMOVE movingHeldOn, movingHours", nil)
	if held, ok := meta["movingHeld"].(*types.AttributeValueMemberN); !ok || held.Value != "3000000" {
		t.Errorf("the previous version reads %v", meta["movingHeld"])
	}
	d.run(d.tasks[0])
	if c := d.campaign(); len(c.Unmoved()) > 0 || c.Move.Open {
		t.Errorf("%d rows are left, open: %v", len(c.Unmoved()), c.Move.Open)
	}
	d.wantBooked(batches[len(batches)-1], "2037-11-22")
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-22", "83.00")
}

// updateMeta changes the row of the campaign, and returns it.
func (d *service) updateMeta(update string, values dynamo.Item) dynamo.Item {
	d.t.Helper()
	table := d.store.Tables().Campaigns
	out, err := d.store.Tables().Client.UpdateItem(d.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, UpdateExpression: &update, ExpressionAttributeValues: values, ReturnValues: types.ReturnValueAllNew,
		Key: dynamo.Item{
			"pk": &types.AttributeValueMemberS{Value: "C#" + d.id.Tenant + "#" + d.id.CampaignID}, "sk": &types.AttributeValueMemberS{Value: "META"},
		},
	})
	d.must(err)
	return out.Attributes
}

// The previous version leaves the hours of a move that it closes. A later move without hours has other dates.
func TestMove_ClosedByThePreviousVersion(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	hours, err := json.Marshal(reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}})
	d.must(err)
	d.updateMeta("SET movingHours = :hours", dynamo.Item{":hours": &types.AttributeValueMemberB{Value: hours}})
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" { // a Sunday
		t.Fatal(got)
	}
	d.run(d.tasks[0])
	d.wantBooked(batches[len(batches)-1], "2037-11-22")
	d.wantReserved("2037-11-22", "83.00")
	d.wantReserved("2037-11-23", "0.00")
}

// fatal is a client of DynamoDB whose process ends at one of its transactions, before or after
// that is committed.
type fatal struct {
	at    int
	after bool
	end   context.CancelFunc
	calls int
}

func (f *fatal) Do(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return http.DefaultClient.Do(r)
	}
	f.calls++
	if f.calls != f.at {
		return http.DefaultClient.Do(r)
	}
	if f.after {
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		_ = res.Body.Close()
	}
	f.end()
	return nil, errCrash
}

// A process can end at any transaction. Before the first, nothing has moved; after it, the task
// moves what is left.
func TestMove_CrashAtAnyTransaction(t *testing.T) {
	t.Parallel()
	const transactions = 3 // the campaign, the rest of the rows, the end
	for at := 1; at <= transactions; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("transaction %d, after it %v", at, after), func(t *testing.T) {
				t.Parallel()
				d, batches := large(t)
				plan := d.campaign().Plan()
				ctx, end := context.WithCancel(t.Context())
				client := &fatal{at: at, after: after, end: end}
				env := stackenv.Load(t)
				d.service.Store = dynamotest.New(dynamo.Tables{
					Client:    dynamodb.NewFromConfig(env.AWS(), func(o *dynamodb.Options) { o.HTTPClient = client }),
					Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: d.service.Now,
				})
				_, _ = d.service.RescheduleCampaign(ctx, d.id, tomorrow, plan)
				if client.calls != at {
					t.Fatalf("%d transactions", client.calls)
				}
				want, day := tomorrow, "2037-11-22"
				if at == 1 && !after {
					want, day = "2037-11-21T15:00:00Z", "2037-11-21"
				}
				d.wantDue(batches[0], want)
				d.wantDue(batches[len(batches)-1], want)
				d.run(d.tasks[0])
				if c := d.campaign(); len(c.Unmoved()) > 0 || c.Move.Open {
					t.Errorf("%d rows are left, open: %v", len(c.Unmoved()), c.Move.Open)
				}
				d.wantReserved(day, "83.00")
			})
		}
	}
}

// A batch that is cancelled or released before its row has moved leaves no reservation of the
// new day.
func TestMove_ChangedBeforeItsRow(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	released, last := batches[len(batches)-2], batches[len(batches)-1]
	d.must(d.store.CancelBatch(t.Context(), last.BatchRef, noon, false, noon))
	// Its row still has the earlier time.
	if ok, err := d.store.StartRelease(t.Context(), released.BatchRef, "agent", released.Due, noon); err != nil || !ok {
		t.Fatal(ok, err)
	}
	d.run(d.tasks[0])
	d.wantReserved("2037-11-21", "1.00")
	d.wantReserved("2037-11-22", "81.00")
	if c := d.campaign(); c.Move.Open {
		t.Error("the move is still open")
	}
}

// A cancellation before the rows have moved releases all reservations.
func TestMove_CancelInBetween(t *testing.T) {
	t.Parallel()
	d, _ := large(t)
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	if got := d.post("/cancel", ""); got != "202 cancelling" {
		t.Fatal(got)
	}
	for _, task := range d.tasks {
		d.run(task)
	}
	if got := d.campaign().Status(); got != campaign.StatusCancelled {
		t.Errorf("the campaign is %s", got)
	}
	d.wantReserved("2037-11-21", "0.00")
	d.wantReserved("2037-11-22", "0.00")
}

// A reschedule of one batch finishes an open move first, and wins for that batch.
func TestReschedule_AfterOpenMove(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	d.service.Store = crashing{d.store}
	if got := d.move(tomorrow); got != "" {
		t.Fatal(got)
	}
	d.service.Store = d.store
	last := batches[len(batches)-1]
	if got := d.post("/reschedule", `{"batch":"`+last.Name+`","schedule":"`+evening+`"}`); got != "200 scheduled" {
		t.Fatal(got)
	}
	d.wantDue(last, evening)
	d.wantDue(batches[len(batches)-2], tomorrow)
	d.run(d.tasks[0])
	d.wantDue(last, evening)
	d.wantReserved("2037-11-21", "1.00")
	d.wantReserved("2037-11-22", "82.00")
}

// A release can start in the next minute: a campaign with rows that move later is refused.
func TestMove_Starting(t *testing.T) {
	t.Parallel()
	d, batches := large(t)
	d.service.Now = func() time.Time { return batches[0].Due.Add(-30 * time.Second) }
	if got := d.move(tomorrow); got != "campaign_starting" {
		t.Errorf("refused with %q", got)
	}
}
