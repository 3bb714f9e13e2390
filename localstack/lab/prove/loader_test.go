package prove

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
)

// loader dispatches a large campaign. In the second and in the last tenth it takes turns with a small
// campaign, and compares their calls. Other load of the machine changes the processor time of a call by
// more than half, and the sending of the first batches is such a load: only calls at the same time show what
// the size of a campaign costs.
type loader struct {
	service
	watched     *processes
	large       *loaded
	others      []uint64 // numbers for small campaigns
	small       []*loaded
	comparisons []comparison
}

// loaded is a campaign of full batches.
type loaded struct {
	id       string
	left     [][]uint64 // not yet accepted
	accepted int        // batches
	spent    time.Duration
}

// comparison is the processor time of a call of the large campaign and of a small one, at the same time.
type comparison struct{ large, small time.Duration }

const (
	// smallBatches are the batches of a small campaign: one that creates it, and those that are compared.
	smallBatches = 1 + turns*smallTurn
	turns        = 3
	smallTurn    = 8
)

func newLoader(s service, watched *processes, numbers, others []uint64) *loader {
	return &loader{service: s, watched: watched, large: newLoaded(numbers), others: others}
}

func newLoaded(numbers []uint64) *loaded {
	return &loaded{id: random.UUID(), left: fullBatches(numbers)}
}

func fullBatches(numbers []uint64) [][]uint64 {
	return slices.Collect(slices.Chunk(numbers, campaign.MaxMessages))
}

// dispatchAll dispatches the numbers in full batches.
func (s service) dispatchAll(ctx context.Context, id string, numbers []uint64) error {
	batches := fullBatches(numbers)
	if err := s.dispatchBatches(ctx, id, 1, batches[:1]); err != nil { // it creates the campaign
		return err
	}
	return s.dispatchBatches(ctx, id, 2, batches[1:])
}

// dispatchBatches dispatches batches concurrently. first is the number of the first one.
func (s service) dispatchBatches(ctx context.Context, id string, first int, batches [][]uint64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dispatchers)
	for i, batch := range batches {
		group.Go(func() error { return s.dispatch(ctx, id, first+i, batch) })
	}
	return group.Wait()
}

// run dispatches the large campaign by tenths.
func (l *loader) run(ctx context.Context) error {
	all := len(l.large.left)
	tenth := max(all/10, 1)
	if err := l.turn(ctx, l.large, 1); err != nil {
		return err
	}
	for tenths := 1; len(l.large.left) > 0; tenths++ {
		step := l.turn
		if tenths == 2 || len(l.large.left) <= tenth {
			step = l.compare
		}
		if err := step(ctx, l.large, tenth); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "  %d of %d batches accepted\n", l.large.accepted, all)
	}
	return nil
}

// turn dispatches the next batches of a campaign concurrently.
func (l *loader) turn(ctx context.Context, c *loaded, batches int) error {
	next := c.left[:min(batches, len(c.left))]
	before := l.watched.spent("dispatch")
	err := l.dispatchBatches(ctx, c.id, c.accepted+1, next)
	c.spent += l.watched.spent("dispatch") - before
	c.left, c.accepted = c.left[len(next):], c.accepted+len(next)
	return err
}

// compare dispatches the next batches of the large campaign in turns with a small campaign.
func (l *loader) compare(ctx context.Context, large *loaded, batches int) error {
	small := newLoaded(l.others[:smallBatches*campaign.MaxMessages])
	l.others, l.small = l.others[smallBatches*campaign.MaxMessages:], append(l.small, small)
	if err := l.turn(ctx, small, 1); err != nil {
		return err
	}
	large.spent, small.spent = 0, 0
	before := large.accepted
	for range turns {
		if err := l.turn(ctx, large, (batches+turns-1)/turns); err != nil {
			return err
		}
		if err := l.turn(ctx, small, smallTurn); err != nil {
			return err
		}
	}
	l.comparisons = append(l.comparisons, comparison{
		large.spent / time.Duration(large.accepted-before), small.spent / (turns * smallTurn),
	})
	return nil
}

// record judges the last tenth.
func (l *loader) record(t *testing.T) {
	t.Helper()
	const what = "processor time of a dispatch call, the last tenth by a small campaign's"
	if len(l.comparisons) < 2 {
		record(t, false, what, "too few messages")
		return
	}
	second, last := l.comparisons[0], l.comparisons[len(l.comparisons)-1]
	record(t, last.ratio() <= maxGrowth, what, fmt.Sprintf("%s; in the second tenth %s", last, second))
}

func (c comparison) ratio() float64 { return float64(c.large) / float64(max(c.small, 1)) }

func (c comparison) String() string {
	return fmt.Sprintf("%s by %s: %.2f", c.large.Round(10*time.Microsecond), c.small.Round(10*time.Microsecond), c.ratio())
}
