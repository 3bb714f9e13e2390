package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/lab/arrival"
	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
)

const (
	// costEvents are sent by the provider, to meter the events function.
	costEvents = 1000
	// eventsOfMessage are the events of a message: it is delivered and read.
	eventsOfMessage = 2
	// isolatedBatches is the number of batches with one event in each call of isolated
	// events.
	isolatedBatches = 500
	// baselineMessages are sent by the baseline design.
	baselineMessages = 500
)

// costConditions are the messages that are accepted and sent: full batches, one for each shape
// at least; the endpoints that get the webhooks of all kinds; and the isolated events of each
// kind in a batch. A process reads what it caches of a batch once for all of them.
func costConditions() bill.Conditions {
	messages := positive("COST_MESSAGES", bill.Usual.Messages)
	fewest := len(arrival.Shapes(arrival.Size{PerCall: 1}, arrival.Size{PerCall: 1}))
	return bill.Conditions{
		Messages:  max(fewest, messages/campaign.MaxMessages) * campaign.MaxMessages,
		Endpoints: positive("COST_ENDPOINTS", bill.Usual.Endpoints),
		Rounds:    positive("COST_ROUNDS", bill.Usual.Rounds),
	}
}

// mixedBatches is the number of batches with the isolated events of a day's mix, beside one
// batch of others.
func mixedBatches(rounds int) int { return campaign.MaxMessages / 2 / rounds }

// most is the most that a message may use until it is read. None of it depends on the machine that meters.
type most struct {
	dollars  float64 // for a million messages, without processor time
	writes   float64 // units of tables and indexes
	requests float64 // of queues
}

// usualMost are the limits by the order in which the events arrive. The dollars are the sums of the kept
// units (localstack/lab/bill/metered) with the processor time of an idle machine, two per cent of them. Writes and
// requests are about two per cent above those units. The limit of clustered writes is eight per cent
// above: those of paced sending and of kept posts differ from run to run.
var usualMost = map[string]most{
	"clustered": {1.75, 0.19, 2.46}, "interleaved": {3.41, 2.18, 2.46}, "a day's mix": {2.24, 0.725, 2.49},
}

// isolatedMost are those if a batch has fewer isolated events of a kind than usual.
var isolatedMost = map[string]most{
	"clustered": {1.83, 0.19, 2.46}, "interleaved": {5.86, 2.19, 2.46}, "a day's mix": {3.27, 1.21, 2.46},
}

// judge compares a shape with its limits.
func (m most) judge(s bill.Shape, p metering.Prices) []limit {
	u := s.Sum().Units.WithoutProcessor()
	return []limit{
		{"a million messages until they are read, " + s.Name, "dollars without processor time", u.Dollars(p.Units), m.dollars},
		{"write units of a message until it is read, " + s.Name, "units", (u.Writes + u.IndexWrites) / bill.Million, m.writes},
		{"requests of queues for a message until it is read, " + s.Name, "requests", u.SQSRequests / bill.Million, m.requests},
	}
}

// cost meters every call of the functions to AWS while messages are sent, through a proxy.
// It has a stack of its own, because the proxy would change the figures of the load part.
func cost(ctx context.Context, t *testing.T, _ stackenv.Env) {
	t.Helper()
	c, err := startMetered(ctx)
	check(t, err)
	t.Cleanup(func() {
		if err := c.stop(ctx); err != nil {
			t.Error(err)
		}
	})
	b, err := c.bill(ctx)
	check(t, err)
	check(t, errors.Join(b.Print(os.Stdout), b.Write(".local/cost.json")))
	record(t, len(c.proxy.Unknown()) == 0, "calls of AWS whose price is unknown, or whose caller", fmt.Sprint(c.proxy.Unknown()))
	limits := usualMost
	if b.Rounds < bill.Usual.Rounds {
		limits = isolatedMost
	}
	for _, s := range b.Shapes {
		for _, l := range limits[s.Name].judge(s, b.Prices) {
			record(t, l.kept(), l.what, l.String())
		}
		record(t, true, "a million messages until they are read, "+s.Name+", with this machine's processor time",
			fmt.Sprintf("%.2f dollars", s.Dollars(b.Prices)))
	}
	for _, s := range b.Shapes {
		record(t, s.TransferGB > 0, "data transfer out of a million messages, "+s.Name,
			fmt.Sprintf("%.2f GB, %.2f dollars more", s.TransferGB, s.TransferGB*b.Prices.TransferGB))
	}
	for _, l := range c.limits {
		record(t, l.kept(), l.what, l.String())
	}
	searchLogs(ctx, t, c.env)
}

