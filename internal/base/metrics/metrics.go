// Package metrics counts events per function call. It writes the counts of a call as log lines in CloudWatch Embedded Metric
// Format, without calling AWS. A call without counts writes nothing.
package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Namespace is the CloudWatch namespace. The dimension is FunctionName, as in AWS/Lambda, or Stack with a Dimension. There
// are no tenants and no phone numbers.
const Namespace = "CampaignDispatch"

// Dimension is what AddOf counts by, in a stack: two stacks of an account do not count for each other.
type Dimension string

// The dimensions.
const (
	OfAgent    Dimension = "AgentId"    // an agent of the provider
	OfEndpoint Dimension = "EndpointId" // a webhook endpoint
	OfNet      Dimension = "Net"        // a safety net of sweep
)

const (
	// Unknown stands for all values that do not exist, such as agents that a caller invented.
	Unknown = "unknown"
	// Other stands for the values of a dimension above MaxValues.
	Other = "other"
	// MaxValues is the maximum number of values of a dimension that a process names: CloudWatch bills each.
	MaxValues = 600
)

// Handler is a Lambda handler that counts.
type Handler struct {
	invoke func(ctx context.Context, payload []byte) ([]byte, error)
	out    io.Writer
	now    func() time.Time
	named  *values
}

// NewHandler returns a handler that calls invoke. Each call writes a line with its counts to out, and one for each value
// of a Dimension.
func NewHandler(invoke func(ctx context.Context, payload []byte) ([]byte, error), out io.Writer, now func() time.Time) Handler {
	return Handler{invoke, out, now, &values{names: map[value]bool{}, perDimension: map[Dimension]int{}}}
}

// Invoke calls the handler and writes its counts, also after a panic.
func (c Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	t := &tally{counts: map[string]int{}, of: map[value]map[string]int{}, kinds: map[string]int{}, named: c.named}
	defer func() {
		if err := t.write(c.out, c.now()); err != nil {
			slog.WarnContext(ctx, "writing metrics failed", "error", err)
		}
	}()
	return c.invoke(context.WithValue(ctx, tallyKey{}, t), payload)
}

// Add adds n to a metric. It has no effect outside a call of Of's handler.
func Add(ctx context.Context, m Metric, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		add(t.counts, string(m), n)
	}
}

// AddOf adds n to a metric of one value of a dimension. The value must exist, or be Unknown: CloudWatch bills each name.
func AddOf(ctx context.Context, m Metric, d Dimension, name string, n int) {
	t, ok := ctx.Value(tallyKey{}).(*tally)
	if !ok || n <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.named.bounded(value{d, name})
	if t.of[v] == nil {
		t.of[v] = map[string]int{}
	}
	add(t.of[v], string(m), n)
}

// Kind adds n to a kind, a code of this service. Kinds are written to the log line of Add's counts, not as metrics.
func Kind(ctx context.Context, kind string, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		add(t.kinds, kind, n)
	}
}

type tallyKey struct{}

// value is a value of a dimension.
type value struct {
	dimension Dimension
	name      string
}

// values are those that the process has named.
type values struct {
	mu           sync.Mutex
	names        map[value]bool
	perDimension map[Dimension]int
}

// bounded returns the value, or Other if the process has named MaxValues others.
func (v *values) bounded(of value) value {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names[of] {
		return of
	}
	if v.perDimension[of.dimension] >= MaxValues {
		return value{of.dimension, Other}
	}
	v.names[of] = true
	v.perDimension[of.dimension]++
	return of
}

type tally struct {
	mu            sync.Mutex
	counts, kinds map[string]int
	of            map[value]map[string]int
	named         *values
}

func add(to map[string]int, name string, n int) {
	if n > 0 {
		to[name] += n
	}
}

// write writes the lines: a line in Embedded Metric Format has one value of a dimension.
func (t *tally) write(out io.Writer, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	if len(t.counts) > 0 {
		errs = append(errs, t.writeLine(out, at, t.counts, []string{"FunctionName"}, ""))
	}
	for _, v := range slices.SortedFunc(maps.Keys(t.of), compareValues) {
		errs = append(errs, t.writeLine(out, at, t.of[v], []string{"Stack", string(v.dimension)}, v.name))
	}
	return errors.Join(errs...)
}

