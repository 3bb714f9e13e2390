package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/bill"
	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/naive"
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

// lines are what so many messages cost in the named functions, for a million.
func (m *metered) lines(used map[string]use, messages int, beside map[string]time.Duration, functions ...string) (lines []bill.Line) {
	for _, f := range functions {
		lines = append(lines, perMillion(m.line(f, used[f], beside[f]), messages))
	}
	return lines
}

// sending meters the load part, and a token by itself.
func (m *metered) sending(ctx context.Context, b *bill.Bill, numbers []uint64) (map[string]use, error) {
	s := m.service
	if err := errors.Join(s.behave(ctx, map[string]any{"noEvents": true}), s.forgetMessages(ctx)); err != nil {
		return nil, err
	}
	token, err := m.token(ctx)
	if err != nil {
		return nil, err
	}
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
	b.Ours = append(b.Ours, token)
	b.Ours = append(b.Ours, m.lines(used, len(numbers), map[string]time.Duration{"send": provider}, "dispatch", "release", "send")...)
	if looked := used["campaigns"]; looked.lines > 0 {
		b.Beside = m.lines(used, looked.lines, nil, "campaigns")
		b.Beside[0].Function = "a million readings of a campaign"
	}
	b.Assumptions = append(b.Assumptions, fmt.Sprintf(
		"token, dispatch, release and send: metered while %d messages of one campaign were sent without events, %d a call of dispatch, %.0f a call of send",
		len(numbers), campaign.MaxMessages, float64(len(numbers))/float64(max(used["send"].lines, 1))))
	return used, nil
}

// token is what one token costs, which is enough for the hour of a million messages.
func (m *metered) token(ctx context.Context) (bill.Line, error) {
	const tokens = 3
	used, err := m.during(ctx, func() (err error) {
		for range tokens {
			_, failed := m.env.Token(ctx)
			err = errors.Join(err, failed)
		}
		return err
	})
	line := m.line("token", used["token"], 0)
	line.Units = line.Units.Times(1.0 / tokens)
	return line, err
}

// answering meters messages until the webhooks of their delivery and reading came.
func (m *metered) answering(ctx context.Context, b *bill.Bill, numbers []uint64) (map[string]use, error) {
	heard, err := listenForWebhooks(ctx, m.env, campaign.KindRead, campaign.KindDelivered)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(m.silenceSink(ctx), m.service.behave(ctx, map[string]any{})); err != nil {
		return nil, err
	}
	used, err := m.during(ctx, func() error { return m.deliver(ctx, numbers, heard) })
	if err != nil {
		return nil, err
	}
	m.poll(used, "outcomes")
	m.poll(used, "notify")
	posts := rounds(used["notify"].lines, heard.posts(), metering.PostsAtOnce, metering.WebhookRoundTrip)
	b.Ours = append(b.Ours, m.lines(used, len(numbers), map[string]time.Duration{"notify": posts}, "events", "outcomes", "notify")...)
	b.Assumptions = append(b.Assumptions, fmt.Sprintf(
		"events, outcomes and notify: metered while %d messages were delivered and read, with %d webhooks; %.0f events a call of outcomes, %.0f webhooks a call of notify",
		len(numbers), heard.posts(), float64(used["events"].lines)/float64(max(used["outcomes"].lines, 1)), float64(heard.posts())/float64(max(used["notify"].lines, 1))))
	return used, nil
}

// deliver sends messages and waits for their webhooks.
func (m *metered) deliver(ctx context.Context, numbers []uint64, heard *webhooks) error {
	trigger, err := newBatches(ctx, m.env)
	if err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	calling, stop := context.WithCancel(ctx)
	defer stop()
	work.Go(func() error { return trigger.run(calling) })
	work.Go(func() error {
		defer stop()
		if _, err := m.service.dispatchAll(ctx, m.watched, uuid.New(), numbers); err != nil {
			return err
		}
		return heard.await(ctx, len(numbers))
	})
	return work.Wait()
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
