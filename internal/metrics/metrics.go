// Package metrics counts what the calls of a function do. The counts of a call are
// one line of the function's log in CloudWatch's Embedded Metric Format, of which
// CloudWatch makes metrics: nothing of AWS is called, and a call that counts
// nothing writes nothing.
package metrics

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Namespace is the metrics' own. Their one dimension is the function's name, as
// AWS/Lambda has it: no tenant, no number.
const Namespace = "CampaignDispatch"

// Handler is a function of Lambda.
type Handler interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

// Of returns the handler with its calls counted, in a line to out for each.
func Of(h Handler, out io.Writer, now func() time.Time) Handler { return counted{h, out, now} }

type counted struct {
	handler Handler
	out     io.Writer
	now     func() time.Time
}

// Invoke calls the handler, and writes down what it counted even if it panics.
func (c counted) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	t := &tally{counts: map[string]int{}, kinds: map[string]int{}}
	defer func() {
		if err := t.write(c.out, c.now()); err != nil {
			slog.WarnContext(ctx, "metrics were lost", "error", err)
		}
	}()
	return c.handler.Invoke(context.WithValue(ctx, tallyKey{}, t), payload)
}

// Add counts n more, where ctx is of a call that is counted.
func Add(ctx context.Context, m Metric, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.add(t.counts, string(m), n)
	}
}

// Kind notes that n of what is counted were of that kind, a code of the program's
// own. Kinds stand beside the metrics in the line, for who searches the logs.
func Kind(ctx context.Context, kind string, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.add(t.kinds, kind, n)
	}
}

type tallyKey struct{}

// tally is what one call counted.
type tally struct {
	mu            sync.Mutex
	counts, kinds map[string]int
}

func (t *tally) add(to map[string]int, name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		to[name] += n
	}
}

// write writes the line in one piece, because others may log at the same time.
// Lambda takes a line without a valid level and an RFC 3339 timestamp for INFO,
// and drops it where the function's log level is higher: the line has both
// (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
func (t *tally) write(out io.Writer, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts) == 0 {
		return nil
	}
	line := map[string]any{
		"FunctionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "level": os.Getenv("AWS_LAMBDA_LOG_LEVEL"),
		"timestamp": at.UTC().Format(time.RFC3339Nano), "Kinds": t.kinds,
	}
	var names []any
	for _, name := range slices.Sorted(maps.Keys(t.counts)) {
		line[name] = t.counts[name]
		names = append(names, map[string]string{"Name": name, "Unit": "Count"})
	}
	line["_aws"] = map[string]any{"Timestamp": at.UnixMilli(), "CloudWatchMetrics": []any{
		map[string]any{"Namespace": Namespace, "Dimensions": [][]string{{"FunctionName"}}, "Metrics": names},
	}}
	return json.NewEncoder(out).Encode(line)
}