func compareValues(a, b value) int {
	return cmp.Or(cmp.Compare(a.dimension, b.dimension), cmp.Compare(a.name, b.name))
}

// writeLine writes a line with a single Write, because other lines can be written concurrently. name is the value of the last
// dimension, if there are two. Lambda drops lines without a valid level and an RFC 3339 timestamp if the function's log
// level is above INFO, so the line has both (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
func (t *tally) writeLine(out io.Writer, at time.Time, counts map[string]int, dimensions []string, name string) error {
	line := map[string]any{
		"FunctionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "level": os.Getenv("AWS_LAMBDA_LOG_LEVEL"),
		"timestamp": at.UTC().Format(time.RFC3339Nano),
	}
	if len(dimensions) > 1 {
		line["Stack"], line[dimensions[1]] = os.Getenv("STACK"), name
	} else {
		line["Kinds"] = t.kinds
	}
	var metrics []any
	for _, metric := range slices.Sorted(maps.Keys(counts)) {
		line[metric] = counts[metric]
		metrics = append(metrics, map[string]string{"Name": metric, "Unit": "Count"})
	}
	directive := map[string]any{"Namespace": Namespace, "Dimensions": [][]string{dimensions}, "Metrics": metrics}
	line["_aws"] = map[string]any{"Timestamp": at.UnixMilli(), "CloudWatchMetrics": []any{directive}}
	return json.NewEncoder(out).Encode(line)
}

// Metric is the name of a metric.
type Metric string

// The metrics.
const (
	TokensIssued      Metric = "TokensIssued"
	CallsRefused      Metric = "CallsRefused"   // 4xx except 429
	CallsLimited      Metric = "CallsLimited"   // 429 by this service
	CallsFailed       Metric = "CallsFailed"    // 5xx
	CallsUncounted    Metric = "CallsUncounted" // accepted without a check of the tenant's limit, because the check failed
	TasksFailed       Metric = "TasksFailed"    // retried
	MessagesAccepted  Metric = "MessagesAccepted"
	HandoffsFailed    Metric = "HandoffsFailed" // batches left to sweep
	MessagesSent      Metric = "MessagesSent"
	MessagesEnded     Metric = "MessagesEnded"     // refused, expired or stopped before sending
	SendsFailed       Metric = "SendsFailed"       // transient failures, retried
	RepeatedAnswers   Metric = "RepeatedAnswers"   // 409 by the provider: it has the message from an earlier attempt
	ListsUnreadable   Metric = "ListsUnreadable"   // segments of lists that are missing or damaged; nothing is sent
	MessagesThrottled Metric = "MessagesThrottled" // 429 by the provider, retried
	EventsApplied     Metric = "EventsApplied"     // of the provider
	ClicksApplied     Metric = "ClicksApplied"     // clicks on links, which the service sees itself
	EventsDropped     Metric = "EventsDropped"     // unreadable, or of unknown messages or removed agents
	EventsRefused     Metric = "EventsRefused"     // requests of an agent that are not signed with its token, by agent
	WebhooksAccepted  Metric = "WebhooksAccepted"
	WebhooksRefused   Metric = "WebhooksRefused"
	WebhooksGivenUp   Metric = "WebhooksGivenUp"
	CircuitsOpened    Metric = "CircuitsOpened"
	EndpointsOff      Metric = "EndpointsOff"
	ExportsCompleted  Metric = "ExportsCompleted"
	SubmissionsSent   Metric = "SubmissionsSent"
	SubmissionsFailed Metric = "SubmissionsFailed" // the file could not be read
	ExportsFailed     Metric = "ExportsFailed"     // the data could not be read
	SweepFound        Metric = "SweepFound"        // lost work found
	SweepFailed       Metric = "SweepFailed"       // due items that failed; they stay due
	RecountFailed     Metric = "RecountFailed"     // tenants whose counts of days were not recounted
	SweepTurn         Metric = "SweepTurn"         // complete runs of a safety net, by net
)
