package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/operator/costs"
)

const monthForm = "2006-01"

func billCommand(flags *flag.FlagSet) action {
	tenant := flags.String("tenant", "", tenantUsage)
	month := flags.String("month", "", "`MONTH` in São Paulo, like 2026-11 (default: the current one)")
	return func(ctx context.Context, s *stack) (answer, error) {
		now := s.service.Now()
		of := cmp.Or(*month, campaign.MonthOf(localtime.Day(now)))
		first, err := time.ParseInLocation(monthForm, of, localtime.SaoPaulo())
		if err != nil || first.After(now) {
			return answer{}, usageError{errors.New("use a month of the past or the current one for --month, like 2026-11")}
		}
		b, err := s.bill(ctx, *tenant, of)
		if err != nil {
			return answer{}, err
		}
		b.estimate = costs.Of(b.sum.Sent, b.ofAll/daysOf(first, now))
		return b.answer(s), nil
	}
}

// daysOf returns the number of days of a month that have begun.
func daysOf(first, now time.Time) int {
	last := first.AddDate(0, 1, -1)
	if now.Before(last) {
		last = now.In(first.Location())
	}
	return last.Day()
}

// monthBill is what a tenant sent in a month, with its prices.
type monthBill struct {
	tenant, month string
	days          []campaign.Day
	sum           campaign.DayCounts
	ofAll         int // messages that all tenants sent in the month
	billing       campaign.Billing
	reserved      campaign.Money // of the tenant's budget
	estimate      costs.Estimate
}

func (s *stack) bill(ctx context.Context, tenant, month string) (monthBill, error) {
	b := monthBill{tenant: tenant, month: month}
	tenants, err := s.store.Tenants(ctx)
	if err != nil {
		return b, err
	}
	known := false
	for _, t := range tenants {
		days, err := s.store.Days(ctx, t.ID, month+"-01", month+"-31")
		if err != nil {
			return b, err
		}
		sum := campaign.DayCounts{}
		for _, day := range days {
			sum = sum.Plus(day.DayCounts)
		}
		b.ofAll += sum.Sent
		if t.ID == tenant {
			b.days, b.sum, known = days, sum, true
		}
	}
	if !known {
		return b, fmt.Errorf("tenant %s not found: %s shows all", tenant, s.next("list"))
	}
	if b.billing, err = s.store.Billing(ctx, tenant); err != nil {
		return b, err
	}
	spending, err := s.store.MonthSpending(ctx, tenant, month)
	b.reserved = spending.Total
	return b, err
}

func (b monthBill) answer(s *stack) answer {
	prices := billingAnswer(b.tenant, b.billing)
	a := answer{Next: s.next("list", "tenant", b.tenant) + " shows the resources of the tenant"}
	a.Lines = append(a.Lines, "tenant "+b.tenant+", "+b.month, "", "day\tsent\tdelivered\tread\tfailed\tnot sent\topted out")
	days := make([]map[string]any, 0, len(b.days))
	for _, day := range b.days {
		a.Lines = append(a.Lines, countsLine(day.Date, day.DayCounts))
		days = append(days, countsData(map[string]any{"date": day.Date}, day.DayCounts))
	}
	a.Lines = append(a.Lines, countsLine("all", b.sum), "")
	a.Lines = append(a.Lines, prices.Lines[1:]...)
	a.Lines = append(a.Lines, "reserved of the month's limit:\t"+campaign.Currency+" "+b.reserved.String(), "")
	a.Lines = append(a.Lines, b.estimateLines()...)
	a.Data = countsData(map[string]any{
		"tenant": b.tenant, "month": b.month, "days": days, "prices": prices.Data, "reserved": b.reserved.String(),
		"aws": map[string]any{
			"currency": "USD", "messages": b.estimate.Messages, "transfer": b.estimate.Transfer,
			"dollarsPerMillion": b.estimate.Load.Dollars, "assumptions": costs.Assumptions,
		},
	}, b.sum)
	return a
}

func (b monthBill) estimateLines() []string {
	e := b.estimate
	lines := []string{
		fmt.Sprintf("AWS, estimated: %.2f dollars, and %.2f for data transfer", e.Messages, e.Transfer),
		fmt.Sprintf("  %d sent messages at %.1f dollars a million, as at %d messages a day of all tenants", b.sum.Sent, e.Load.Dollars, e.Load.Day),
	}
	for _, assumption := range costs.Assumptions {
		lines = append(lines, "  "+assumption)
	}
	return lines
}

func countsLine(name string, c campaign.DayCounts) string {
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d", name, c.Sent, c.Delivered, c.Read, c.Failed, c.NotSent, c.OptedOut)
}

func countsData(data map[string]any, c campaign.DayCounts) map[string]any {
	data["sent"], data["delivered"], data["read"] = c.Sent, c.Delivered, c.Read
	data["failed"], data["notSent"], data["optedOut"] = c.Failed, c.NotSent, c.OptedOut
	return data
}
