package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"campaign-dispatch/internal/base/retry"
)

// Logs writes the logs of all functions and follows them until ctx is done.
func (s Stack) Logs(ctx context.Context, out io.Writer) error {
	const tick = time.Second
	if !s.running() {
		return errors.New("the stack is not running: start it with `make up`")
	}
	reader := logReader{
		client: cloudwatchlogs.NewFromConfig(s.aws().AWS()),
		prefix: "/campaign-dispatch/" + s.Name + "/",
		seen:   map[string]int64{},
	}
	for {
		lines, err := reader.next(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // interrupted by the user
		}
		if err != nil {
			return err
		}
		for _, line := range lines {
			_, _ = fmt.Fprintln(out, line)
		}
		if retry.Sleep(ctx, tick) != nil {
			return nil //nolint:nilerr // interrupted by the user
		}
	}
}

// logReader reads the functions' log groups incrementally.
type logReader struct {
	client *cloudwatchlogs.Client
	prefix string
	from   int64            // milliseconds since 1970
	seen   map[string]int64 // times of the events in the overlap, by stream and message
}

// overlap is the time in milliseconds that each read repeats, because events do not appear in the order of their times.
const overlap = 10_000

func (r *logReader) next(ctx context.Context) ([]string, error) {
	groups, err := r.client.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &r.prefix})
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", reason(err))
	}
	type line struct {
		at   int64
		text string
	}
	var lines []line
	latest := r.from
	for _, group := range groups.LogGroups {
		events, err := r.events(ctx, aws.ToString(group.LogGroupName))
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(aws.ToString(group.LogGroupName), r.prefix)
		for _, event := range events {
			at := aws.ToInt64(event.Timestamp)
			latest = max(latest, at)
			if text := strings.TrimSpace(aws.ToString(event.Message)); r.isNew(event) && !platform(text) {
				lines = append(lines, line{at, fmt.Sprintf("%s %-9s %s", time.UnixMilli(at).Format("15:04:05"), name, text)})
			}
		}
	}
	r.removeOld(latest)
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text
	}
	return texts, nil
}

func (r *logReader) events(ctx context.Context, group string) ([]logs.FilteredLogEvent, error) {
	answer, err := r.client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: &group, StartTime: aws.Int64(max(0, r.from-overlap)),
	})
	if err != nil {
		return nil, fmt.Errorf("read the log %s: %w", group, reason(err))
	}
	return answer.Events, nil
}

func (r *logReader) isNew(event logs.FilteredLogEvent) bool {
	key := aws.ToString(event.LogStreamName) + aws.ToString(event.Message)
	_, old := r.seen[key]
	r.seen[key] = aws.ToInt64(event.Timestamp)
	return !old
}

// removeOld removes the events before the overlap of the next read.
func (r *logReader) removeOld(latest int64) {
	r.from = latest
	for key, at := range r.seen {
		if at < latest-overlap {
			delete(r.seen, key)
		}
	}
}

// platform reports whether Lambda wrote the line, not the function.
func platform(text string) bool {
	return strings.HasPrefix(text, "START RequestId:") || strings.HasPrefix(text, "END RequestId:") ||
		strings.HasPrefix(text, "REPORT RequestId:")
}
