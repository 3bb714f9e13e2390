package rollout

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/rollout/bucket"
)

// The limits of a plan.
const (
	// FirstWave is the number of people that a proposed first wave has, as nearly as the cells allow. Of 10,000 people
	// about 4,500 get a message at once; twice a limit of 1 % is seen among 1,500.
	FirstWave = 10_000
	maxWaves  = 5
	// MaxDuration is the time from the first wave's to the last one's. What has not gone by then is discarded.
	MaxDuration = 14 * 24 * time.Hour
	// ProposedSoak is the proposed time between two waves.
	ProposedSoak = 4 * time.Hour
	minSoak      = 15 * time.Minute
	maxSoak      = 72 * time.Hour
)

// rampUntil ends the proposed second wave: a tenth of the people.
const rampUntil = bucket.Count / 10

// bounds end the cells of a divided file: each is the first bucket after its cell. Up to a tenth, each cell makes the first
// wave about a seventh larger.
var bounds = []int{50, 58, 66, 76, 87, 100, 115, 132, 152, 175, 200, 230, 265, 305, 350, 400, 460, 530, 610, 700, 800, 900, rampUntil, 2500, 5000, bucket.Count}

// Cells returns the number of cells of a divided file.
func Cells() int { return len(bounds) }

// Until returns the first bucket after a cell, from 0.
func Until(cell int) int { return bounds[cell] }

// CellOf returns the cell of a bucket, from 0.
func CellOf(bucket int) int {
	cell, found := slices.BinarySearch(bounds, bucket)
	if found {
		cell++
	}
	return cell
}

// Plan divides the people of a campaign's file among waves. The zero Plan has no waves: all people are sent their message
// at once.
type Plan struct {
	Waves []Wave `json:"waves,omitempty"`
	// Soak is the time that the results of a wave are given before a person looks at them and opens the next one.
	Soak time.Duration `json:"soak,omitempty"`
}

// Wave is a wave of a Plan.
type Wave struct {
	Until int `json:"until"` // the first bucket after the wave, the end of a cell
	// NotBefore is the earliest time at which a person may open the wave, zero for any. The first wave has none.
	NotBefore time.Time `json:"notBefore,omitzero"`
}

// InWaves reports whether the campaign goes in waves.
func (p Plan) InWaves() bool { return len(p.Waves) > 0 }

// WaveOf returns the wave of a cell, from 1. It is 0 without waves.
func (p Plan) WaveOf(cell int) int {
	for n, w := range p.Waves {
		if bounds[cell] <= w.Until {
			return n + 1
		}
	}
	return 0
}

// Terms returns what a person approves of a plan, nothing of one without waves.
func (p Plan) Terms() (terms []string) {
	if !p.InWaves() {
		return nil
	}
	for _, w := range p.Waves {
		terms = append(terms, fmt.Sprintf("wave until %d not before %s", w.Until, w.NotBefore.UTC().Format(time.RFC3339)))
	}
	return append(terms, "soak "+p.Soak.String())
}

// People returns the number of people of each wave. people are those of each cell.
func (p Plan) People(people []int) []int {
	all := make([]int, len(p.Waves))
	for cell, n := range people {
		if wave := p.WaveOf(cell); wave > 0 {
			all[wave-1] += n
		}
	}
	return all
}

// Proposed returns the plan that is proposed: about FirstWave people first, then a tenth of all if that is at least as many
// people again, then the rest. It is zero if a wave had nobody. people are those of each cell.
func Proposed(people []int) Plan {
	first := firstUntil(people)
	p := Plan{Soak: ProposedSoak, Waves: []Wave{{Until: first}, {Until: rampUntil}, {Until: bucket.Count}}}
	if of := p.People(people); of[1] < of[0] {
		p.Waves = slices.Delete(p.Waves, 1, 2)
	}
	if p.Check(people) != nil {
		return Plan{}
	}
	return p
}

// firstUntil returns the end of the first wave that has the number of people nearest to FirstWave, at most a tenth of all.
func firstUntil(people []int) int {
	best, sum, off := rampUntil, 0, -1
	for cell, n := range people {
		sum += n
		if d := max(sum-FirstWave, FirstWave-sum); bounds[cell] <= rampUntil && (off < 0 || d < off) {
			best, off = bounds[cell], d
		}
	}
	return best
}

// Firsts returns the ends of the first waves among which a person can choose: those with at least a tenth of FirstWave.
func Firsts(people []int) (all []Wave) {
	sum := 0
	for cell, n := range people {
		if sum += n; bounds[cell] <= rampUntil && sum >= FirstWave/10 {
			all = append(all, Wave{Until: bounds[cell]})
		}
	}
	return all
}

var errInvalid = errors.New("the plan is not one of this file")

// Check returns an error if the plan cannot divide a file. people are those of each cell. The plan without waves is that
// of any file.
func (p Plan) Check(people []int) error {
	if !p.InWaves() {
		return nil
	}
	last := p.Waves[len(p.Waves)-1]
	if len(people) != len(bounds) || len(p.Waves) < 2 || len(p.Waves) > maxWaves || last.Until != bucket.Count ||
		p.Soak < minSoak || p.Soak > maxSoak || slices.Contains(p.People(people), 0) || !p.Waves[0].NotBefore.IsZero() {
		return errInvalid
	}
	for n, w := range p.Waves {
		if !slices.Contains(bounds, w.Until) || n > 0 && w.Until <= p.Waves[n-1].Until {
			return errInvalid
		}
	}
	return nil
}

// Start is when a wave goes at the earliest.
type Start struct {
	Due  time.Time // by the plan alone
	Goes time.Time // when its first message goes: the hours are open
}

// Starts returns when each wave goes. first is when the first one is due; opens returns when the hours are open next, at an
// instant or after it.
func (p Plan) Starts(first time.Time, opens func(time.Time) time.Time) []Start {
	starts, at := make([]Start, len(p.Waves)), first
	for n, w := range p.Waves {
		if w.NotBefore.After(at) {
			at = w.NotBefore
		}
		starts[n] = Start{at, opens(at)}
		at = starts[n].Goes.Add(p.Soak)
	}
	return starts
}
