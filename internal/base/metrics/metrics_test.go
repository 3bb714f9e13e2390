package metrics_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/metrics"
)

type handler func(ctx context.Context, payload []byte) ([]byte, error)

func logOf(t *testing.T, h handler) string {
	t.Helper()
	var log bytes.Buffer
	counted := metrics.NewHandler(h, &log, func() time.Time { return time.UnixMilli(1_700_000_000_123) })
	func() {
		defer func() { _ = recover() }()
		_, _ = counted.Invoke(t.Context(), nil)
	}()
	return log.String()
}

func TestInvoke_OneLine(t *testing.T) {
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "campaign-send")
	t.Setenv("AWS_LAMBDA_LOG_LEVEL", "WARN")
	got := logOf(t, func(ctx context.Context, _ []byte) ([]byte, error) {
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				metrics.Add(ctx, metrics.MessagesSent, 10)
				metrics.Kind(ctx, "unreachable", 1)
			})
		}
		all.Wait()
		metrics.Add(ctx, metrics.MessagesEnded, 10)
		metrics.Add(ctx, metrics.SendsFailed, 0)
		return nil, nil
	})
	if strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "}\n") {
		t.Errorf("not one line: %q", got)
	}
	const want = `{
		"_aws": {"Timestamp": 1700000000123, "CloudWatchMetrics": [{
			"Namespace": "CampaignDispatch", "Dimensions": [["FunctionName"]],
			"Metrics": [{"Name": "MessagesEnded", "Unit": "Count"}, {"Name": "MessagesSent", "Unit": "Count"}]}]},
		"FunctionName": "campaign-send", "level": "WARN", "timestamp": "2023-11-14T22:13:20.123Z", "MessagesEnded": 10, "MessagesSent": 100, "Kinds": {"unreachable": 10}}`
	if diff := cmp.Diff(parsed(t, want), parsed(t, got)); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
}

// A line has one value of a dimension, and that of its stack.
func TestInvoke_LinePerValue(t *testing.T) {
	t.Setenv("STACK", "campaign-dispatch")
	got := logOf(t, func(ctx context.Context, _ []byte) ([]byte, error) {
		metrics.AddOf(ctx, metrics.EndpointsOff, metrics.OfEndpoint, "b", 1)
		metrics.AddOf(ctx, metrics.EndpointsOff, metrics.OfEndpoint, "a", 2)
		metrics.AddOf(ctx, metrics.CircuitsOpened, metrics.OfEndpoint, "a", 1)
		metrics.AddOf(ctx, metrics.CircuitsOpened, metrics.OfEndpoint, "c", 0)
		return nil, nil
	})
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 2 {
		t.Fatalf("wrote %q, want 2 lines", got)
	}
	const want = `{
		"_aws": {"Timestamp": 1700000000123, "CloudWatchMetrics": [{
			"Namespace": "CampaignDispatch", "Dimensions": [["Stack", "EndpointId"]],
			"Metrics": [{"Name": "CircuitsOpened", "Unit": "Count"}, {"Name": "EndpointsOff", "Unit": "Count"}]}]},
		"FunctionName": "", "Stack": "campaign-dispatch", "EndpointId": "a", "level": "", "timestamp": "2023-11-14T22:13:20.123Z",
		"CircuitsOpened": 1, "EndpointsOff": 2}`
	if diff := cmp.Diff(parsed(t, want), parsed(t, lines[0])); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if !strings.Contains(lines[1], `"EndpointId":"b"`) {
		t.Errorf("the second line is %s", lines[1])
	}
}

// CloudWatch bills each name that a process counts, so those above the limit count together.
func TestAddOf_ManyValues(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	next := 0
	counted := metrics.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) {
		for range metrics.MaxValues/2 + 1 {
			metrics.AddOf(ctx, metrics.EndpointsOff, metrics.OfEndpoint, strconv.Itoa(next), 1)
			next++
		}
		metrics.AddOf(ctx, metrics.EndpointsOff, metrics.OfEndpoint, "0", 1) // a known one
		return nil, nil
	}, &log, time.Now)
	for range 2 {
		if _, err := counted.Invoke(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(log.String(), `"EndpointId":"other","EndpointsOff":2,`) || strings.Contains(log.String(), `"600"`) {
		t.Errorf("the values above the limit do not count together: %s", log.String()[log.Len()-600:])
	}
	if n := strings.Count(log.String(), `"EndpointId":"0"`); n != 2 {
		t.Errorf("a known value was counted in %d lines, want 2", n)
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestInvoke_Output(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call  handler
		lines int
	}{
		"nothing counted": {func(ctx context.Context, _ []byte) ([]byte, error) {
			metrics.Kind(ctx, "unreachable", 1)
			return nil, nil
		}, 0},
		"failed": {func(ctx context.Context, _ []byte) ([]byte, error) {
			metrics.Add(ctx, metrics.TasksFailed, 1)
			return nil, errors.New("failed")
		}, 1},
		"panicked": {func(ctx context.Context, _ []byte) ([]byte, error) {
			metrics.Add(ctx, metrics.TasksFailed, 1)
			panic("panicked")
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := logOf(t, test.call); strings.Count(got, "\n") != test.lines {
				t.Errorf("wrote %q, want %d lines", got, test.lines)
			}
		})
	}
}

func TestAdd_OutsideCall(t *testing.T) {
	t.Parallel()
	metrics.Add(t.Context(), metrics.MessagesSent, 1)
	metrics.Kind(t.Context(), "unreachable", 1)
}
