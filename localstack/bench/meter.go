package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// meter sees every call that an AWS client makes, and counts its units by AWS's
// rules: an emulator's own count is not trusted.
type meter struct {
	rows  *dynamodb.Client // reads rows without being metered
	mu    sync.Mutex
	calls []meteredCall
}

// distance is added to each call, as a real service is some way off: calls that
// are made side by side are then seen to be.
const distance = 5 * time.Millisecond

// meteredCall is one call with the units that it costs.
type meteredCall struct {
	operation    string
	start, end   time.Time
	writes       float64 // DynamoDB write units
	reads        float64 // DynamoDB read units
	sqsRequests  float64
	puts, gets   float64 // S3
	schedules    float64
	kmsSignature float64
}

// attach makes the meter see the calls of the clients built from cfg.
func (m *meter) attach(cfg *aws.Config) {
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.see), middleware.After)
	})
}

func (m *meter) see(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	call := meteredCall{operation: awsmiddleware.GetOperationName(ctx), start: time.Now()}
	time.Sleep(distance)
	out, metadata, err := next.HandleInitialize(ctx, in)
	call.end = time.Now()
	call.count(in.Parameters, out.Result, func(table *string, key item) int { return m.rowSize(ctx, table, key) })
	m.mu.Lock()
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	return out, metadata, err
}

// take returns the calls since the last take.
func (m *meter) take() []meteredCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

// item is a row, or the key of one.
type item = map[string]types.AttributeValue

// rowSize is the size of a row as it is now: an update is billed by the whole row.
func (m *meter) rowSize(ctx context.Context, table *string, key item) int {
	out, err := m.rows.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		panic(fmt.Sprintf("read a row that was updated: %v", err))
	}
	return size(out.Item)
}

func (c *meteredCall) count(in, out any, rowSize func(table *string, key item) int) {
	switch in := in.(type) {
	case *dynamodb.TransactWriteItemsInput:
		for _, write := range in.TransactItems {
			c.writes += 2 * transactUnits(write, rowSize)
		}
	case *dynamodb.PutItemInput:
		c.writes += writeUnits(in.Item)
	case *dynamodb.UpdateItemInput:
		c.writes += updateUnits(rowSize(in.TableName, in.Key), in.UpdateExpression)
	case *dynamodb.DeleteItemInput:
		c.writes += deleteUnits(in.Key)
	case *dynamodb.BatchGetItemInput:
		c.reads += batchReadUnits(in, out)
	case *dynamodb.GetItemInput:
		if got, ok := out.(*dynamodb.GetItemOutput); ok && got != nil {
			c.reads += readUnits(size(got.Item), aws.ToBool(in.ConsistentRead))
		}
	case *dynamodb.QueryInput:
		c.reads += queryUnits(in, out)
	case *sqs.SendMessageInput:
		c.sqsRequests += chunks(len(aws.ToString(in.MessageBody)))
	case *sqs.SendMessageBatchInput:
		bytes := 0
		for _, e := range in.Entries {
			bytes += len(aws.ToString(e.MessageBody))
		}
		c.sqsRequests += chunks(bytes)
	default:
		c.countByName()
	}
}

func (c *meteredCall) countByName() {
	switch c.operation {
	case "PutObject":
		c.puts++
	case "GetObject":
		c.gets++
	case "CreateSchedule":
		c.schedules++
	case "Sign":
		c.kmsSignature++
	}
}

// chunks is the number of 64 KB that SQS bills for a request.
func chunks(bytes int) float64 { return math.Max(1, math.Ceil(float64(bytes)/(64<<10))) }

func transactUnits(write types.TransactWriteItem, rowSize func(table *string, key item) int) float64 {
	switch {
	case write.Put != nil:
		return writeUnits(write.Put.Item)
	case write.Update != nil:
		return updateUnits(rowSize(write.Update.TableName, write.Update.Key), write.Update.UpdateExpression)
	default:
		return 1
	}
}

// writeUnits are those of a new row, with one for its entry in each sparse index.
func writeUnits(row item) float64 {
	units := kilobytes(size(row))
	for _, key := range []string{"nextCheck", "listAs"} {
		if _, indexed := row[key]; indexed {
			units++
		}
	}
	return units
}

// deleteUnits are those of a row and, of a notice, of its entry in the index.
func deleteUnits(key map[string]types.AttributeValue) float64 {
	if sk, ok := key["sk"].(*types.AttributeValueMemberS); ok && strings.HasPrefix(sk.Value, "NOTICE#") {
		return 2
	}
	return 1
}

// updateUnits are those of an update that leaves a row of the size. One that
// sets the index's keys deletes the row's entry and writes another; counted so
// also where the row enters the index or leaves it, which costs one less.
func updateUnits(bytes int, expression *string) float64 {
	units := kilobytes(bytes)
	if strings.Contains(aws.ToString(expression), "nextCheck") {
		units += 2
	}
	return units
}

// kilobytes is the number of units that writing so many bytes costs.
func kilobytes(bytes int) float64 { return math.Max(1, math.Ceil(float64(bytes)/(1<<10))) }

func readUnits(bytes int, consistent bool) float64 {
	units := math.Max(1, math.Ceil(float64(bytes)/(4<<10)))
	if !consistent {
		units /= 2
	}
	return units
}

func batchReadUnits(in *dynamodb.BatchGetItemInput, out any) (units float64) {
	got, _ := out.(*dynamodb.BatchGetItemOutput)
	if got == nil {
		return 0
	}
	for table, keys := range in.RequestItems {
		consistent := aws.ToBool(keys.ConsistentRead)
		missing := len(keys.Keys) - len(got.Responses[table])
		units += float64(missing) * readUnits(0, consistent)
		for _, item := range got.Responses[table] {
			units += readUnits(size(item), consistent)
		}
	}
	return units
}

func queryUnits(in *dynamodb.QueryInput, out any) float64 {
	got, _ := out.(*dynamodb.QueryOutput)
	if got == nil {
		return 0
	}
	bytes := 0
	for _, item := range got.Items {
		bytes += size(item)
	}
	return readUnits(bytes, aws.ToBool(in.ConsistentRead))
}

// size is an item's size in bytes as DynamoDB counts it: names in UTF-8 and
// values, numbers at about a byte for two digits.
func size(row item) (bytes int) {
	for name, value := range row {
		bytes += len(name) + valueSize(value)
	}
	return bytes
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberNS:
		bytes := 3
		for _, n := range v.Value {
			bytes += len(n)/2 + 2
		}
		return bytes
	case *types.AttributeValueMemberM:
		return 3 + size(v.Value) + len(v.Value)
	case *types.AttributeValueMemberL:
		bytes := 3 + len(v.Value)
		for _, each := range v.Value {
			bytes += valueSize(each)
		}
		return bytes
	default:
		return 1
	}
}

// depth is how many of the calls waited for one another: the length of the
// longest chain in which each call started after the one before had ended.
func depth(calls []meteredCall) (chain int) {
	ordered := slices.SortedFunc(slices.Values(calls), func(a, b meteredCall) int { return a.end.Compare(b.end) })
	var last time.Time
	for _, c := range ordered {
		if !c.start.Before(last) {
			chain++
			last = c.end
		}
	}
	return chain
}

// logMeter counts what the functions log, as CloudWatch bills it.
type logMeter struct {
	mu    sync.Mutex
	bytes int
}

// Write counts one line.
func (m *logMeter) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += len(line) + logLine
	return len(line), nil
}

// take returns the bytes since the last take.
func (m *logMeter) take() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes := m.bytes
	m.bytes = 0
	return bytes
}
