package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// Maintenance stops the functions of a stack, so that nothing is written to tables that
// are about to be replaced: those writes would be lost.
type Maintenance struct {
	Client        *lambda.Client
	HTTPFunctions []string // serve HTTP; while stopped, clients get a 5xx and retry
	Consumers     []string // read queues; while stopped, messages wait
}

// alias is the alias by which event source mappings invoke a function.
const alias = "live"

// Enter stops the functions. It has no effect on stopped functions.
func (g Maintenance) Enter(ctx context.Context) error {
	return g.change(ctx, false, "stop", func(name *string) error {
		in := &lambda.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: aws.Int32(0)}
		_, err := g.Client.PutFunctionConcurrency(ctx, in)
		return err
	})
}

// Exit resumes the functions.
func (g Maintenance) Exit(ctx context.Context) error {
	return g.change(ctx, true, "resume", func(name *string) error {
		_, err := g.Client.DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: name})
		return err
	})
}

// change changes the functions that serve HTTP, then enables or disables the queues of the
// others.
func (g Maintenance) change(ctx context.Context, enabled bool, verb string, function func(name *string) error) error {
	queues, err := g.queues(ctx)
	if err != nil {
		return err
	}
	for _, name := range g.HTTPFunctions {
		if err := function(&name); err != nil {
			return fmt.Errorf("%s the function %s: %w", verb, name, err)
		}
	}
	for i, id := range queues {
		if _, err := g.Client.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: &id, Enabled: &enabled}); err != nil {
			return fmt.Errorf("stop or resume the queue of %s: %w", g.Consumers[i], err)
		}
	}
	return nil
}

// queues returns the event source mapping of each consumer. It fails before anything is
// stopped: a partial stop would not prevent writes.
func (g Maintenance) queues(ctx context.Context) (mappings []string, err error) {
	if slices.Contains(g.HTTPFunctions, "") || slices.Contains(g.Consumers, "") {
		return nil, errors.New("the stack's outputs lack function names: deploy it with `make deploy` or `make up`")
	}
	for _, name := range g.Consumers {
		found, err := g.Client.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(name + ":" + alias)})
		if err != nil {
			return nil, fmt.Errorf("find the queue of %s: %w", name, err)
		}
		if n := len(found.EventSourceMappings); n != 1 {
			return nil, fmt.Errorf("%d queues invoke %s by its alias %s, want one: deploy the stack again", n, name, alias)
		}
		mappings = append(mappings, aws.ToString(found.EventSourceMappings[0].UUID))
	}
	return mappings, nil
}
