package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
)

func TestBill(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	c.ok("prices", "--tenant", id, "--basic", "0.05", "--single", "0.10", "--month", "1000")
	counts := map[string]campaign.DayCounts{
		"2026-10-01": {Sent: 1000, Delivered: 900, Read: 500, Failed: 10, NotSent: 5, OptedOut: 2},
		"2026-10-31": {Sent: 500, Delivered: 400, Read: 100},
		"2026-11-01": {Sent: 7},
	}
	for date, day := range counts {
		if err := c.rows().AddDay(t.Context(), id, date, day); err != nil {
			t.Fatal(err)
		}
	}
	got := c.ok("bill", "--tenant", id, "--month", "2026-10")
	aws, _ := got["aws"].(map[string]any)
	perMillion, _ := aws["dollarsPerMillion"].(float64)
	dollars, _ := aws["messages"].(float64)
	if math.Abs(dollars-perMillion*1500/1e6) > 1e-9 || perMillion == 0 {
		t.Errorf("%v dollars for 1500 messages at %v a million", dollars, perMillion)
	}
	delete(got, "aws")
	want := map[string]any{
		"tenant": id, "month": "2026-10", "reserved": "0.00",
		"prices": map[string]any{"tenant": id, "currency": "BRL", "basic": "0.05", "single": "0.10", "month": "1000.00"},
		"days": []any{
			map[string]any{"date": "2026-10-01", "sent": 1000.0, "delivered": 900.0, "read": 500.0, "failed": 10.0, "notSent": 5.0, "optedOut": 2.0},
			map[string]any{"date": "2026-10-31", "sent": 500.0, "delivered": 400.0, "read": 100.0, "failed": 0.0, "notSent": 0.0, "optedOut": 0.0},
		},
		"sent": 1500.0, "delivered": 1300.0, "read": 600.0, "failed": 10.0, "notSent": 5.0, "optedOut": 2.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bill (-want +got):\n%s", diff)
	}
	if got := c.run("bill", "--tenant", "nobody", "--month", "2026-10"); got.code != 1 || !strings.Contains(got.stderr, "tenant nobody not found") {
		t.Errorf("unknown tenant: exit %d, %s", got.code, got.stderr)
	}
	if got := c.run("bill", "--tenant", id, "--month", "2999-01"); got.code != 2 || !strings.Contains(got.stderr, "like 2026-11") {
		t.Errorf("month of the future: exit %d, %s", got.code, got.stderr)
	}
}

func TestDaysOf(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for now, want := range map[time.Time]int{
		first.Add(time.Hour):           1,
		first.AddDate(0, 0, 9):         10,
		first.AddDate(0, 0, 27):        28,
		first.AddDate(0, 1, 0):         28,
		first.AddDate(1, 0, 0):         28,
		first.Add(47 * time.Hour):      2,
		first.Add(28*24*time.Hour - 1): 28,
	} {
		if got := daysOf(first, now); got != want {
			t.Errorf("%v: %d days, want %d", now, got, want)
		}
	}
}
