package restore

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Gate holds the functions of a stack, so that nothing is written to tables that are
// about to be left: what is accepted by one would be lost.
type Gate struct {
	Client  *lambda.Client
	Callers []string // functions that answer calls: held, callers get a 5xx and repeat
	Takers  []string // functions behind queues: held, their tasks wait
}

// alias is what queues call a function by.
const alias = "live"

// Close holds the functions. Held ones stay so.
func (g Gate) Close(ctx context.Context) error {
	for _, name := range g.Callers {
		_, err := g.Client.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: &name, ReservedConcurrentExecutions: aws.Int32(0)})
		if err != nil {
			return fmt.Errorf("hold the function %s: %w", name, err)
		}
	}
	return g.take(ctx, false)
}

// Open lets them go on.
func (g Gate) Open(ctx context.Context) error {
	for _, name := range g.Callers {
		if _, err := g.Client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &name}); err != nil {
			return fmt.Errorf("let the function %s go on: %w", name, err)
		}
	}
	return g.take(ctx, true)
}

func (g Gate) take(ctx context.Context, enabled bool) error {
	for _, name := range g.Takers {
		found, err := g.Client.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(name + ":" + alias)})
		if err != nil {
			return fmt.Errorf("find the queue of %s: %w", name, err)
		}
		for _, queue := range found.EventSourceMappings {
			if _, err := g.Client.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: queue.UUID, Enabled: &enabled}); err != nil {
				return fmt.Errorf("hold or let go the queue of %s: %w", name, err)
			}
		}
	}
	return nil
}
