package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// linesOf yields all lines of a log group from an instant on, in milliseconds since
// 1970, stream by stream: the emulator's FilterLogEvents ends at the 10,000th line.
func linesOf(ctx context.Context, client *cloudwatchlogs.Client, group string, from int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		streams := cloudwatchlogs.NewDescribeLogStreamsPaginator(client, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: &group})
		for streams.HasMorePages() {
			page, err := streams.NextPage(ctx)
			if err != nil {
				yield("", fmt.Errorf("list the log %s: %w", group, err))
				return
			}
			for _, stream := range page.LogStreams {
				in := &cloudwatchlogs.GetLogEventsInput{
					LogGroupName: &group, LogStreamName: stream.LogStreamName, StartTime: &from, StartFromHead: aws.Bool(true),
				}
				if !linesOfStream(ctx, client, in, yield) {
					return
				}
			}
		}
	}
}

// linesOfStream tells whether there may be more.
func linesOfStream(
	ctx context.Context, client *cloudwatchlogs.Client, in *cloudwatchlogs.GetLogEventsInput, yield func(string, error) bool,
) bool {
	pages := cloudwatchlogs.NewGetLogEventsPaginator(client, in, func(o *cloudwatchlogs.GetLogEventsPaginatorOptions) { o.StopOnDuplicateToken = true })
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			yield("", fmt.Errorf("read the log %s: %w", *in.LogGroupName, err))
			return false
		}
		for _, event := range page.Events {
			if !yield(aws.ToString(event.Message), nil) {
				return false
			}
		}
	}
	return true
}
