package ordeal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/localstack/faultproxy"
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
	env   stackenv.Env
	proxy *faultproxy.Proxy
	flags []string
	sinks *sinks
}

func startStack(ctx context.Context) (*stack, error) {
	ports, err := FreePorts(ctx, 4)
	if err != nil {
		return nil, err
	}
	emulator := "http://127.0.0.1:" + ports[1]
	to, err := url.Parse(emulator)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.Start(ctx, stackName, to)
	if err != nil {
		return nil, err
	}
	s := &stack{proxy: proxy, flags: []string{
		"--brief", "--dir", stackDir, "--name", stackName, "--port", ports[0], "--aws-port", ports[1], "--rcs-port", ports[2], "--sink-port", ports[3],
		"--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2", "--parameter", "EventsWindowSeconds=1",
		"--functions-aws", proxy.URL(),
	}}
	if err := s.up(ctx); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

func (s *stack) up(ctx context.Context) (err error) {
	if err := s.command(ctx, "down"); err != nil {
		return err
	}
	if err := s.command(ctx, "up"); err != nil {
		return err
	}
	if s.env, err = stackenv.Read(filepath.Join(stackDir, "stack.env")); err != nil {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := s.command(ctx, "down")
	s.proxy.Stop()
	if s.sinks != nil {
		s.sinks.stop()
	}
	return err
}

// command runs a command of the local stack.
func (s *stack) command(ctx context.Context, name string) error {
	const program = ".local/localstack-faults"
	if _, err := os.Stat(program); err != nil || name == "up" {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./localstack").CombinedOutput(); err != nil {
			return fmt.Errorf("build the local stack: %w\n%s", err, out)
		}
	}
	out, err := exec.CommandContext(ctx, program, append(s.flags, name)...).CombinedOutput() //nolint:gosec // our own program
	if err != nil {
		return fmt.Errorf("bring a stack for the faults %s: %w\n%s", name, err, out)
	}
	return nil
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

// FreePorts returns n ports of 127.0.0.1 that nobody listens on.
func FreePorts(ctx context.Context, n int) ([]string, error) {
	var ports []string
	var held []net.Listener // until all are found
	var failed error
	for range n {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			failed = err
			break
		}
		held = append(held, l)
		_, port, err := net.SplitHostPort(l.Addr().String())
		ports, failed = append(ports, port), errors.Join(failed, err)
	}
	for _, l := range held {
		failed = errors.Join(failed, l.Close())
	}
	return ports, failed
}
