package metering

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Meter counts the units of the calls of AWS clients in this process.
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
func (m *Meter) Attach(cfg *aws.Config) { cfg.APIOptions = append(cfg.APIOptions, m.middleware) }

// AttachTo makes the meter see the calls of one client.
func (m *Meter) AttachTo(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, m.middleware) }

func (m *Meter) middleware(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.see), middleware.After)
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

// Take returns the calls since the last Take.
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

// chain is the longest chain of calls that waited for one another, among calls in the order of
// their ends.
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

// RowSizes returns a function that reads the size of a row until ctx ends, with a client that is not metered.
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
