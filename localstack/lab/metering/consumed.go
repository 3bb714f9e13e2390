package metering

import (
	"context"
	"errors"
	"reflect"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

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
