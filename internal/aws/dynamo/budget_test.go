package dynamo_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// priced returns a batch of six messages with these classes: 3 basic ones for 1.00 each and
// 3 single ones for 2.00 each, which has reserved 9.00 for March 1, 2100.
func priced(state campaign.BatchState) campaign.Batch {
	b := newBatch(randomID(), state, later, later)
	b.Accepted = 6
	b.Classes = campaign.NewClasses(slices.Values([]content.Class{content.Basic, content.Single, content.Basic, content.Single, content.Basic, content.Single}))
	b.Prices = campaign.Prices{Basic: 1_000_000, Single: 2_000_000}
	b.Reserved, b.ReservedOn = 9_000_000, "2100-03-01"
	return b
}

// reserved returns what the batches of a tenant have reserved for a date and its month.
func reserved(t *testing.T, s *dynamotest.Store, tenant, date string) string {
	t.Helper()
	used, err := s.Spending(t.Context(), tenant, date)
	must(t, err)
	return used.Day.String() + " of " + used.Month.String()
}

func wantReserved(t *testing.T, s *dynamotest.Store, tenant, date, want string) {
	t.Helper()
	if got := reserved(t, s, tenant, date); got != want {
		t.Errorf("reserved for %s: %s, want %s", date, got, want)
	}
}

// A batch whose reservation has changed since it was read is not closed, and not tried again: what is unused is
// unknown.
func TestCloseBatch_ChangedReservation(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *campaign.Batch){
		"amount":         func(b *campaign.Batch) { b.Reserved -= 1_000_000 },
		"day":            func(b *campaign.Batch) { b.ReservedOn = "2100-03-02" },
		"none when read": func(b *campaign.Batch) { b.Reserved, b.ReservedOn = 0, "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newStore(t), priced(campaign.BatchCompleted)
			accept(t, s, b)
			read := b
			change(&read)
			var used rowsRead
			if err := with(t, s, used.attach).CloseBatch(t.Context(), read, 1_000_000); !errors.Is(err, campaign.ErrLostRace) || used.calls > 2 {
				t.Errorf("%v after %d calls, want a lost race after 2 at most", err, used.calls)
			}
			must(t, s.CloseBatch(t.Context(), b, 1_000_000))
		})
	}
}

// The completion frees the unused price once, and not for another reservation than the row's.
func TestCompleteBatch_Reservation(t *testing.T) {
	t.Parallel()
	s, b := newStore(t), priced(campaign.BatchSent)
	accept(t, s, b)
	complete := func(reserved campaign.Money, want bool) {
		t.Helper()
		read := b
		read.Reserved = reserved
		if done, err := s.CompleteBatch(t.Context(), read, 5_000_000, later); done != want || err != nil {
			t.Errorf("completed with a reservation of %s: %t, %v", reserved, done, err)
		}
	}
	complete(8_000_000, false)
	wantReserved(t, s, b.Tenant, "2100-03-01", "9.00 of 9.00")
	complete(9_000_000, true)
	complete(9_000_000, false)
	wantReserved(t, s, b.Tenant, "2100-03-01", "4.00 of 4.00")
	if now, err := s.Batch(t.Context(), b.BatchRef); err != nil || now.Reserved != 0 || now.ReservedOn != "" {
		t.Errorf("the completed batch has reserved %s on %q: %v", now.Reserved, now.ReservedOn, err)
	}
}

