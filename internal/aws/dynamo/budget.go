package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
)

// The BUDGET row of a tenant and a month contains the reservations of accepted batches in
// millionths: their total, and those of each day (d01 to d31). A batch without a reservation
// does not write it. The BATCH row contains its own reservation, which the transaction that
// releases it removes, so that it is released once.

// total is the attribute of the reservations of the whole month.
const total = "total"

// dayPrefix begins the attributes of the days in a BUDGET row. No other attribute of the row begins with it.
const dayPrefix = "d"

// dayOf returns the attribute of a date in its BUDGET row.
func dayOf(date string) string {
	return dayPrefix + strings.TrimPrefix(date, campaign.MonthOf(date)+"-")
}

// SaveBilling replaces the prices and limits of a tenant, which were read as was, and writes entries of the audit log
// with them. If they are others now, the error wraps campaign.ErrLostRace.
func (s *SettingStore) SaveBilling(ctx context.Context, tenant string, was, b campaign.Billing, audit ...account.AuditEntry) error {
	values := Item{}
	condition := equals(billingItem(was), values)
	if was == (campaign.Billing{}) {
		condition = absent + " OR " + condition
	}
	w := s.putIf(with(billingKey(tenant), billingItem(b)), condition, values)
	return s.writeAudited(ctx, "save the prices of tenant "+tenant, audit, w)
}

func billingItem(b campaign.Billing) Item {
	return Item{
		"basicPrice": number(b.Basic), "singlePrice": number(b.Single),
		"dayLimit": number(b.Limits.Day), "monthLimit": number(b.Limits.Month),
	}
}

// Billing reads the prices and limits of a tenant consistently.
func (s *SettingStore) Billing(ctx context.Context, tenant string) (campaign.Billing, error) {
	row, err := s.find(ctx, "read the prices of tenant "+tenant, billingKey(tenant))
	return readBilling(row), err
}

func readBilling(row Item) campaign.Billing {
	return campaign.Billing{
		Prices: readPrices(row),
		Limits: campaign.Spending{Day: getMoney(row, "dayLimit"), Month: getMoney(row, "monthLimit")},
	}
}

func readPrices(row Item) campaign.Prices {
	return campaign.Prices{Basic: getMoney(row, "basicPrice"), Single: getMoney(row, "singlePrice")}
}

// Spending reads consistently what a tenant's batches have reserved for a date.
func (s *SettingStore) Spending(ctx context.Context, tenant, date string) (campaign.Spending, error) {
	of, err := s.MonthSpending(ctx, tenant, campaign.MonthOf(date))
	return of.On(date), err
}

// MonthSpending reads consistently what a tenant's batches have reserved for a month, as 2026-11.
func (s *SettingStore) MonthSpending(ctx context.Context, tenant, month string) (campaign.MonthSpending, error) {
	rows, err := s.rows(ctx, "read the budget of tenant "+tenant, map[string]Item{"budget": budgetKey(tenant, month)})
	return readMonth(rows["budget"], month), err
}

// readMonth returns the amounts of a month, as 2026-11, and of its days.
func readMonth(row Item, month string) campaign.MonthSpending {
	s := campaign.MonthSpending{Total: getMoney(row, total), Days: map[string]campaign.Money{}}
	for name := range row {
		day, ok := strings.CutPrefix(name, dayPrefix)
		if amount := getMoney(row, name); ok && amount != 0 {
			s.Days[month+"-"+day] = amount
		}
	}
	return s
}

// changeBudgets returns the updates of the BUDGET rows whose amounts change, one for each
// month: a transaction can change a row only once. With a limit, the condition is that the
// new amount does not exceed it.
func (t *table) changeBudgets(tenant string, changes []campaign.BudgetChange) []types.TransactWriteItem {
	byMonth := map[string][]campaign.BudgetChange{}
	for _, c := range changes {
		byMonth[c.Month] = append(byMonth[c.Month], c)
	}
	items := make([]types.TransactWriteItem, 0, len(byMonth))
	for _, month := range slices.Sorted(maps.Keys(byMonth)) {
		items = append(items, t.changeBudget(tenant, month, byMonth[month]))
	}
	return items
}

func (t *table) changeBudget(tenant, month string, changes []campaign.BudgetChange) types.TransactWriteItem {
	var adds, conditions []string
	values := Item{":end": number(budgetEnd(month).Unix())}
	for _, c := range changes {
		attribute := amountOf(c)
		values[":"+attribute] = number(c.By)
		adds = append(adds, "#"+attribute+" :"+attribute)
		if c.Limit > 0 {
			condition, most := limitCondition(attribute, c)
			values[":most_"+attribute] = number(most)
			conditions = append(conditions, condition)
		}
	}
	update := "SET " + TTL + " = :end ADD " + strings.Join(adds, ", ")
	return t.update(budgetKey(tenant, month), update, strings.Join(conditions, " AND "), values)
}

func amountOf(c campaign.BudgetChange) string {
	if c.Date == "" {
		return total
	}
	return dayOf(c.Date)
}

// limitCondition returns the condition of a change with a limit, with the largest amount
// before it as most.
func limitCondition(attribute string, c campaign.BudgetChange) (condition string, most campaign.Money) {
	most = c.Limit - c.By
	condition = fmt.Sprintf("#%s <= :most_%[1]s", attribute)
	if most >= 0 {
		condition = fmt.Sprintf("(attribute_not_exists(#%s) OR %s)", attribute, condition)
	}
	return condition, most
}

func budgetEnd(month string) time.Time {
	first, _ := time.Parse("2006-01", month) // written by localtime.Day
	return first.Add(campaign.BudgetLife)
}

const unreserved = "attribute_not_exists(reserved)"

