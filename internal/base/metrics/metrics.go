// Package metrics counts events per function call. It writes the counts of a call as one
// log line in CloudWatch Embedded Metric Format, without calling AWS. A call without counts
// writes nothing.
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

// Namespace is the CloudWatch namespace. The dimension is FunctionName, as in AWS/Lambda, or
// AgentId. There are no tenants and no phone numbers.
const Namespace = "CampaignDispatch"

// Handler is a Lambda handler that counts.
type Handler struct {
	invoke func(ctx context.Context, payload []byte) ([]byte, error)
	out    io.Writer
	now    func() time.Time
}

// NewHandler returns a handler that calls invoke. Each call writes a line with its counts to out.
func NewHandler(invoke func(ctx context.Context, payload []byte) ([]byte, error), out io.Writer, now func() time.Time) Handler {
	return Handler{invoke, out, now}
}

// Invoke calls the handler and writes its counts, also after a panic.
func (c Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	t := &tally{counts: map[string]int{}, ofAgent: map[string]int{}, kinds: map[string]int{}}
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
		t.add(t.counts, string(m), n)
	}
}

// UnknownAgent stands for all agents that do not exist.
const UnknownAgent = "unknown"

// AddOfAgent adds n to a metric of an agent of the provider, in a call about that agent. The agent
// must exist or be UnknownAgent: CloudWatch bills each name.
func AddOfAgent(ctx context.Context, m Metric, agent string, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.add(t.ofAgent, string(m), n)
		t.agent = agent
	}
}

// Kind adds n to a kind, a code of this service. Kinds are written to the log line, not as metrics.
func Kind(ctx context.Context, kind string, n int) {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		t.add(t.kinds, kind, n)
	}
}

type tallyKey struct{}

type tally struct {
	mu                     sync.Mutex
	agent                  string
	counts, ofAgent, kinds map[string]int
}

func (t *tally) add(to map[string]int, name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		to[name] += n
	}
}

// write writes the line with a single Write, because other lines can be written
// concurrently. Lambda drops lines without a valid level and an RFC 3339 timestamp if the
// function's log level is above INFO, so the line has both
// (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
func (t *tally) write(out io.Writer, at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.counts)+len(t.ofAgent) == 0 {
		return nil
	}
	line := map[string]any{
		"FunctionName": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"), "level": os.Getenv("AWS_LAMBDA_LOG_LEVEL"),
		"timestamp": at.UTC().Format(time.RFC3339Nano), "Kinds": t.kinds,
	}
	metrics := addMetrics(nil, line, "FunctionName", t.counts)
	if len(t.ofAgent) > 0 {
		line["AgentId"] = t.agent
		metrics = addMetrics(metrics, line, "AgentId", t.ofAgent)
	}
	line["_aws"] = map[string]any{"Timestamp": at.UnixMilli(), "CloudWatchMetrics": metrics}
	return json.NewEncoder(out).Encode(line)
}

// addMetrics adds the values of metrics to a line, and appends their description.
func addMetrics(all []any, line map[string]any, dimension string, counts map[string]int) []any {
	if len(counts) == 0 {
		return all
	}
	var names []any
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		line[name] = counts[name]
		names = append(names, map[string]string{"Name": name, "Unit": "Count"})
	}
	return append(all, map[string]any{"Namespace": Namespace, "Dimensions": [][]string{{dimension}}, "Metrics": names})
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
	EventsApplied     Metric = "EventsApplied"
	EventsDropped     Metric = "EventsDropped" // unreadable, or of unknown messages or removed agents
	EventsRefused     Metric = "EventsRefused" // requests of an agent that are not signed with its token, by agent
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
)