func TestBatch_Price(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for name, want := range map[string]campaign.Batch{
		"mixed": priced(campaign.BatchPending), "without prices": newBatch(randomID(), campaign.BatchPending, later, later),
	} {
		accept(t, s, want)
		got, err := s.Batch(t.Context(), want.BatchRef)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What was not delivered is released once when a batch closes, whatever closes it, and
// however often.
func TestBudget_Release(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state campaign.BatchState
		end   func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error
		want  string
	}{
		"partly delivered": {campaign.BatchSending, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			changes := append(changesOf(0, 2, campaign.OutcomeDelivered), changesOf(2, 3, campaign.OutcomeRead)...)
			return recorderOf(s).Record(t.Context(), b, append(changes, changesOf(3, 6, campaign.OutcomeFailed)...))
		}, "4.00 of 4.00"},
		"delivered": {campaign.BatchSending, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			return recorderOf(s).Record(t.Context(), b, changesOf(0, 6, campaign.OutcomeRead))
		}, "9.00 of 9.00"},
		"open": {campaign.BatchSending, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			return recorderOf(s).Record(t.Context(), b, changesOf(0, 6, campaign.OutcomeSent))
		}, "9.00 of 9.00"},
		"cancelled before it was due": {campaign.BatchPending, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			return s.CancelBatch(t.Context(), b.BatchRef, later, false, later)
		}, "0.00 of 0.00"},
		"cancelled with a reservation": {campaign.BatchCancelled, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			return recorderOf(s).Close(t.Context(), b)
		}, "0.00 of 0.00"},
		"cancelled while it was sent": {campaign.BatchSending, func(t *testing.T, s *dynamotest.Store, b campaign.Batch) error {
			t.Helper()
			return errors.Join(s.CancelBatch(t.Context(), b.BatchRef, later, false, later),
				recorderOf(s).Record(t.Context(), b, append(changesOf(0, 1, campaign.OutcomeDelivered), changesOf(1, 6, campaign.OutcomeStopped)...)))
		}, "1.00 of 1.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newLedgers(t), priced(test.state)
			accept(t, s, b)
			wantReserved(t, s, b.Tenant, "2100-03-01", "9.00 of 9.00")
			b, err := s.Batch(t.Context(), b.BatchRef)
			must(t, err)

			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() {
					if err := errors.Join(test.end(t, s, b), recorderOf(s).Close(t.Context(), b)); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()

			wantReserved(t, s, b.Tenant, "2100-03-01", test.want)
		})
	}
}

// A batch without a reservation neither reads nor writes the budget.
func TestBudget_NoReservation(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	b := newBatch(randomID(), campaign.BatchSending, later, later)
	b.Accepted = 2
	accept(t, s, b)
	must(t, recorderOf(s).Record(t.Context(), b, changesOf(0, 2, campaign.OutcomeFailed)))
	if rows := rowsOf(t, s, s.Tables().Campaigns, "BUDGET#"+b.Tenant); len(rows) > 0 {
		t.Errorf("rows %v", rows)
	}
	if closed, err := s.Batch(t.Context(), b.BatchRef); err != nil || closed.State != campaign.BatchCompleted || !closed.NextCheck.IsZero() {
		t.Errorf("the batch is %s, to be checked at %v: %v", closed.State, closed.NextCheck, err)
	}
}

func TestBudget_Expiry(t *testing.T) {
	t.Parallel()
	s, b := newStore(t), priced(campaign.BatchPending)
	accept(t, s, b)
	row := rowsOf(t, s, s.Tables().Campaigns, "BUDGET#"+b.Tenant)["2100-03"]
	end := time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC).Add(campaign.BudgetLife)
	if diff := cmp.Diff(strconv.FormatInt(end.Unix(), 10), numberOf(row[dynamo.TTL])); diff != "" {
		t.Errorf("expiry (-want +got):\n%s", diff)
	}
}

func TestReschedule_Budget(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		limits  campaign.Spending
		other   string // the date of another batch with a reservation of 9.00
		due     time.Time
		refused string
		want    map[string]string // reservations by date
	}{
		"same day":       {campaign.Spending{Day: 9_000_000}, "", later.Add(time.Hour), "", map[string]string{"2100-03-01": "9.00 of 9.00"}},
		"another day":    {campaign.Spending{Day: 9_000_000, Month: 9_000_000}, "", later.Add(day), "", map[string]string{"2100-03-01": "0.00 of 9.00", "2100-03-02": "9.00 of 9.00"}},
		"another month":  {campaign.Spending{Day: 9_000_000, Month: 9_000_000}, "", later.Add(31 * day), "", map[string]string{"2100-03-01": "0.00 of 0.00", "2100-04-01": "9.00 of 9.00"}},
		"limits removed": {campaign.Spending{}, "2100-03-02", later.Add(day), "", map[string]string{"2100-03-01": "0.00 of 18.00", "2100-03-02": "18.00 of 18.00"}},
		"full day": {
			campaign.Spending{Day: 17_000_000},
			"2100-03-02", later.Add(day), "9.00",
			map[string]string{"2100-03-01": "9.00 of 18.00", "2100-03-02": "9.00 of 18.00"},
		},
		"full month": {
			campaign.Spending{Month: 17_000_000},
			"2100-04-02", later.Add(31 * day), "0.00",
			map[string]string{"2100-03-01": "9.00 of 9.00", "2100-04-02": "9.00 of 9.00", "2100-04-01": "0.00 of 9.00"},
		},
		"limit below the price": {campaign.Spending{Day: 8_000_000}, "", later.Add(day), "0.00", map[string]string{"2100-03-01": "9.00 of 9.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := newStore(t), priced(campaign.BatchPending)
			accept(t, s, b)
			if test.other != "" {
				other := priced(campaign.BatchPending)
				other.Tenant, other.ReservedOn = b.Tenant, test.other
				accept(t, s, other)
			}
			must(t, s.SaveBilling(t.Context(), b.Tenant, campaign.Billing{}, campaign.Billing{Prices: b.Prices, Limits: test.limits}))

			moved, err := s.RescheduleBatch(t.Context(), b, test.due, test.due)

			full, refused := errors.AsType[*campaign.BudgetError](err)
			if refused != (test.refused != "") || refused == moved || refused && full.Used.Day.String() != test.refused {
				t.Errorf("moved %v, error %v", moved, err)
			}
			now, err := s.Batch(t.Context(), b.BatchRef)
			must(t, err)
			if now.Due.Equal(test.due) != moved {
				t.Errorf("due at %v, moved %v", now.Due, moved)
			}
			for date, want := range test.want {
				wantReserved(t, s, b.Tenant, date, want)
			}
		})
	}
}

