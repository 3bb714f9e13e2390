package prove

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

// safetyNets is what sweep works on: nothing is due, and each net can be switched off.
type safetyNets struct {
	sweep.Store

	calls                               float64 // of sweep in 10 minutes
	due, deliveries, recounts, segments error
}

func (s *safetyNets) Due(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return failing(s.due)
}

func (s *safetyNets) DueDeliveries(context.Context, int, time.Time) iter.Seq2[overdue.Item, error] {
	return failing(s.deliveries)
}

func (*safetyNets) Resumed(context.Context) ([]string, error) { return nil, nil }

// failing yields an error, if there is one.
func failing(err error) iter.Seq2[overdue.Item, error] {
	return func(yield func(overdue.Item, error) bool) {
		if err != nil {
			yield(overdue.Item{}, err)
		}
	}
}

// turn sweeps once, deletes unused segments, and returns what CloudWatch measures of it.
func (s *safetyNets) turn(t *testing.T) measured {
	t.Helper()
	sweeper := &sweep.Sweeper{
		Store: s, Shards: 1, DeliveryShards: 1, Now: time.Now,
		Recount: func(context.Context, time.Time) error { return s.recounts },
		Clean:   func(context.Context) (int, error) { return 0, s.segments },
	}
	var log bytes.Buffer
	call := func(ctx context.Context, _ []byte) ([]byte, error) {
		return nil, errors.Join(sweeper.Sweep(ctx, sweep.Section{}), sweeper.CleanSegments(ctx))
	}
	seen := measured{}
	if s.calls == 0 {
		return seen
	}
	_, _ = metrics.NewHandler(call, &log, time.Now).Invoke(t.Context(), nil) // the error of a net that is off
	for line := range strings.Lines(log.String()) {
		addEmbedded(line, time.Time{}, seen)
	}
	seen.add(series{Namespace: "AWS/Lambda", Metric: "Invocations", Of: "SweepFunction"}, s.calls)
	return seen
}

// Each safety net of sweep is switched off in turn: its alarm fires, and no other. Nets without work turn.
func TestTemplate_SafetyNets(t *testing.T) {
	t.Setenv("STACK", stackName)
	off := errors.New("switched off")
	var silence []alarm
	for _, a := range ofTemplate(t) {
		if a.OfSilence {
			silence = append(silence, a)
		}
	}
	all := []string{"DeliveriesTurnsAlarm", "DueTurnsAlarm", "RecountTurnsAlarm", "SegmentsTurnsAlarm", "SweepSilentAlarm"}
	if len(silence) != len(sweep.Nets())+1 {
		t.Errorf("%d alarms of silence, want one for each of %v and one for sweep", len(silence), sweep.Nets())
	}
	for name, test := range map[string]struct { //nolint:paralleltest // the test sets a variable of the process
		nets safetyNets
		want []string
	}{
		"all turn":                      {safetyNets{calls: 40}, nil},
		"due batches":                   {safetyNets{calls: 40, due: off}, []string{"DueTurnsAlarm"}},
		"deliveries":                    {safetyNets{calls: 40, deliveries: off}, []string{"DeliveriesTurnsAlarm"}},
		"recount":                       {safetyNets{calls: 40, recounts: off}, []string{"RecountTurnsAlarm"}},
		"segments":                      {safetyNets{calls: 40, segments: off}, []string{"SegmentsTurnsAlarm"}},
		"sweep is not called":           {safetyNets{}, all},
		"three of four rules are off":   {safetyNets{calls: 10}, []string{"SweepSilentAlarm"}},
		"one of four rules is off":      {safetyNets{calls: 30}, nil},
		"all fail, as without a policy": {safetyNets{calls: 40, due: off, deliveries: off, recounts: off, segments: off}, all[:4]},
	} {
		t.Run(name, func(t *testing.T) {
			seen, fired := test.nets.turn(t), []string(nil)
			for _, a := range silence {
				if _, fires := a.fires(seen); fires {
					fired = append(fired, a.Name)
				}
			}
			if diff := cmp.Diff(test.want, fired); diff != "" {
				t.Errorf("alarms that fire (-want +got):\n%s", diff)
			}
		})
	}
}