// updateUnreserved is updateBatch for a batch without a reservation. If the
// batch has one, nothing is changed and the batch is returned.
func (s *BatchStore) updateUnreserved(
	ctx context.Context, ref campaign.BatchRef, update, condition string, values Item,
) (bool, *campaign.Batch, error) {
	w := s.update(batchKey(ref), update, condition+" AND "+unreserved, values)
	there, updated, err := s.writeOrRead(ctx, "update batch "+ref.BatchID, w)
	if there["reserved"] == nil {
		return updated, nil, err
	}
	b, err := readBatch(ref, there)
	return false, &b, err
}

// releaseWith updates a batch, removes its reservation, and releases the unused part of it.
// The error wraps campaign.ErrLostRace if a condition failed, or if the reservation has changed since it
// was read.
func (s *BatchStore) releaseWith(
	ctx context.Context, b campaign.Batch, unused campaign.Money, update, condition string, values Item,
) error {
	return s.writeAll(ctx, "update batch "+b.BatchID, s.releasing(b, unused, update, condition, values)...)
}

// releasing returns the writes of releaseWith. The first one is that of the batch.
func (s *BatchStore) releasing(
	b campaign.Batch, unused campaign.Money, update, condition string, values Item,
) []types.TransactWriteItem {
	remove := " REMOVE "
	if _, after, removes := strings.Cut(update, "REMOVE "); removes {
		update, remove = strings.TrimSuffix(update, "REMOVE "+after), "REMOVE "+after+", "
	}
	values = with(Item{":reserved": number(b.Reserved), ":reservedOn": text(b.ReservedOn)}, values)
	condition += " AND reserved = :reserved AND reservedOn = :reservedOn"
	items := []types.TransactWriteItem{s.update(batchKey(b.BatchRef), update+remove+"reserved, reservedOn", condition, values)}
	if unused > 0 {
		items = append(items, s.changeBudgets(b.Tenant, campaign.Release(b.ReservedOn, unused))...)
	}
	return items
}

// rescheduleReserved is RescheduleBatch for a batch with a reservation. It moves the reservation
// to the day of the first opening from the due time on. The error is a *campaign.BudgetError if there is no room.
func (s *BatchStore) rescheduleReserved(ctx context.Context, b campaign.Batch, due time.Time, values Item) (moved bool, err error) {
	err = untilDecided(ctx, "reschedule batch "+b.BatchID, maxEdits, func(int) error {
		moved, err = s.tryReschedule(ctx, b, due, values)
		return err
	})
	return moved, err
}

// tryReschedule returns false if the batch has changed. The error wraps
// campaign.ErrLostRace after conflicts.
func (s *BatchStore) tryReschedule(ctx context.Context, b campaign.Batch, due time.Time, values Item) (bool, error) {
	day, limits, err := s.newBooking(ctx, b, due)
	if err != nil {
		return false, err
	}
	budget := s.changeBudgets(b.Tenant, b.ReserveOn(day, limits))
	const condition = reschedulable + " AND reserved = :reserved AND reservedOn = :on"
	moved := s.update(batchKey(b.BatchRef), rescheduling+", reservedOn = :day", condition,
		with(Item{":day": text(day), ":reserved": number(b.Reserved), ":on": text(b.ReservedOn)}, values))
	reasons, err := s.transact(ctx, append([]types.TransactWriteItem{moved}, budget...), rand.Text())
	switch {
	case err != nil:
		return false, fmt.Errorf("reschedule batch %s: %w", b.BatchID, err)
	case len(reasons) == 0:
		return true, nil
	case failedCondition(reasons[0]):
		return false, nil
	}
	return false, cmp.Or(s.room(ctx, b, day, limits), campaign.ErrLostRace)
}

// newBooking returns the date in whose budget a batch with a reservation is booked if it is due at an instant, and the
// limits of that budget.
func (t *table) newBooking(ctx context.Context, b campaign.Batch, due time.Time) (date string, limits campaign.Spending, err error) {
	limits, policy, err := t.bookingRules(ctx, b.Tenant)
	if err != nil {
		return "", limits, err
	}
	dates, err := reach.Bookings(ctx, &ContentStore{*t}, policy, []campaign.Batch{b}, due)
	return dates[b.BatchID], limits, err
}

// bookingRules reads consistently what decides about the booking of reservations: the limits of a tenant, zero for none,
// and the sending hours.
func (t *table) bookingRules(ctx context.Context, tenant string) (limits campaign.Spending, p reach.TenantHours, err error) {
	rows, err := t.rows(ctx, "read the budget and the sending hours of tenant "+tenant,
		map[string]Item{"billing": billingKey(tenant), "policy": tenantHoursKey(tenant)})
	if err != nil {
		return limits, p, err
	}
	if billing := readBilling(rows["billing"]); billing.Limited() {
		limits = billing.Limits
	}
	p, err = readTenantHours(rows["policy"])
	return limits, p, err
}

// CheckReservation returns the *campaign.BudgetError with which RescheduleBatch would refuse
// the batch at present, or nil.
func (s *SettingStore) CheckReservation(ctx context.Context, b campaign.Batch, due time.Time) error {
	if b.Reserved == 0 {
		return nil
	}
	day, limits, err := s.newBooking(ctx, b, due)
	if err != nil || day == b.ReservedOn || limits == (campaign.Spending{}) {
		return err
	}
	return s.room(ctx, b, day, limits)
}

// room returns a *campaign.BudgetError if there is no room for a batch's reservation on
// another day.
func (t *table) room(ctx context.Context, b campaign.Batch, day string, limits campaign.Spending) error {
	used, err := (&SettingStore{*t}).Spending(ctx, b.Tenant, day)
	if err != nil {
		return err
	}
	return b.BudgetOn(day, limits, used).Room()
}
