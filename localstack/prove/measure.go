package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cloudwatchtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"campaign-dispatch/localstack/alarms"
)

// measure returns what CloudWatch would have of the time since an instant: the
// metrics in the functions' logs, those that the emulator keeps of its functions,
// the state of the queues, and what the API answered.
func (w *watch) measure(ctx context.Context, since time.Time) (alarms.Measured, error) {
	seen := alarms.Measured{}
	if w.failed > 0 {
		seen.Add(alarms.Series{Namespace: "AWS/ApiGateway", Metric: "5xx", Of: w.names["Api"]}, float64(w.failed))
	}
	if w.recorded > 0 { // the emulator does not measure units of tables
		seen.Add(alarms.Series{Namespace: "AWS/DynamoDB", Metric: "ConsumedWriteCapacityUnits", Of: w.names["OutcomesTable"]}, float64(w.recorded))
	}
	return seen, errors.Join(w.readLogs(ctx, since, seen), w.readFunctions(ctx, since, seen), w.readQueues(ctx, seen))
}

// readLogs adds the metrics in the functions' logs, as CloudWatch takes them out.
func (w *watch) readLogs(ctx context.Context, since time.Time, seen alarms.Measured) error {
	client := cloudwatchlogs.NewFromConfig(w.env.AWS())
	prefix := "/campaign-dispatch/" + w.env["STACK_NAME"] + "/"
	groups, err := client.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &prefix})
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, group := range groups.LogGroups {
		for line, err := range linesOf(ctx, client, *group.LogGroupName, since) {
			if err != nil {
				return err
			}
			addEmbedded(line, since, seen)
		}
	}
	return nil
}

// addEmbedded adds the metrics of a line in the Embedded Metric Format; other lines
// have none.
func addEmbedded(line string, since time.Time, seen alarms.Measured) {
	var document struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	var members map[string]any
	if json.Unmarshal([]byte(line), &document) != nil || json.Unmarshal([]byte(line), &members) != nil || document.AWS.Timestamp < since.UnixMilli() {
		return
	}
	for _, directive := range document.AWS.CloudWatchMetrics {
		for _, dimensions := range directive.Dimensions {
			for _, m := range directive.Metrics {
				of, _ := members[dimensions[0]].(string)
				if value, ok := members[m.Name].(float64); ok && len(dimensions) == 1 {
					seen.Add(alarms.Series{Namespace: directive.Namespace, Metric: m.Name, Of: of}, value)
				}
			}
		}
	}
}

// readFunctions adds what the emulator measures of functions.
func (w *watch) readFunctions(ctx context.Context, since time.Time, seen alarms.Measured) error {
	const span = 24 * 60 * 60
	client := cloudwatch.NewFromConfig(w.env.AWS())
	for _, a := range w.alarms {
		for _, s := range a.Series() {
			if s.Namespace != "AWS/Lambda" {
				continue
			}
			if stopped, ok := w.stopped[s.Of]; s.Metric == "IteratorAge" { // which the emulator does not measure
				if ok {
					seen.Add(s, float64(time.Since(stopped).Milliseconds()))
				}
				continue
			}
			out, err := client.GetMetricStatistics(ctx, &cloudwatch.GetMetricStatisticsInput{
				Namespace: &s.Namespace, MetricName: &s.Metric, Dimensions: []cloudwatchtypes.Dimension{{Name: aws.String("FunctionName"), Value: &s.Of}},
				StartTime: &since, EndTime: aws.Time(time.Now().Add(time.Minute)), Period: aws.Int32(span), Statistics: []cloudwatchtypes.Statistic{cloudwatchtypes.StatisticSum},
			})
			if err != nil {
				return fmt.Errorf("read %s of %s: %w", s.Metric, s.Of, err)
			}
			for _, point := range out.Datapoints {
				seen[s] = []float64{aws.ToFloat64(point.Sum)}
			}
		}
	}
	return nil
}

// readQueues adds how many messages of each queue may be taken, and since when the
// oldest of them waits.
func (w *watch) readQueues(ctx context.Context, seen alarms.Measured) error {
	client := sqs.NewFromConfig(w.env.AWS())
	const visible = types.QueueAttributeNameApproximateNumberOfMessages
	for _, a := range w.alarms {
		for _, s := range a.Series() {
			if s.Namespace != "AWS/SQS" {
				continue
			}
			url, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &s.Of})
			if err != nil {
				return fmt.Errorf("find the queue %s: %w", s.Of, err)
			}
			out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []types.QueueAttributeName{visible}})
			if err != nil {
				return fmt.Errorf("look at the queue %s: %w", s.Of, err)
			}
			n, _ := strconv.Atoi(out.Attributes[string(visible)])
			if put, untaken := w.stopped[s.Of]; s.Metric == "ApproximateAgeOfOldestMessage" {
				if untaken && n > 0 { // to look at the task would count as taking it
					seen.Add(s, time.Since(put).Seconds())
				}
				continue
			}
			seen.Add(s, float64(n))
		}
	}
	return nil
}