// A campaign is cancelled while its batch moves to another month: nothing stays reserved.
func TestReschedule_CancelledConcurrently(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for range 10 {
		b := priced(campaign.BatchPending)
		accept(t, s, b)
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := s.RescheduleBatch(t.Context(), b, later.Add(31*24*time.Hour), later); err != nil {
				t.Error(err)
			}
		})
		calls.Go(func() {
			if err := s.CancelBatch(t.Context(), b.BatchRef, later, false, later); err != nil {
				t.Error(err)
			}
		})
		calls.Wait()
		wantReserved(t, s, b.Tenant, "2100-03-01", "0.00 of 0.00")
		wantReserved(t, s, b.Tenant, "2100-04-01", "0.00 of 0.00")
	}
}

func TestOverview_Billed(t *testing.T) {
	t.Parallel()
	s, b := newLedgers(t), priced(campaign.BatchSending)
	accept(t, s, b)
	b, err := s.Batch(t.Context(), b.BatchRef)
	must(t, err)
	must(t, recorderOf(s).Record(t.Context(), b, append(changesOf(0, 3, campaign.OutcomeDelivered), changesOf(3, 5, campaign.OutcomeFailed)...)))
	c, err := s.Overview(t.Context(), b.ID)
	must(t, err)
	if got := c.Batches[0].Billed(); got != (campaign.ClassCounts{Basic: 2, Single: 1}) {
		t.Errorf("billed %+v", got)
	}
}

func TestBilling(t *testing.T) {
	t.Parallel()
	s, tenant := newStore(t), randomID()
	if got, err := s.Billing(t.Context(), tenant); err != nil || got != (campaign.Billing{}) {
		t.Errorf("without a row: %+v, %v", got, err)
	}
	var was campaign.Billing
	for _, want := range []campaign.Billing{
		{Prices: campaign.Prices{Basic: 1, Single: 2}, Limits: campaign.Spending{Day: 3, Month: 4}}, {}, {Prices: campaign.Prices{Basic: 5, Single: 6}},
	} {
		must(t, s.SaveBilling(t.Context(), tenant, was, want))
		other := campaign.Billing{Prices: campaign.Prices{Basic: 9, Single: 9}}
		entry := account.AuditEntry{Tenant: tenant, At: s.Tables().Now(), Who: "ana@acme.example", Action: "billing.change"}
		if err := s.SaveBilling(t.Context(), tenant, was, other, entry); !errors.Is(err, campaign.ErrLostRace) {
			t.Errorf("saved over prices that were not read: %v", err)
		}
		was = want
		if got, err := s.Billing(t.Context(), tenant); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	if audit, _, err := s.AuditLog(t.Context(), tenant, "", 10); err != nil || len(audit) > 0 {
		t.Errorf("the audit log has changes that were not made: %+v, %v", audit, err)
	}
}

func numberOf(v types.AttributeValue) string {
	n, _ := v.(*types.AttributeValueMemberN)
	if n == nil {
		return ""
	}
	return n.Value
}
