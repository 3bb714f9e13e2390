package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Maintenance holds the functions of a stack, so that nothing is written to tables that are
// about to be left: what is accepted by one would be lost.
type Maintenance struct {
	Client        *lambda.Client
	HTTPFunctions []string // functions that answer calls: held, callers get a 5xx and repeat
	Consumers     []string // functions behind queues: held, their tasks wait
}

// alias is what queues call a function by.
const alias = "live"

// Enter holds the functions. Held ones stay so.
func (g Maintenance) Enter(ctx context.Context) error {
	queues, err := g.queues(ctx)
	if err != nil {
		return err
	}
	for _, name := range g.HTTPFunctions {
		_, err := g.Client.PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: &name, ReservedConcurrentExecutions: aws.Int32(0)})
		if err != nil {
			return fmt.Errorf("hold the function %s: %w", name, err)
		}
	}
	return g.take(ctx, queues, false)
}

// Exit lets them go on.
func (g Maintenance) Exit(ctx context.Context) error {
	queues, err := g.queues(ctx)
	if err != nil {
		return err
	}
	for _, name := range g.HTTPFunctions {
		if _, err := g.Client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: &name}); err != nil {
			return fmt.Errorf("let the function %s go on: %w", name, err)
		}
	}
	return g.take(ctx, queues, true)
}

// queues finds what each taker takes its tasks by, or fails before anything is held:
// a gate that is open in one place holds nothing.
func (g Maintenance) queues(ctx context.Context) (mappings []string, err error) {
	if slices.Contains(g.HTTPFunctions, "") || slices.Contains(g.Consumers, "") {
		return nil, errors.New("the stack does not tell the names of all its functions: deploy it with `make deploy` or `make up`")
	}
	for _, name := range g.Consumers {
		found, err := g.Client.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(name + ":" + alias)})
		if err != nil {
			return nil, fmt.Errorf("find the queue of %s: %w", name, err)
		}
		if n := len(found.EventSourceMappings); n != 1 {
			return nil, fmt.Errorf("%d queues call %s by its alias %s, not one: deploy the stack anew", n, name, alias)
		}
		mappings = append(mappings, aws.ToString(found.EventSourceMappings[0].UUID))
	}
	return mappings, nil
}

func (g Maintenance) take(ctx context.Context, queues []string, enabled bool) error {
	for i, id := range queues {
		if _, err := g.Client.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &id, Enabled: &enabled}); err != nil {
			return fmt.Errorf("hold or let go the queue of %s: %w", g.Consumers[i], err)
		}
	}
	return nil
}
