package metering

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Meter sees every call that the AWS clients of one process make.
type Meter struct {
	Rules Rules

	mu    sync.Mutex
	calls []Call
}

// Call is one call with the units that it costs.
type Call struct {
	Units

	Operation  string
	Start, End time.Time
}

// Attach makes the meter see the calls of the clients built from cfg.
func (m *Meter) Attach(cfg *aws.Config) {
	cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.see), middleware.After)
	})
}

func (m *Meter) see(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	call := Call{Operation: awsmiddleware.GetOperationName(ctx), Start: time.Now()}
	out, metadata, err := next.HandleInitialize(ctx, in)
	call.End = time.Now()
	call.Units, _ = m.Rules.Count(call.Operation, in.Parameters, out.Result)
	m.mu.Lock()
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	return out, metadata, err
}

// Take returns the calls since the last take.
func (m *Meter) Take() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

// Sum returns the units of all calls.
func Sum(calls []Call) (u Units) {
	for _, c := range calls {
		u.Add(c.Units)
	}
	return u
}

// chain is the longest chain of calls that waited for one another, among calls that
// it is told of in the order of their ends.
type chain struct {
	length int
	last   time.Time
}

func (c *chain) extend(start, end time.Time) {
	if !start.Before(c.last) {
		c.length++
		c.last = end
	}
}

// RowSizes reads the size of rows until ctx ends, by a client that nobody meters.
func RowSizes(ctx context.Context, client *dynamodb.Client) func(table *string, key Item) int {
	return func(table *string, key Item) int {
		out, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			panic(fmt.Sprintf("read a row that was updated: %v", err))
		}
		return size(out.Item)
	}
}

// Consumed adds up what DynamoDB itself says that calls have consumed.
type Consumed struct {
	mu    sync.Mutex
	taken Capacity
}

// Capacity is what calls have consumed.
type Capacity struct {
	Writes, Reads float64
	Calls         int
	// Refused are the writes whose condition did not hold. On AWS each of them
	// consumes what the write would have, one unit at least, and no answer says so:
	// they are not in Writes.
	Refused int
}

// Attach makes c see the calls of a client.
func (c *Consumed) Attach(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("consumed", c.see), middleware.Before)
	})
}

// Take returns what was consumed since the last take.
func (c *Consumed) Take() Capacity {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.taken
	c.taken = Capacity{}
	return taken
}

func (c *Consumed) see(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	askForCapacity(in.Parameters)
	out, metadata, err := next.HandleInitialize(ctx, in)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.taken.Calls++
	c.taken.add(out.Result, err)
	return out, metadata, err
}

// askForCapacity sets a field that the inputs of all calls for rows have.
func askForCapacity(in any) {
	if field := reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity"); field.IsValid() {
		field.SetString(string(types.ReturnConsumedCapacityTotal))
	}
}

func (c *Capacity) add(out any, err error) {
	var refused *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &refused) || errors.As(err, &cancelled) {
		c.Refused++
	}
	switch out.(type) {
	case *dynamodb.PutItemOutput, *dynamodb.UpdateItemOutput, *dynamodb.DeleteItemOutput, *dynamodb.TransactWriteItemsOutput:
		c.Writes += consumed(out)
	case *dynamodb.GetItemOutput, *dynamodb.BatchGetItemOutput, *dynamodb.QueryOutput:
		c.Reads += consumed(out)
	}
}

// consumed returns the units in an output: those of one table, or of several.
func consumed(out any) (total float64) {
	switch c := reflect.ValueOf(out).Elem().FieldByName("ConsumedCapacity").Interface().(type) {
	case *types.ConsumedCapacity:
		if c != nil {
			total = aws.ToFloat64(c.CapacityUnits)
		}
	case []types.ConsumedCapacity:
		for _, of := range c {
			total += aws.ToFloat64(of.CapacityUnits)
		}
	}
	return total
}