// limit is a figure with its maximum.
type limit struct {
	what, unit  string
	value, most float64
}

func (l limit) kept() bool { return l.value <= l.most }

func (l limit) String() string {
	return fmt.Sprintf("%.4g %s, the limit is %.4g", l.value, l.unit, l.most)
}

// bill meters accepting and sending, the events of each shape, some calls by
// themselves, and the baseline design.
func (m *metered) bill(ctx context.Context) (b bill.Bill, err error) {
	b.Prices, err = metering.PriceList(metering.Virginia)
	if err == nil {
		b.Other, err = metering.PriceList(metering.SaoPaulo)
	}
	if err != nil {
		return b, err
	}
	b.Conditions = costConditions()
	r, err := m.newRun(ctx, b.Conditions)
	if err != nil {
		return b, err
	}
	for _, part := range []func(context.Context, *bill.Bill) error{r.meterSending, r.meterScheduling, r.meterEvents, r.meterShapes, r.meterBaseline} {
		if err := part(ctx, &b); err != nil {
			return b, err
		}
	}
	if err := m.idle(ctx, &b); err != nil {
		return b, err
	}
	b.Assumptions = append(b.Assumptions,
		fmt.Sprintf("an AWS call takes %v, a message at the provider %v (%d at once), a webhook %v (%d at once for an endpoint), a token an hour",
			metering.AWSRoundTrip, metering.ProviderRoundTrip, metering.SendConcurrency, metering.WebhookRoundTrip, metering.PostsAtOnce),
		"reads are counted by what they return, deletions as one unit each, an index's entry in a transaction twice, as its row is; processor times are this machine's; prices are the published ones, without free tiers, storage and the functions' own metrics",
		"the baseline design has one endpoint with two webhooks of a message; it computes as long for a message as the service does, and logs nothing of its own")
	return b, nil
}

// perMillion scales the use of some messages to a million.
func perMillion(l bill.Line, messages int) bill.Line {
	l.Units = l.Units.Times(float64(bill.Million) / float64(messages))
	return l
}

// otherFunctions are the functions that do not process messages.
var otherFunctions = []string{"campaigns", "sweep", "token"}

// lines are the costs of a million messages in each function that was called.
func (m *metered) lines(used map[string]use, messages int, nonAWSWait map[string]time.Duration) (lines []bill.Line) {
	for _, f := range slices.Sorted(maps.Keys(used)) {
		if u := used[f]; u.lines > 0 && !slices.Contains(otherFunctions, f) {
			lines = append(lines, perMillion(m.line(f, u, nonAWSWait[f]), messages))
		}
	}
	return lines
}

// token is the cost of one token. One token suffices for the hour of a million messages.
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

// silenceSink disables the demo tenant's own endpoint.
func (m *metered) silenceSink(ctx context.Context) error {
	store := storeOf(m.env)
	endpoints, err := store.Endpoints(ctx, m.env["TENANT"])
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if strings.HasPrefix(e.URL, m.env["WEBHOOK_SINK_URL"]) {
			_, failed := store.SetKinds(ctx, e.Tenant, e.ID, []string{string(delivery.KindOptedOut)})
			err = errors.Join(err, failed)
		}
	}
	return err
}

// idle meters a part of sweep, and counts the template's resources with a monthly price.
func (m *metered) idle(ctx context.Context, b *bill.Bill) error {
	const sweeps = 5
	functions := lambda.NewFromConfig(m.env.AWS())
	used, err := m.during(ctx, func() (err error) {
		for range sweeps {
			_, failed := functions.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(m.env["SWEEP_FUNCTION"]), Payload: json.RawMessage(`{"part":0,"of":4}`)})
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
	sweep = sweep.Times(1 / max(sweep.Invocations, 1))
	b.Sweep, b.Idle, b.OtherIdle = sweep, resources.Month(b.Prices, sweep), resources.Month(b.Other, sweep)
	return nil
}
