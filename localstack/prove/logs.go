package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// linesOf yields all lines of a log group since then.
func linesOf(ctx context.Context, client *cloudwatchlogs.Client, group string, since time.Time) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		linesBetween(ctx, client, group, since.UnixMilli(), time.Now().Add(time.Minute).UnixMilli(), yield)
	}
}

// linesBetween yields the lines of some milliseconds, and reports whether there may be
// more. The emulator's answer ends at the 10,000th line, with no word of the others:
// one as long is asked for again in halves.
func linesBetween(ctx context.Context, client *cloudwatchlogs.Client, group string, from, to int64, yield func(string, error) bool) bool {
	const most = 10_000
	got, err := client.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, StartTime: &from, EndTime: &to})
	if err != nil {
		yield("", fmt.Errorf("read the log %s: %w", group, err))
		return false
	}
	if len(got.Events) >= most && from < to {
		middle := from + (to-from)/2
		return linesBetween(ctx, client, group, from, middle, yield) && linesBetween(ctx, client, group, middle+1, to, yield)
	}
	for _, event := range got.Events {
		if !yield(aws.ToString(event.Message), nil) {
			return false
		}
	}
	return true
}
