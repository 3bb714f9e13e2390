package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/bill"
	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/naive"
	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

const (
	// costMessages are sent with the simulator's events switched off, COST_MESSAGES for
	// others; of costAnswered at most the events come too, which takes the emulator
	// some ten times as long.
	costMessages = 50_000
	costAnswered = 4_000
	// naiveMessages are sent by the naive design.
	naiveMessages = 500
	// quiet is how long no function has to call AWS until a run is over.
	quiet = 3 * time.Second
	// dearest is the most that a million messages may cost in dollars until they are
	// read, the figure that `make bench` is held to.
	dearest = 2.50
)

// cost meters every call of AWS that the functions make while messages are sent, on
// a stack of its own whose functions reach AWS through a proxy: in the load part the
// proxy would be in the way of its figures.
func cost(ctx context.Context, _ stackenv.Env) ([]result, error) {
	c, err := startMetered(ctx)
	if err != nil {
		return nil, err
	}
	b, err := c.bill(ctx)
	said, unsearched := searched(ctx, c.env, "cost")
	if err := errors.Join(err, unsearched, c.stop(ctx)); err != nil {
		return nil, err
	}
	if err := errors.Join(b.Print(os.Stdout), b.Write(".local/cost.json")); err != nil {
		return nil, err
	}
	results := []result{{
		"cost", "a million messages until they are read, beside the naive design",
		fmt.Sprintf("%.2f dollars, %.0f times less", b.Dollars(), b.Times()), b.Dollars() <= dearest,
	}, {
		"cost", "calls of AWS whose price is unknown, or whose caller", fmt.Sprint(c.proxy.Unknown()), len(c.proxy.Unknown()) == 0,
	}}
	for _, l := range b.Ours {
		results = append(results, result{"cost", "a million messages in " + l.Function, fmt.Sprintf("%.4f dollars", l.Units.Dollars(b.Prices.Units)), true})
	}
	return append(results, said...), nil
}

// metered is a stack whose functions' calls are metered.
type metered struct {
	stack   *ownstack.Stack
	proxy   *metering.Proxy
	env     stackenv.Env
	service service
	watched *processes
	unwatch func()
	memory  map[string]float64 // of functions, in GB
	last    map[string]time.Duration
}

func startMetered(ctx context.Context) (m *metered, err error) {
	const name = "campaign-dispatch-cost"
	m = &metered{unwatch: func() {}, memory: map[string]float64{}, last: map[string]time.Duration{}}
	if m.stack, err = ownstack.New(ctx, name, ".local/cost"); err != nil {
		return nil, err
	}
	emulator := stackenv.Env{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": m.stack.AWS().String(), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	}
	if m.proxy, err = metering.Start(ctx, name, m.stack.AWS(), metering.RowSizes(ctx, dynamodb.NewFromConfig(emulator.AWS()))); err != nil {
		return nil, err
	}
	if m.env, err = m.stack.Up(ctx, "--functions-aws", m.proxy.URL()); err == nil {
		err = m.prepare(ctx)
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
	functions := lambda.NewFromConfig(m.env.AWS())
	for key, value := range m.env {
		name, is := strings.CutSuffix(key, "_FUNCTION")
		if !is {
			continue
		}
		c, err := functions.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: aws.String(value)})
		if err != nil {
			return fmt.Errorf("look up the memory of a function: %w", err)
		}
		m.memory[strings.ToLower(name)] = float64(*c.MemorySize) / 1024
	}
	seen := maps.Clone(m.env)
	seen["AWS_ENDPOINT_URL"] = m.proxy.URL()
	m.watched, m.unwatch = watchProcesses(ctx, seen)
	return m.service.unhurried(ctx)
}

// stop ends all that startMetered began.
func (m *metered) stop(ctx context.Context) error {
	m.unwatch()
	err := m.stack.Down(ctx)
	m.proxy.Stop()
	return err
}

// use is what a function used while something was done.
type use struct {
	metering.Usage

	cpu   time.Duration
	lines int // of its log that count as calls
	bytes int // of its log
}

