package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/localstack/stackenv"
)

// streamed calls the feed function with the records that were written to the stream of
// outcomes within a window, as AWS does. The emulator's mapping has no window.
type streamed struct {
	streams   *dynamodbstreams.Client
	functions *lambda.Client
	function  string
	iterators []*string // of the stream's shards
}

// recordsPerCall is the number of records of isolated events in a call. At 500 events a
// second a shard of the stream has as many for each of the two concurrent calls of its
// mapping.
const recordsPerCall = 250

// newStreamed stops the emulator's mapping. It skips the records written before.
func newStreamed(ctx context.Context, env stackenv.Env) (*streamed, error) {
	s := &streamed{
		streams: dynamodbstreams.NewFromConfig(env.AWS()), functions: lambda.NewFromConfig(env.AWS()), function: env["FEED_FUNCTION"],
	}
	found, err := s.functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: &s.function})
	if err != nil || len(found.EventSourceMappings) != 1 {
		return nil, fmt.Errorf("find the mapping of feed: %w", err)
	}
	mapping := found.EventSourceMappings[0]
	if _, err := s.functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: mapping.UUID, Enabled: aws.Bool(false)}); err != nil {
		return nil, fmt.Errorf("stop the mapping of feed: %w", err)
	}
	err = s.open(ctx, dynamodb.NewFromConfig(env.AWS()), env["OUTCOMES_TABLE"])
	return s, err
}

// open finds the shards of the table's stream.
func (s *streamed) open(ctx context.Context, client *dynamodb.Client, table string) error {
	found, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return fmt.Errorf("find the stream of outcomes: %w", err)
	}
	stream := found.Table.LatestStreamArn
	described, err := s.streams.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: stream})
	if err != nil {
		return fmt.Errorf("find the shards of the stream of outcomes: %w", err)
	}
	for _, shard := range described.StreamDescription.Shards {
		at, err := s.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: stream, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeLatest,
		})
		if err != nil {
			return fmt.Errorf("open a shard of the stream of outcomes: %w", err)
		}
		s.iterators = append(s.iterators, at.ShardIterator)
	}
	return nil
}

// feed calls the function with the records written since the last time.
func (s *streamed) feed(ctx context.Context) error {
	var records []types.Record
	for i := range s.iterators {
		more, err := s.read(ctx, i)
		if err != nil {
			return err
		}
		records = append(records, more...)
	}
	for some := range slices.Chunk(records, recordsPerCall) {
		if err := s.call(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// read returns the new records of a shard that the mapping's filter lets pass.
func (s *streamed) read(ctx context.Context, shard int) (records []types.Record, err error) {
	for {
		got, err := s.streams.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterators[shard]})
		if err != nil {
			return nil, fmt.Errorf("read the stream of outcomes: %w", err)
		}
		s.iterators[shard] = got.NextShardIterator
		for _, r := range got.Records {
			if _, tells := r.Dynamodb.NewImage["newAfter"]; tells {
				records = append(records, r)
			}
		}
		if len(got.Records) == 0 {
			return records, nil
		}
	}
}

func (s *streamed) call(ctx context.Context, records []types.Record) error {
	event := map[string][]map[string]any{}
	for _, r := range records {
		event["Records"] = append(event["Records"], map[string]any{
			"eventID": aws.ToString(r.EventID), "eventName": r.EventName, "eventSource": "aws:dynamodb",
			"dynamodb": map[string]any{
				"Keys": plain(r.Dynamodb.Keys), "NewImage": plain(r.Dynamodb.NewImage),
				"SequenceNumber": aws.ToString(r.Dynamodb.SequenceNumber), "StreamViewType": "NEW_IMAGE",
			},
		})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return err
	}
	out, err := s.functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: &s.function, Payload: payload})
	if err == nil && out.FunctionError != nil {
		err = fmt.Errorf("feed answered %.200s", out.Payload)
	}
	if err != nil {
		return fmt.Errorf("give feed its records: %w", err)
	}
	return nil
}

// plain returns an item in Lambda's format. The rows of outcomes have no other types.
func plain(item map[string]types.AttributeValue) map[string]any {
	values := map[string]any{}
	for name, value := range item {
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			values[name] = map[string]any{"S": v.Value}
		case *types.AttributeValueMemberN:
			values[name] = map[string]any{"N": v.Value}
		case *types.AttributeValueMemberB:
			values[name] = map[string]any{"B": v.Value}
		}
	}
	return values
}
