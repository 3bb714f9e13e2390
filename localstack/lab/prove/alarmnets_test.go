package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/insight/recount"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/internal/sweep/overdue"
)

// safetyNets is what sweep works on: nothing is due, and each net can be switched off.
type safetyNets struct {
	sweep.Store

	rules                               []int // the parts whose rules call sweep
	due, deliveries, recounts, segments error
	days                                error // of the only tenant that is recounted
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

// countedDays is what a recount works on: a tenant without campaigns that an earlier call has left.
type countedDays struct {
	recount.Store
	*safetyNets
}

func (s countedDays) Tenants(context.Context) ([]campaign.Tenant, error) { return nil, s.recounts }

func (countedDays) RecountCursor(context.Context) (cursor []byte, version int, err error) {
	return []byte(`{"Left":["acme"]}`), 1, nil
}

func (countedDays) SaveRecountCursor(context.Context, []byte, int) (bool, error) { return true, nil }

func (s countedDays) Days(context.Context, string, string, string) ([]campaign.Day, error) {
	return nil, s.days
}

func (countedDays) LoggedOptOuts(context.Context, string, time.Time) iter.Seq2[reaction.LoggedOptOut, error] {
	return func(func(reaction.LoggedOptOut, error) bool) {}
}

func (countedDays) ListCampaigns(context.Context, string, string, int32) ([]campaign.Listed, error) {
	return nil, nil
}

func (countedDays) Standings(context.Context, string, []string) (map[string]campaign.Summary, error) {
	return map[string]campaign.Summary{}, nil
}

// turn lets each rule call sweep, deletes unused segments, and returns what CloudWatch measures of it.
func (s *safetyNets) turn(t *testing.T) measured {
	t.Helper()
	counts := &recount.Recounter{Store: countedDays{safetyNets: s}, Now: time.Now, Random: func(int) int { return 0 }}
	sweeper := &sweep.Sweeper{
		Store: s, Shards: dynamo.DueShards, DeliveryShards: dynamo.DeliveryShards, Now: time.Now, Recount: counts.Recount,
		Clean: func(context.Context) (int, error) { return 0, s.segments },
	}
	seen := measured{}
	called := func(call func(ctx context.Context) error) {
		var log bytes.Buffer
		handler := metrics.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) { return nil, call(ctx) }, &log, time.Now)
		_, _ = handler.Invoke(t.Context(), nil) // the error of a net that is off
		for line := range strings.Lines(log.String()) {
			addEmbedded(line, time.Time{}, seen)
		}
	}
	for _, part := range s.rules {
		called(func(ctx context.Context) error {
			return sweeper.Sweep(ctx, sweep.Section{Number: part, Of: dynamo.DueSections})
		})
		seen.add(series{Namespace: "AWS/Lambda", Metric: "Invocations", Of: "SweepFunction"}, 10) // in 10 minutes
	}
	if len(s.rules) > 0 {
		called(sweeper.CleanSegments)
	}
	return seen
}

// Each safety net of sweep is switched off in turn, and each rule that calls it: its alarm fires, and no other. Nets without work
// complete their runs.
func TestTemplate_SafetyNets(t *testing.T) {
	t.Setenv("STACK", stackName)
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "SweepFunction")
	off, all, parts := errors.New("switched off"), ofTemplate(t), []int{0, 1, 2, 3}
	silent := []string{"DeliveriesTurnsAlarm", "DueTurnsAlarm", "RecountTurnsAlarm", "SegmentsTurnsAlarm", "SweepSilentAlarm"}
	for name, test := range map[string]struct { //nolint:paralleltest // the test sets variables of the process
		nets safetyNets
		want []string
	}{
		"all complete their runs":       {safetyNets{rules: parts}, nil},
		"due batches":                   {safetyNets{rules: parts, due: off}, []string{"DueTurnsAlarm"}},
		"deliveries":                    {safetyNets{rules: parts, deliveries: off}, []string{"DeliveriesTurnsAlarm"}},
		"recount":                       {safetyNets{rules: parts, recounts: off}, []string{"RecountTurnsAlarm"}},
		"recount of a tenant":           {safetyNets{rules: parts, days: off}, []string{"RecountFailedAlarm"}},
		"segments":                      {safetyNets{rules: parts, segments: off}, []string{"SegmentsTurnsAlarm"}},
		"sweep is not called":           {safetyNets{}, silent},
		"one of four rules is off":      {safetyNets{rules: []int{0, 1, 3}}, silent[:2]},
		"that of the recount":           {safetyNets{rules: parts[1:]}, silent[:3]},
		"two of four":                   {safetyNets{rules: parts[:2]}, silent[:2]},
		"three of four":                 {safetyNets{rules: parts[:1]}, append(slices.Clone(silent[:2]), "SweepSilentAlarm")},
		"all fail, as without a policy": {safetyNets{rules: parts, due: off, deliveries: off, recounts: off, segments: off}, silent[:4]},
	} {
		t.Run(name, func(t *testing.T) {
			seen, fired := test.nets.turn(t), []string(nil)
			for _, a := range all {
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

// Each net that sweep counts is judged by an alarm, and none is judged that it does not count.
func TestTemplate_EveryNet(t *testing.T) {
	t.Setenv("STACK", stackName)
	counted, judged := map[string]bool{}, map[string]bool{}
	for s := range (&safetyNets{rules: []int{0, 1, 2, 3}}).turn(t) {
		if s.Metric == string(metrics.SweepTurn) && strings.HasPrefix(s.Of, stackName+"/") {
			counted[s.Of] = true
		}
	}
	for _, a := range ofTemplate(t) {
		for _, s := range a.all() {
			if s.Metric == string(metrics.SweepTurn) {
				judged[s.Of] = true
			}
		}
	}
	if diff := cmp.Diff(counted, judged); diff != "" || len(counted) == 0 {
		t.Errorf("nets that are counted, and that alarms judge (-counted +judged):\n%s", diff)
	}
}

// The provider's events stop, which is seen where many messages are sent: not in a quiet night, and not while events arrive,
// however few.
func TestTemplate_EventsSilent(t *testing.T) {
	t.Parallel()
	a := alarmOfTemplate(t, "EventsSilentAlarm")
	count := func(m metrics.Metric, of string) series {
		return series{Namespace: metrics.Namespace, Metric: string(m), Of: of}
	}
	sent, applied := count(metrics.MessagesSent, "SendFunction"), count(metrics.EventsApplied, "OutcomesFunction")
	clicks, dropped := count(metrics.ClicksApplied, "OutcomesFunction"), count(metrics.EventsDropped, "EventsFunction")
	for _, test := range []struct {
		seen measured
		want bool
	}{
		{measured{}, false},
		{measured{sent: {499}}, false},
		{measured{sent: {300, 200}}, true},
		{measured{sent: {500}, applied: {0}}, true},
		{measured{sent: {500}, clicks: {90}, dropped: {7}}, true},
		{measured{sent: {90_000}, applied: {1}}, false},
		{measured{applied: {9}}, false},
	} {
		if _, fires := a.fires(test.seen); fires != test.want {
			t.Errorf("%s: fires is %v", fmt.Sprint(test.seen), fires)
		}
	}
}
