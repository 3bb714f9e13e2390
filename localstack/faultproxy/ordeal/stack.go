package ordeal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/localstack/faultproxy"
	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
)

const (
	stackName = "campaign-dispatch-faults"
	stackDir  = ".local/faults"
	// hidden is for how many seconds a queue hides what a function has got: six
	// minutes on AWS, which nobody wants to wait for.
	hidden = "15"
)

// stack is a local stack whose functions reach AWS through the proxy.
type stack struct {
	own   *ownstack.Stack
	env   stackenv.Env
	proxy *faultproxy.Proxy
	sinks *sinks
	lives atomic.Int64
}

func startStack(ctx context.Context) (*stack, error) {
	own, err := ownstack.New(ctx, stackName, stackDir)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.Start(ctx, stackName, own.AWS())
	if err != nil {
		return nil, err
	}
	s := &stack{own: own, proxy: proxy}
	if err := s.up(ctx); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

func (s *stack) up(ctx context.Context) (err error) {
	s.env, err = s.own.Up(ctx, "--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2", "--parameter", "EventsWindowSeconds=1",
		"--functions-aws", s.proxy.URL())
	if err != nil {
		return err
	}
	queues := sqs.NewFromConfig(s.env.AWS())
	for _, queue := range []string{"RELEASE", "SEND", "EVENTS", "NOTIFY", "REVOKE"} {
		_, err := queues.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(s.env[queue+"_QUEUE_URL"]), Attributes: map[string]string{"VisibilityTimeout": hidden},
		})
		if err != nil {
			return fmt.Errorf("let a queue repeat sooner: %w", err)
		}
	}
	s.sinks, err = serveSinks(ctx)
	return err
}

// stop ends all that startStack began.
func (s *stack) stop(ctx context.Context) error {
	err := s.own.Down(ctx)
	s.proxy.Stop()
	if s.sinks != nil {
		s.sinks.stop()
	}
	return err
}

// sweepAlways runs the sweep function again and again, until ctx ends: every two
// seconds and not every minute.
func (s *stack) sweepAlways(ctx context.Context) {
	const every = 2 * time.Second
	functions := lambda.NewFromConfig(s.env.AWS())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			go func() { // one may hang
				_, _ = functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(s.env["SWEEP_FUNCTION"]), Payload: []byte("{}")})
			}()
		}
	}
}