// during returns what each function used while something was done, and until all
// functions were quiet after.
func (m *metered) during(ctx context.Context, do func() error) (map[string]use, error) {
	if err := m.quieten(ctx); err != nil {
		return nil, err
	}
	m.measure()
	begun := time.Now()
	if err := do(); err != nil {
		return nil, err
	}
	if err := m.quieten(ctx); err != nil {
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

func (m *metered) quieten(ctx context.Context) error {
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

// logged returns how many calls a function's log tells of since then, and the bytes
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

// line is what a function cost: one of the named, whose calls waited for others than
// AWS too.
func (m *metered) line(function string, u use, beside time.Duration) bill.Line {
	units, calls := u.Units, float64(u.lines)
	units.Invocations = calls
	waited := time.Duration(u.Waits)*metering.AWSRoundTrip + beside
	units.GBSeconds = metering.GBSeconds(m.memory[function], waited.Seconds(), u.cpu.Seconds())
	const gigabyte = 1e9
	units.LogGB = float64(u.bytes) / gigabyte
	switch function {
	case "token", "dispatch", "campaigns": // bodies are below what counts as one call
		units.APICalls = calls
		units.LogGB += calls * (metering.AccessLog + metering.LogLine) / gigabyte
	}
	return bill.Line{Function: function, Units: units}
}

// rounds is how long so many things take of which a call has some at once, shared
// evenly by the calls.
func rounds(calls, things, atOnce int, each time.Duration) time.Duration {
	if calls == 0 {
		return 0
	}
	return time.Duration(float64(calls)*math.Ceil(float64(things)/float64(calls)/float64(atOnce))) * each
}

// queues are the functions that a queue calls, by what its address has.
var queues = map[string]string{"release": "RELEASE", "send": "SEND", "outcomes": "EVENTS", "notify": "NOTIFY"}

// poll adds the requests of SQS that bring a function its messages.
func (m *metered) poll(used map[string]use, function string) {
	name, messages := path.Base(m.env[queues[function]+"_QUEUE_URL"]), 0
	for _, u := range used {
		for address, n := range u.Messages {
			if path.Base(address) == name {
				messages += n
			}
		}
	}
	u := used[function]
	u.SQSRequests += metering.Polling(float64(u.lines), float64(messages))
	used[function] = u
}

// bill meters two runs, some calls by themselves, and the naive design.
func (m *metered) bill(ctx context.Context) (b bill.Bill, err error) {
	if b.Prices, err = metering.PriceList(); err != nil {
		return b, err
	}
	sent, err := m.sending(ctx, &b, someNumbers(costCount()))
	if err != nil {
		return b, err
	}
	answered, err := m.answering(ctx, &b, someNumbers(min(costCount(), costAnswered)))
	if err != nil {
		return b, err
	}
	if err := m.naive(ctx, &b, sent, answered); err != nil {
		return b, err
	}
	if err := m.idle(ctx, &b); err != nil {
		return b, err
	}
	b.Assumptions = append(b.Assumptions,
		fmt.Sprintf("an AWS call takes %v, a message at the provider %v (%d at once), a webhook %v (%d at once), a token an hour",
			metering.AWSRoundTrip, metering.ProviderRoundTrip, metering.SendConcurrency, metering.WebhookRoundTrip, metering.PostsAtOnce),
		"reads are counted by what they return, deletions as one unit each; processor times are this machine's; prices are those published for us-east-1, without free tiers, storage, data transfer and the functions' own metrics",
		"the naive design computes as long for a message as the service does, and logs nothing of its own")
	return b, nil
}

func costCount() int {
	n, err := strconv.Atoi(os.Getenv("COST_MESSAGES"))
	if err != nil || n <= 0 {
		return costMessages
	}
	return n
}

// perMillion scales what so many messages used.
func perMillion(l bill.Line, messages int) bill.Line {
	l.Units = l.Units.Times(float64(bill.Million) / float64(messages))
	return l
}

// sending meters the load part, and a token by itself.
func (m *metered) sending(ctx context.Context, b *bill.Bill, numbers []uint64) (map[string]use, error) {
	s := m.service
	if err := errors.Join(s.behave(ctx, map[string]any{"noEvents": true}), s.forgetMessages(ctx)); err != nil {
		return nil, err
	}
	const tokens = 3
	got, err := m.during(ctx, func() (err error) {
		for range tokens {
			_, failed := m.env.Token(ctx)
			err = errors.Join(err, failed)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	token := m.line("token", got["token"], 0)
	token.Units = token.Units.Times(1.0 / tokens) // in the hour of a million
	b.Ours = append(b.Ours, token)
	used, err := m.during(ctx, func() error {
		id := uuid.New()
		if _, err := s.dispatchAll(ctx, m.watched, id, numbers); err != nil {
			return err
		}
		_, err := s.awaitSent(ctx, m.watched, id, len(numbers))
		return err
	})
	if err != nil {
		return nil, err
	}
	m.poll(used, "release")
	m.poll(used, "send")
	provider := rounds(used["send"].lines, len(numbers), metering.SendConcurrency, metering.ProviderRoundTrip)
	for _, l := range []bill.Line{m.line("dispatch", used["dispatch"], 0), m.line("release", used["release"], 0), m.line("send", used["send"], provider)} {
		b.Ours = append(b.Ours, perMillion(l, len(numbers)))
	}
	if looked := used["campaigns"]; looked.lines > 0 {
		b.Beside = append(b.Beside, perMillion(m.line("campaigns", looked, 0), looked.lines))
		b.Beside[0].Function = "a million readings of a campaign"
	}
	b.Assumptions = append(b.Assumptions, fmt.Sprintf(
		"token, dispatch, release and send: metered while %d messages of one campaign were sent without events, %d a call of dispatch, %.0f a call of send",
		len(numbers), campaign.MaxMessages, float64(len(numbers))/float64(max(used["send"].lines, 1))))
	return used, nil
}

// answering meters messages until the webhooks of their delivery and reading came.
func (m *metered) answering(ctx context.Context, b *bill.Bill, numbers []uint64) (map[string]use, error) {
	s := m.service
	heard, err := listenForWebhooks(ctx, m.env, campaign.KindRead, campaign.KindDelivered)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.silenceSink(ctx), s.behave(ctx, map[string]any{})); err != nil {
		return nil, err
	}
	trigger, err := newBatches(ctx, m.env)
	if err != nil {
		return nil, err
	}
	used, err := m.during(ctx, func() error {
		work, ctx := errgroup.WithContext(ctx)
		calling, stop := context.WithCancel(ctx)
		defer stop()
		work.Go(func() error { return trigger.run(calling) })
		work.Go(func() error {
			defer stop()
			if _, err := s.dispatchAll(ctx, m.watched, uuid.New(), numbers); err != nil {
				return err
			}
			return heard.await(ctx, len(numbers))
		})
		return work.Wait()
	})
	if err != nil {
		return nil, err
	}
	m.poll(used, "outcomes")
	m.poll(used, "notify")
	posts := rounds(used["notify"].lines, heard.posts(), metering.PostsAtOnce, metering.WebhookRoundTrip)
	for _, l := range []bill.Line{m.line("events", used["events"], 0), m.line("outcomes", used["outcomes"], 0), m.line("notify", used["notify"], posts)} {
		b.Ours = append(b.Ours, perMillion(l, len(numbers)))
	}
	b.Assumptions = append(b.Assumptions, fmt.Sprintf(
		"events, outcomes and notify: metered while %d messages were delivered and read, with %d webhooks; %.0f events a call of outcomes, %.0f webhooks a call of notify",
		len(numbers), heard.posts(), float64(used["events"].lines)/float64(max(used["outcomes"].lines, 1)), float64(heard.posts())/float64(max(used["notify"].lines, 1))))
	return used, nil
}

// silenceSink leaves the demo tenant's own receiver out.
func (m *metered) silenceSink(ctx context.Context) error {
	store := storeOf(m.env)
	endpoints, err := store.Endpoints(ctx, m.env["TENANT"])
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if strings.HasPrefix(e.URL, m.env["WEBHOOK_SINK_URL"]) {
			_, failed := store.SetKinds(ctx, e.Tenant, e.ID, []string{string(campaign.KindOptedOut)})
			err = errors.Join(err, failed)
		}
	}
	return err
}

// naive meters the naive design, which computes as long for a message as the service.
func (m *metered) naive(ctx context.Context, b *bill.Bill, sent, answered map[string]use) error {
	d, err := naive.New(ctx, m.env.AWS())
	if err != nil {
		return err
	}
	numbers := someNumbers(naiveMessages)
	steps, err := d.Send(ctx, numbers)
	if err := errors.Join(err, d.Close(ctx)); err != nil {
		return err
	}
	all, some := float64(costCount()), float64(min(costCount(), costAnswered))
	cpu := map[string]float64{ // seconds of a message
		"dispatch": sent["dispatch"].cpu.Seconds() / all, "send": sent["send"].cpu.Seconds() / all,
		"events": (answered["events"].cpu + answered["outcomes"].cpu).Seconds() / some, "notify": answered["notify"].cpu.Seconds() / some,
	}
	for _, s := range steps {
		l := bill.Line{Function: "naive " + s.Function, Units: s.Units}
		tasks := s.Units.Invocations
		l.Units.GBSeconds = metering.GBSeconds(m.memory[s.Function], tasks*s.Waited.Seconds(), float64(len(numbers))*cpu[s.Function])
		if s.Function == "dispatch" {
			const gigabyte = 1e9
			l.Units.APICalls, l.Units.LogGB = tasks, tasks*(metering.AccessLog+metering.LogLine)/gigabyte
		}
		b.Naive = append(b.Naive, perMillion(l, len(numbers)))
	}
	return nil
}

// idle meters sweep, and counts what the template has that costs by the month.
func (m *metered) idle(ctx context.Context, b *bill.Bill) error {
	const sweeps = 5
	functions := lambda.NewFromConfig(m.env.AWS())
	used, err := m.during(ctx, func() (err error) {
		for range sweeps {
			_, failed := functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(m.env["SWEEP_FUNCTION"]), Payload: json.RawMessage("{}")})
			err = errors.Join(err, failed)
		}
		return err
	})
	if err != nil {
		return err
	}
	resources, err := bill.CountResources("template.yaml")
	if err != nil {
		return err
	}
	sweep := m.line("sweep", used["sweep"], 0).Units
	b.Idle = resources.Month(b.Prices, sweep.Times(1/max(sweep.Invocations, 1)))
	return nil
}
