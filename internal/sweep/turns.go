package sweep

import (
	"context"
	"fmt"

	"campaign-dispatch/internal/base/metrics"
)

// net is a safety net: work of the sweep that nothing else repeats. An alarm fires when a net completes no more runs.
type net string

const (
	netDue        net = "due"        // due batches, campaigns and submissions, by section
	netDeliveries net = "deliveries" // due webhooks, by section
	netRecount    net = "recount"    // the counts of days
	netSegments   net = "segments"   // unused segments of lists
)

// turned counts a run of a net, unless it failed. A net without work completes its runs too.
func turned(ctx context.Context, n net, err error) {
	if err == nil {
		metrics.AddOf(ctx, metrics.SweepTurn, metrics.OfNet, string(n), 1)
	}
}

// turnedIn counts a run of a net in a section, if all its shards were read to their end. It is counted by section: no other
// section has the items of its tenants.
func turnedIn(ctx context.Context, n net, section Section, sweeps []*shardSweep) {
	for _, r := range sweeps {
		if r.cut || r.err != nil {
			return
		}
	}
	turned(ctx, net(fmt.Sprintf("%s-%d", n, section.Number)), nil)
}

// CleanSegments deletes the unused segments of lists.
func (s *Sweeper) CleanSegments(ctx context.Context) error {
	_, err := s.Clean(ctx)
	turned(ctx, netSegments, err)
	return err
}

func errorsOf(sweeps []*shardSweep) (errs []error) {
	for _, r := range sweeps {
		errs = append(errs, r.err)
	}
	return errs
}
