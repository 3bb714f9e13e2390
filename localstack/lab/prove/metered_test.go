package prove

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

const (
	// quiet is the time without calls of a function to AWS that ends a run.
	quiet = 3 * time.Second
	// gigabyte is the billing unit of logs, in bytes.
	gigabyte = 1e9
)

// metered is a stack whose functions' calls are metered.
type metered struct {
	stack   *ephemeralstack.Stack
	proxy   *metering.Proxy
	relay   *relay
	env     stackenv.Env
	service service
	watched *processes
	unwatch func()
	memory  map[string]float64 // of functions, in GB
	last    map[string]time.Duration
	limits  []limit // figures besides the dollars of each shape
}

func startMetered(ctx context.Context) (m *metered, err error) {
	const name = "campaign-dispatch-cost"
	m = &metered{unwatch: func() {}, last: map[string]time.Duration{}}
	if m.stack, err = ephemeralstack.New(ctx, name, ".local/cost"); err != nil {
		return nil, err
	}
	emulator := stackenv.Env{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": m.stack.AWS().String(), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	}
	if m.proxy, err = metering.Start(ctx, name, m.stack.AWS(), metering.RowSizes(ctx, dynamodb.NewFromConfig(emulator.AWS()))); err != nil {
		return nil, err
	}
	if m.relay, err = startRelay(ctx); err != nil {
		return nil, err
	}
	if m.env, err = m.stack.Up(ctx, "--functions-aws", m.proxy.URL(), "--parameter", "RcsUrl="+m.relay.url()); err == nil {
		err = errors.Join(m.relay.to(m.env["RCS_URL"]), m.prepare(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, m.stop(ctx))
	}
	return m, nil
}

func (m *metered) prepare(ctx context.Context) (err error) {
	if m.service, err = newService(ctx, m.env); err != nil {
		return err
	}
	if m.memory, err = memories(ctx, m.env); err != nil {
		return err
	}
	seen := maps.Clone(m.env)
	seen["AWS_ENDPOINT_URL"] = m.proxy.URL()
	m.watched, m.unwatch = watchProcesses(ctx, seen)
	return m.service.disableRateLimit(ctx)
}

// memories returns the memory of each function in GB.
func memories(ctx context.Context, env stackenv.Env) (map[string]float64, error) {
	functions, gigabytes := lambda.NewFromConfig(env.AWS()), map[string]float64{}
	for key, value := range env {
		name, is := strings.CutSuffix(key, "_FUNCTION")
		if !is {
			continue
		}
		c, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(value)})
		if err != nil {
			return nil, fmt.Errorf("look up the memory of a function: %w", err)
		}
		gigabytes[strings.ToLower(name)] = float64(*c.MemorySize) / 1024
	}
	return gigabytes, nil
}

// stop ends what startMetered started.
func (m *metered) stop(ctx context.Context) error {
	m.unwatch()
	err := m.stack.Down(ctx)
	m.proxy.Stop()
	if m.relay != nil {
		err = errors.Join(err, m.relay.listener.Close())
	}
	return err
}

// use is what a function used during a run.
type use struct {
	metering.Usage

	cpu   time.Duration
	lines int // of its log that count as calls
	bytes int // of its log
}

// during returns what each function used while do ran, and until all functions were quiet.
func (m *metered) during(ctx context.Context, do func() error) (map[string]use, error) {
	if err := m.waitIdle(ctx); err != nil {
		return nil, err
	}
	m.measure()
	begun := time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	if err := m.waitIdle(ctx); err != nil {
		return nil, err
	}
	used := m.measure()
	for function, u := range used {
		var err error
		if u.lines, u.bytes, err = m.logged(ctx, function, begun); err != nil {
			return nil, err
		}
		used[function] = u
	}
	return used, nil
}

func (m *metered) waitIdle(ctx context.Context) error {
	for known, since := -1, time.Now(); time.Since(since) < quiet; {
		if now := m.proxy.Calls(); now != known {
			known, since = now, time.Now()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quiet / 10):
		}
	}
	return nil
}

// measure returns what was used since the last measure, without the logs.
func (m *metered) measure() map[string]use {
	used := map[string]use{}
	taken := m.proxy.Take()
	for function := range m.memory {
		spent := m.watched.spent(function)
		used[function] = use{Usage: taken[function], cpu: spent - m.last[function]}
		m.last[function] = spent
	}
	return used
}

// logged returns how many calls are in a function's log since then, and the bytes
// that the function wrote. What the emulator writes around a call is not counted as
// bytes: the template switches it off.
func (m *metered) logged(ctx context.Context, function string, since time.Time) (calls, bytes int, err error) {
	group := "/campaign-dispatch/" + m.env["STACK_NAME"] + "/" + function
	for line, err := range linesOf(ctx, cloudwatchlogs.NewFromConfig(m.env.AWS()), group, since) {
		switch {
		case err != nil:
			return 0, 0, err
		case strings.HasPrefix(line, "START RequestId:"):
			calls++
		case strings.HasPrefix(line, "END RequestId:"), strings.HasPrefix(line, "REPORT RequestId:"):
		default:
			bytes += len(line) + metering.LogLine
		}
	}
	return calls, bytes, nil
}

// line returns the cost of a function. nonAWSWait is the time that its calls waited for others
// than AWS.
func (m *metered) line(function string, u use, nonAWSWait time.Duration) bill.Line {
	units, calls := u.Units, float64(u.lines)
	units.Invocations = calls
	waited := time.Duration(u.Waits)*metering.AWSRoundTrip + nonAWSWait
	units.GBSeconds, units.ComputedGBSeconds = metering.GBSeconds(m.memory[function], waited.Seconds(), u.cpu.Seconds())
	units.LogGB = float64(u.bytes) / gigabyte
	switch function {
	case "token", "dispatch", "campaigns": // bodies are below what counts as one call
		units.APICalls = calls
		units.LogGB += calls * (metering.AccessLog + metering.LogLine) / gigabyte
	}
	return bill.Line{Function: function, Units: units}
}

// rounds returns the duration of n operations that calls share evenly, atOnce at a time in
// each call.
func rounds(calls, n, atOnce int, each time.Duration) time.Duration {
	if calls == 0 {
		return 0
	}
	return time.Duration(float64(calls)*math.Ceil(float64(n)/float64(calls)/float64(atOnce))) * each
}

// queues are the functions that a queue calls, by what its address has.
var queues = map[string]string{"release": "RELEASE", "send": "SEND", "outcomes": "EVENTS", "notify": "NOTIFY"}

// poll adds the requests of SQS that bring a function its messages, and returns how
// many messages those are.
func (m *metered) poll(used map[string]use, function string) (messages int) {
	name := path.Base(m.env[queues[function]+"_QUEUE_URL"])
	for _, u := range used {
		for address, n := range u.Messages {
			if path.Base(address) == name {
				messages += n
			}
		}
	}
	u := used[function]
	polls := metering.Polling(float64(u.lines), float64(messages))
	u.SQSRequests += polls
	if function != "outcomes" { // events have no message group
		u.FairRequests += polls
	}
	used[function] = u
	return messages
}
