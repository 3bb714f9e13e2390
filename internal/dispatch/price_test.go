package dispatch_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/testsize"
)

// billing sets prices of 0.05 and 0.10, and limits.
func (b *bench) billing(day, month string) {
	b.t.Helper()
	limit := func(text string) campaign.Money {
		if text == "" {
			return 0
		}
		m, err := campaign.ParseMoney(text)
		b.must(err)
		return m
	}
	b.must(b.store.SetBilling(b.t.Context(), b.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: 50_000, Single: 100_000},
		Limits: campaign.Spending{Day: limit(day), Month: limit(month)},
	}))
}

// wantSpending checks what is reserved for a date.
func (b *bench) wantSpending(date, day, month string) {
	b.t.Helper()
	got, err := b.store.Spending(b.t.Context(), b.tenant, date)
	b.must(err)
	if got.Day.String() != day || got.Month.String() != month {
		b.t.Errorf("reserved %s for %s and %s for its month, want %s and %s", got.Day, date, got.Month, day, month)
	}
}

// priced is the part of an answer about prices.
type priced struct {
	Classes *campaign.ClassCounts
	Price   *struct{ Currency, Basic, Single, Total string }
	Budget  *struct {
		Currency, Cost string
		Day            *struct{ Date, Limit, Used string }
		Month          *struct{ Month, Limit, Used string }
	}
}

// sizes returns messages whose texts have these sizes in bytes, for a template with the one
// variable v.
func sizes(all ...int) []fields {
	messages := messages(11987654321, len(all))
	for i, size := range all {
		messages[i]["vars"] = fields{"v": strings.Repeat("a", size)}
	}
	return messages
}

func TestDryRun_Price(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putTemplate(b.tenant, b.template, "{{v}}")
	rejected := append(sizes(160, 161, 0), fields{"phone": "1", "uid": "u", "vars": fields{"v": "a"}})
	body := b.body(fields{"templateId": b.template, "messages": rejected})

	got := read[priced](t, b.dryRun(body))
	if diff := cmp.Diff(priced{Classes: &campaign.ClassCounts{Basic: 2, Single: 1}}, got); diff != "" {
		t.Errorf("without prices (-want +got):\n%s", diff)
	}

	b.billing("", "")
	answer := b.dryRun(body)
	got = read[priced](t, answer)
	if got.Price == nil || *got.Price != (struct{ Currency, Basic, Single, Total string }{"BRL", "0.05", "0.10", "0.20"}) || got.Budget != nil || !answer.Valid {
		t.Errorf("with prices: %s", answer.body)
	}

	b.billing("0.19", "10")
	answer = b.dryRun(body)
	got = read[priced](t, answer)
	if answer.Valid || len(answer.Errors) != 1 || answer.Errors[0].Code != "budget_exceeded" || answer.Errors[0].Status != http.StatusConflict {
		t.Errorf("over the limit of a day: %s", answer.body)
	}
	if got.Budget == nil || got.Budget.Cost != "0.20" || got.Budget.Day.Limit != "0.19" || got.Budget.Day.Date != "2037-11-21" || got.Budget.Month.Limit != "10.00" {
		t.Errorf("figures: %s", answer.body)
	}
	b.wantSpending("2037-11-21", "0.00", "0.00")
}

func TestServeDispatch_Classes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putTemplate(b.tenant, b.template, "{{v}}")
	b.billing("", "")
	b.post(b.body(fields{"templateId": b.template, "messages": sizes(1, 161, 2)})).accepted(t)
	batch := b.handoffs.batches[0]
	if n := batch.ClassCounts(); n != (campaign.ClassCounts{Basic: 2, Single: 1}) || batch.Prices.Cost(n) != 200_000 || batch.Reserved != 0 {
		t.Errorf("classes %+v, prices %+v, reserved %s", n, batch.Prices, batch.Reserved)
	}
	outcomes := []campaign.Outcome{campaign.OutcomeRead, campaign.OutcomeDelivered, campaign.OutcomeFailed}
	if n := batch.Delivered(func(i int) campaign.Outcome { return outcomes[i] }); n != (campaign.ClassCounts{Basic: 1, Single: 1}) {
		t.Errorf("delivered %+v", n)
	}
}

