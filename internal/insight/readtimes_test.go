package insight_test

import (
	"math"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/insight"
)

// readAt returns the timeline of a batch that goes on Monday at 10:40 in São Paulo, and whose messages are read later.
func readAt(after ...time.Duration) campaign.Timeline {
	start := time.Date(2026, 11, 23, 10, 40, 0, 0, localtime.SaoPaulo())
	first := func(int) campaign.Outcome { return "" }
	head := campaign.LedgerSummary{}.After([]campaign.Change{{Index: len(after), Outcome: campaign.OutcomeSent, At: start}}, first)
	for i, d := range after {
		head = head.After([]campaign.Change{{Index: i, Outcome: campaign.OutcomeRead, At: start.Add(d)}}, first)
	}
	return head.Timeline
}

// Messages are counted in the hour in which they were read. Those of a longer span are spread over its hours.
func TestReadTimes_Add(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after time.Duration
		want  map[int]float64 // by hour of the week from Monday on
	}{
		"within minutes":  {3 * time.Minute, map[int]float64{10: 1}},
		"half an hour":    {40 * time.Minute, map[int]float64{11: 1}},
		"of two hours":    {time.Hour, map[int]float64{11: 2. / 3, 12: 1. / 3}},
		"the same day":    {4 * time.Hour, map[int]float64{13: 1. / 9, 14: 1. / 3, 15: 1. / 3, 16: 2. / 9}},
		"two days after":  {48 * time.Hour, map[int]float64{58: 1. / 18, 59: 1. / 6, 60: 1. / 6, 61: 1. / 6, 62: 1. / 6, 63: 1. / 6, 64: 1. / 9}},
		"a week after":    {7 * 24 * time.Hour, nil},
		"late that night": {20*time.Hour + 50*time.Minute, map[int]float64{28: 1. / 9, 29: 1. / 3, 30: 1. / 3, 31: 2. / 9}},
	} {
		var got insight.ReadTimes
		got.Add(readAt(test.after))
		for hour := range 7 * 24 {
			if n := got[(hour/24+1)%7][hour%24]; math.Abs(n-test.want[hour]) > 1e-9 {
				t.Errorf("%s: %g read in hour %d, want %g", name, n, hour, test.want[hour])
			}
		}
	}
}

func TestReadTimes_Ranked(t *testing.T) {
	t.Parallel()
	var times insight.ReadTimes
	times.Add(readAt(0, time.Minute, 40*time.Minute))
	ranked := times.Ranked()
	if len(ranked) != 2 || ranked[0] != (insight.WeekHour{Day: time.Monday, Hour: 10, N: 2}) || ranked[1].Hour != 11 || times.Total() != 3 {
		t.Errorf("the hours are %v of %g messages", ranked, times.Total())
	}
}

func TestWeekHour_Next(t *testing.T) {
	t.Parallel()
	h := insight.WeekHour{Day: time.Tuesday, Hour: 10}
	for from, want := range map[string]string{
		"2026-11-27T12:00": "2026-12-01T10:00", "2026-12-01T09:59": "2026-12-01T10:00", "2026-12-01T10:00": "2026-12-01T10:00",
		"2026-12-01T10:01": "2026-12-08T10:00", "2026-12-29T11:00": "2027-01-05T10:00",
	} {
		at, err := localtime.Parse(from)
		if got := h.Next(at).Format("2006-01-02T15:04"); err != nil || got != want {
			t.Errorf("from %s: %s, want %s", from, got, want)
		}
	}
}
