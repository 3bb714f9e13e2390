package sweep

import (
	"context"
	"errors"

	"campaign-dispatch/internal/base/metrics"
)

// Net is a safety net: work of the sweep that nothing else repeats. An alarm fires when a net no longer turns.
type Net string

// The nets.
const (
	NetDue        Net = "due"        // due batches, campaigns and submissions
	NetDeliveries Net = "deliveries" // due webhooks
	NetRecount    Net = "recount"    // the counts of days
	NetSegments   Net = "segments"   // unused segments of lists
)

// Nets returns all nets.
func Nets() []Net { return []Net{NetDue, NetDeliveries, NetRecount, NetSegments} }

// turned counts a turn of a net that ended without an error. A net without work turns too.
func turned(ctx context.Context, n Net, errs ...error) {
	if errors.Join(errs...) == nil {
		metrics.AddOf(ctx, metrics.SweepTurn, metrics.OfNet, string(n), 1)
	}
}

// CleanSegments deletes the unused segments of lists.
func (s *Sweeper) CleanSegments(ctx context.Context) error {
	_, err := s.Clean(ctx)
	turned(ctx, NetSegments, err)
	return err
}

func errorsOf(sweeps []*shardSweep) (errs []error) {
	for _, r := range sweeps {
		errs = append(errs, r.err)
	}
	return errs
}
