package rollout_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// spread returns the people of each cell if all buckets have as many.
func spread(people int) []int {
	cells, before := make([]int, rollout.Cells()), 0
	for n := range cells {
		until := people * rollout.Until(n) / bucket.Count
		cells[n], before = until-before, until
	}
	return cells
}

func TestProposed_Sizes(t *testing.T) {
	t.Parallel()
	for people, want := range map[int][]int{
		100_000:   {10_000, 90_000},
		120_000:   {9_600, 110_400},
		150_000:   {10_500, 139_500},
		300_000:   {10_500, 19_500, 270_000},
		1_000_000: {10_000, 90_000, 900_000},
		2_000_000: {10_000, 190_000, 1_800_000},
	} {
		cells := spread(people)
		p := rollout.Proposed(cells)
		if diff := cmp.Diff(want, p.People(cells)); diff != "" || p.Check(cells) != nil {
			t.Errorf("%d people: %v (-want +got):\n%s", people, p.Check(cells), diff)
		}
	}
}

// The first wave is near to what is wanted for every number of people, and all of them are in a wave.
func TestProposed_EachSize(t *testing.T) {
	t.Parallel()
	for people := 100_000; people <= 2_000_000; people += 997 {
		cells := spread(people)
		of, sum := rollout.Proposed(cells).People(cells), 0
		for _, n := range of {
			sum += n
		}
		if off := of[0] - rollout.FirstWave; sum != people || max(off, -off) > rollout.FirstWave/10 {
			t.Fatalf("%d people: %v", people, of)
		}
	}
}

// A file that is too small for waves gets no plan.
func TestProposed_EmptyWave(t *testing.T) {
	t.Parallel()
	if p := rollout.Proposed(spread(5)); p.InWaves() {
		t.Errorf("a plan for five people: %v", p)
	}
}

func TestCellOf(t *testing.T) {
	t.Parallel()
	for number := range bucket.Count {
		cell := rollout.CellOf(number)
		if number >= rollout.Until(cell) || cell > 0 && number < rollout.Until(cell-1) {
			t.Fatalf("bucket %d is in cell %d until %d", number, cell, rollout.Until(cell))
		}
	}
}

func TestPlan_Check(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	waves := func(untils ...int) (all []rollout.Wave) {
		for _, until := range untils {
			all = append(all, rollout.Wave{Until: until})
		}
		return all
	}
	cells := spread(1_000_000)
	for name, test := range map[string]struct {
		plan  rollout.Plan
		cells []int
		valid bool
	}{
		"at once":               {rollout.Plan{}, nil, true},
		"two waves":             {rollout.Plan{Waves: waves(100, 10_000), Soak: time.Hour}, cells, true},
		"five waves":            {rollout.Plan{Waves: waves(100, 1000, 2500, 5000, 10_000), Soak: time.Hour}, cells, true},
		"one wave":              {rollout.Plan{Waves: waves(10_000), Soak: time.Hour}, cells, false},
		"six waves":             {rollout.Plan{Waves: waves(50, 100, 1000, 2500, 5000, 10_000), Soak: time.Hour}, cells, false},
		"not all people":        {rollout.Plan{Waves: waves(100, 5000), Soak: time.Hour}, cells, false},
		"no end of a cell":      {rollout.Plan{Waves: waves(99, 10_000), Soak: time.Hour}, cells, false},
		"another order":         {rollout.Plan{Waves: waves(1000, 100, 10_000), Soak: time.Hour}, cells, false},
		"twice the same":        {rollout.Plan{Waves: waves(100, 100, 10_000), Soak: time.Hour}, cells, false},
		"soak too short":        {rollout.Plan{Waves: waves(100, 10_000), Soak: time.Minute}, cells, false},
		"soak too long":         {rollout.Plan{Waves: waves(100, 10_000), Soak: 73 * time.Hour}, cells, false},
		"file is not divided":   {rollout.Plan{Waves: waves(100, 10_000), Soak: time.Hour}, nil, false},
		"wave without people":   {rollout.Plan{Waves: waves(50, 58, 10_000), Soak: time.Hour}, slices.Concat([]int{5, 0}, spread(1_000_000)[2:]), false},
		"first wave not before": {rollout.Plan{Waves: []rollout.Wave{{Until: 100, NotBefore: at}, {Until: 10_000}}, Soak: time.Hour}, cells, false},
		"last wave not before":  {rollout.Plan{Waves: []rollout.Wave{{Until: 100}, {Until: 10_000, NotBefore: at}}, Soak: time.Hour}, cells, true},
	} {
		if err := test.plan.Check(test.cells); (err == nil) != test.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlan_Starts(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 11, 27, 20, 0, 0, 0, time.UTC)
	monday := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	opens := func(at time.Time) time.Time { // closed from Friday 22:00 to Monday 9:00
		if at.After(friday.Add(2*time.Hour)) && at.Before(monday) {
			return monday
		}
		return at
	}
	p := rollout.Plan{Soak: 4 * time.Hour, Waves: []rollout.Wave{{Until: 100}, {Until: 1000}, {Until: 10_000, NotBefore: monday.AddDate(0, 0, 1)}}}
	tuesday := monday.AddDate(0, 0, 1)
	want := []rollout.Start{{friday, friday}, {friday.Add(4 * time.Hour), monday}, {tuesday, tuesday}}
	if diff := cmp.Diff(want, p.Starts(friday, opens)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever a person approves of a plan changes its terms.
func TestPlan_Terms(t *testing.T) {
	t.Parallel()
	plan := func(change func(p *rollout.Plan)) []string {
		p := rollout.Proposed(spread(1_000_000))
		change(&p)
		return p.Terms()
	}
	was := plan(func(*rollout.Plan) {})
	for name, change := range map[string]func(p *rollout.Plan){
		"first wave": func(p *rollout.Plan) { p.Waves[0].Until = 50 },
		"time":       func(p *rollout.Plan) { p.Waves[1].NotBefore = time.Unix(1, 0) },
		"soak":       func(p *rollout.Plan) { p.Soak++ },
		"fewer":      func(p *rollout.Plan) { p.Waves = p.Waves[1:] },
		"none":       func(p *rollout.Plan) { *p = rollout.Plan{} },
	} {
		if slices.Equal(was, plan(change)) {
			t.Errorf("%s: the terms are the same", name)
		}
	}
}
