package dynamo

import (
	"context"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// The DAYS rows of a tenant contain the results of its messages by day. Every write of a row
// raises its version. The attribute logged counts the opt-outs that the log of opt-outs has, too.

func dayFields(c *campaign.DayCounts) fields {
	return fields{
		"sent": &c.Sent, "delivered": &c.Delivered, "read": &c.Read, "failed": &c.Failed, "notSent": &c.NotSent, "optedOut": &c.OptedOut,
	}
}

// AddDay adds counts to those of a tenant's day. Its opt-outs must be in the log of opt-outs. A call that the SDK repeats
// after a lost response adds twice, until the day is recounted.
func (s *OutcomeStore) AddDay(ctx context.Context, tenant, date string, changes campaign.DayCounts) error {
	add, values := []string{"#version :one"}, Item{":one": number(1), ":ttl": s.dayEnd(date)}
	for name, change := range some(dayFields(&changes).item()) {
		add = append(add, "#"+name+" :"+name)
		values[":"+name] = change
	}
	if changes.OptedOut != 0 {
		add = append(add, "#logged :optedOut")
	}
	w := s.update(dayKey(tenant, date), "ADD "+strings.Join(add, ", ")+" SET "+TTL+" = :ttl", "", values)
	return s.tryWrite(ctx, "count the results of tenant "+tenant, w)
}

func (s *OutcomeStore) dayEnd(date string) attribute {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		day = s.Now()
	}
	return number(day.Add(campaign.DayLife).Unix())
}

// Days returns the days of a tenant between two dates that have counts, in order, both
// dates included.
func (s *OutcomeStore) Days(ctx context.Context, tenant, from, to string) ([]campaign.Day, error) {
	rows, err := s.query(ctx, "read the days of tenant "+tenant, "pk = :pk AND sk BETWEEN :from AND :to",
		Item{":pk": dayKey(tenant, from)["pk"], ":from": text(from), ":to": text(to)})
	if err != nil {
		return nil, err
	}
	return readAll(rows, readDay), nil
}

func readDay(row Item) campaign.Day {
	return campaign.Day{
		Date: getText(row, "sk"), Logged: getInt(row, "logged"), Version: getInt(row, "version"),
		DayCounts: fill(campaign.DayCounts{}, dayFields, row),
	}
}

// SetDay replaces the counts of a day if its version is the one that was read. It reports
// whether it did.
func (s *OutcomeStore) SetDay(ctx context.Context, tenant string, d campaign.Day) (bool, error) {
	row := with(dayKey(tenant, d.Date), dayFields(&d.DayCounts).item())
	row["logged"], row["version"], row[TTL] = number(d.Logged), number(d.Version+1), s.dayEnd(d.Date)
	return s.write(ctx, "set the results of a day", s.putAfter(row, "version", d.Version))
}

// RecountCursor returns where the recount of days goes on, as SaveRecountCursor stored it, and its version: nil and 0 for
// none.
func (s *OutcomeStore) RecountCursor(ctx context.Context) (cursor []byte, version int, err error) {
	row, err := s.find(ctx, "read the cursor of the recount", recountKey())
	return getBinary(row, "cursor"), getInt(row, "version"), err
}

// SaveRecountCursor replaces the cursor of the recount if its version is the one that was read, and reports whether it
// did.
func (s *OutcomeStore) SaveRecountCursor(ctx context.Context, cursor []byte, version int) (bool, error) {
	row := with(recountKey(), Item{"cursor": bytesOf(cursor), "version": number(version + 1)})
	return s.write(ctx, "save the cursor of the recount", s.putAfter(row, "version", version))
}
