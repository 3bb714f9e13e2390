package metering

import (
	"context"
	"errors"
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

func askForCapacity(in any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.TransactWriteItemsInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = total
	}
}

func (c *Capacity) add(out any, err error) {
	var refused *types.ConditionalCheckFailedException
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &refused) || errors.As(err, &cancelled) {
		c.Refused++
	}
	switch out := out.(type) {
	case *dynamodb.PutItemOutput:
		c.Writes += units(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		c.Writes += units(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		c.Writes += units(out.ConsumedCapacity)
	case *dynamodb.TransactWriteItemsOutput:
		c.Writes += sum(out.ConsumedCapacity)
	case *dynamodb.GetItemOutput:
		c.Reads += units(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		c.Reads += sum(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		c.Reads += units(out.ConsumedCapacity)
	}
}

func units(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}

func sum(all []types.ConsumedCapacity) (total float64) {
	for i := range all {
		total += units(&all[i])
	}
	return total
}