func TestServeDispatch_Budget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("0.10", "0.12")
	b.post(b.body(nil)).accepted(t)
	b.wantSpending("2037-11-21", "0.05", "0.05")

	refused := b.post(b.body(fields{"messages": messages(11987654321, 2)}))
	refused.want(t, http.StatusConflict, "budget_exceeded")
	got := read[priced](t, refused)
	if got.Budget == nil || got.Budget.Cost != "0.10" || got.Budget.Day.Used != "0.05" || got.Budget.Month.Used != "0.05" || got.Budget.Currency != "BRL" {
		t.Errorf("figures: %s", refused.body)
	}

	tomorrow := fields{"schedule": "2037-11-22T12:00:00"}
	b.post(b.body(tomorrow)).accepted(t) // the day has room of its own
	b.wantSpending("2037-11-22", "0.05", "0.10")
	b.post(b.body(tomorrow)).want(t, http.StatusConflict, "budget_exceeded") // the month has not
	b.post(b.body(fields{"schedule": "2037-12-01T02:59:59Z"})).want(t, http.StatusConflict, "budget_exceeded")
	b.post(b.body(fields{"schedule": "2037-12-01T03:00:00Z"})).accepted(t) // December in São Paulo
	b.wantSpending("2037-12-01", "0.05", "0.05")
}

// All other refusals of the specification take precedence.
func TestServeDispatch_BudgetIsLast(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := fields{"campaignId": newUUID(), "name": "n", "batch": "1"}
	b.post(b.body(first)).accepted(t)
	b.billing("0.01", "")
	for name, call := range map[string]struct {
		changes fields
		status  int
		code    string
	}{
		"name":   {fields{"name": "n"}, http.StatusConflict, "campaign_name_taken"},
		"batch":  {merge(first, fields{"messages": messages(21987654321, 1)}), http.StatusConflict, "batch_already_used"},
		"number": {merge(first, fields{"batch": "2"}), http.StatusConflict, "number_already_dispatched"},
		"vars":   {fields{"templateId": b.template}, http.StatusBadRequest, "missing_variable"},
		"budget": {nil, http.StatusConflict, "budget_exceeded"},
	} {
		if got := b.post(b.body(call.changes)); got.status != call.status || got.Code != call.code {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	b.wantSpending("2037-11-21", "0.00", "0.00")
}

func TestServeDispatch_RepeatedCallReservesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("0.05", "")
	body := b.body(nil)
	for range 3 {
		b.post(body, "Idempotency-Key", "k").accepted(t)
	}
	b.wantSpending("2037-11-21", "0.05", "0.05")
}

// 20 concurrent calls at the edge of a budget, and 100 in `make prove`: as many are accepted
// as there is room for.
func TestServeDispatch_ConcurrentBudget(t *testing.T) {
	t.Parallel()
	calls, room, spent, more := 20, 7, "0.35", "0.36"
	if testsize.Proof() {
		calls, room, spent, more = 100, 37, "1.85", "1.86"
	}
	for name, limits := range map[string][2]string{"day": {spent, ""}, "month": {"", spent}, "day within month": {spent, more}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.billing(limits[0], limits[1])
			conflicts := b.withConflicts(b.store.Tables())
			bodies := make([]string, calls)
			for i := range bodies {
				bodies[i] = b.body(fields{"messages": messages(11987650000+i, 1)})
			}
			counts := map[string]int{}
			for _, r := range race(b, bodies) {
				counts[strconv.Itoa(r.status)+" "+r.Code]++
			}
			if diff := cmp.Diff(map[string]int{"202 ": room, "409 budget_exceeded": calls - room}, counts); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if !conflicts.happened() {
				t.Error("no transactions were in progress at the same time")
			}
			b.wantSpending("2037-11-21", spent, spent)
		})
	}
}
