package prove

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/arrival"
	"campaign-dispatch/localstack/lab/baseline"
	"campaign-dispatch/localstack/lab/bill"
	"campaign-dispatch/localstack/lab/metering"
)

// costRun is one campaign whose parts are metered one after the other.
type costRun struct {
	*metered

	events    *batches
	stream    *streamed   // once the messages are sent
	heard     []*webhooks // at each endpoint
	awaited   int         // webhooks that each has to get so far
	numbers   []uint64
	campaign  string
	tokenLine bill.Line
	common    []bill.Line        // of all shapes, for a million messages
	cpu       map[string]float64 // seconds for a message, by function
	tasks     int                // of notify in one shape
	taken     int                // calls of notify that got them
	left      float64            // bytes of a message that leave AWS until it is sent
}

// newRun registers the endpoints for all kinds.
func (m *metered) newRun(ctx context.Context, c bill.Conditions) (r *costRun, err error) {
	r = &costRun{metered: m, numbers: someNumbers(c.Messages), campaign: random.UUID(), cpu: map[string]float64{}}
	if err := m.silenceSink(ctx); err != nil {
		return nil, err
	}
	for range c.Endpoints {
		heard, err := listenForWebhooks(ctx, m.env, anyKind)
		if err != nil {
			return nil, err
		}
		r.heard = append(r.heard, heard)
	}
	if r.events, err = newBatches(ctx, m.env); err != nil {
		return nil, err
	}
	return r, errors.Join(m.service.behave(ctx, map[string]any{"noEvents": true}), m.service.forgetMessages(ctx))
}

// positive returns the positive number of an environment variable, or otherwise.
func positive(variable string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil || n <= 0 {
		return otherwise
	}
	return n
}

// during runs do and waits for so many webhooks at each endpoint.
func (r *costRun) during(ctx context.Context, webhooks int, do func() error) (map[string]use, error) {
	r.awaited += webhooks
	return r.metered.during(ctx, func() error {
		if err := do(); err != nil {
			return err
		}
		var all errgroup.Group
		for _, heard := range r.heard {
			all.Go(func() error { return heard.await(ctx, r.awaited) })
		}
		return all.Wait()
	})
}

// meterSending meters a token by itself, and messages until their message.sent webhooks are
// posted.
func (r *costRun) meterSending(ctx context.Context, b *bill.Bill) error {
	token, err := r.token(ctx)
	if err != nil {
		return err
	}
	messages, posted, sent := len(r.numbers), r.posted(), r.relay.sent.Load()
	used, err := r.during(ctx, messages, func() error {
		if err := r.service.dispatchAll(ctx, r.campaign, r.numbers); err != nil {
			return err
		}
		return r.service.awaitSent(ctx, r.campaign, messages)
	})
	if err != nil {
		return err
	}
	for _, function := range []string{"release", "send", "notify"} {
		r.poll(used, function)
	}
	r.left = frameBytes + (r.posted()-posted+float64(r.relay.sent.Load()-sent))/float64(messages)
	r.spend(used, messages, "dispatch", "send")
	r.tokenLine = token
	r.common = append([]bill.Line{token}, r.lines(used, messages, map[string]time.Duration{
		"send":   rounds(used["send"].lines, messages, metering.SendConcurrency, metering.ProviderRoundTrip),
		"notify": r.posting(used, messages),
	})...)
	if looked := used["campaigns"]; looked.lines > 0 {
		line := perMillion(r.line("campaigns", looked, 0), looked.lines)
		line.Function = "a million readings of a campaign"
		b.Beside = append(b.Beside, line)
	}
	b.Assumptions = append(b.Assumptions, fmt.Sprintf(
		"accepting and sending: metered while %d messages of one campaign were sent to their last message.sent webhook, %d a call of dispatch, %.0f a call of send",
		messages, campaign.MaxMessages, float64(messages)/float64(max(used["send"].lines, 1))))
	return nil
}

// meterScheduling meters full calls of dispatch into an existing campaign, one after the
// other, scheduled for after the metering.
func (r *costRun) meterScheduling(ctx context.Context, b *bill.Bill) error {
	const batches = 3
	id, at := random.UUID(), time.Now().AddDate(0, 1, 0)
	numbers := slices.Collect(slices.Chunk(someNumbers((batches+1)*campaign.MaxMessages), campaign.MaxMessages))
	if err := r.service.dispatchAt(ctx, id, 1, numbers[0], at); err != nil {
		return err
	}
	// The emulator answers so fast that of two calls side by side, one can end before the other
	// begins: they would count as one after the other.
	const distance = 200 * time.Millisecond
	r.proxy.SetDistance(distance)
	defer r.proxy.SetDistance(0)
	used, err := r.during(ctx, 0, func() (err error) {
		for i := range batches {
			err = errors.Join(err, r.service.dispatchAt(ctx, id, i+2, numbers[i+1], at))
		}
		return err
	})
	if err != nil {
		return err
	}
	u := used["dispatch"]
	line := perMillion(r.line("dispatch", u, 0), batches*campaign.MaxMessages)
	line.Function = "a million scheduled messages to the hand-off"
	b.Beside = append(b.Beside, line)
	token := r.tokenLine.Units.WithoutProcessor().Dollars(b.Prices.Units)
	now := r.common[slices.IndexFunc(r.common, func(l bill.Line) bool { return l.Function == "dispatch" })]
	r.limits = append(r.limits,
		limit{"AWS round trips of a dispatch call, warm", "in a row", float64(u.Waits) / float64(u.lines), 4},
		limit{"write units to accept 2,000 messages", "units", (u.Writes + u.IndexWrites) / float64(u.lines), 30},
		limit{"a million messages to the hand-off", "dollars without processor time", token + now.Units.WithoutProcessor().Dollars(b.Prices.Units), 0.02},
		limit{"a million scheduled messages to the hand-off", "dollars without processor time", token + line.Units.WithoutProcessor().Dollars(b.Prices.Units), 0.02})
	return nil
}

// posting is the time that notify waits for the endpoints at so many webhooks each.
func (r *costRun) posting(used map[string]use, webhooks int) time.Duration {
	return rounds(used["notify"].lines, webhooks*len(r.heard), metering.PostsAtOnce*len(r.heard), metering.WebhookRoundTrip)
}

// spend notes the processor time of a message in functions.
func (r *costRun) spend(used map[string]use, messages int, functions ...string) {
	for _, f := range functions {
		r.cpu[f] += used[f].cpu.Seconds() / float64(messages)
	}
}

// meterEvents meters the events function, whose cost does not depend on the order of the
// events. It removes the queued tasks.
func (r *costRun) meterEvents(ctx context.Context, b *bill.Bill) error {
	batch, err := r.batch(ctx, 1)
	if err != nil {
		return err
	}
	if err := r.service.behave(ctx, map[string]any{}); err != nil {
		return err
	}
	used, err := r.during(ctx, 0, func() error { return r.postEvents(ctx, batch) })
	if err := errors.Join(err, r.events.forget(ctx)); err != nil {
		return err
	}
	came := used["events"].lines
	if came < costEvents {
		return fmt.Errorf("%d of %d events came", came, costEvents)
	}
	used["events"] = times(used["events"], eventsOfMessage)
	r.spend(used, came, "events")
	r.common = append(r.common, r.lines(used, came, nil)...)
	b.Assumptions = append(b.Assumptions, fmt.Sprintf("events: metered while the provider sent %d events, each by a call of its own", came))
	return nil
}

// times multiplies the use of a function.
func times(u use, n int) use {
	u.Units = u.Times(float64(n))
	u.Waits, u.lines, u.bytes, u.cpu = n*u.Waits, n*u.lines, n*u.bytes, time.Duration(n)*u.cpu
	return u
}

// postEvents makes the provider send an event of messages of a batch.
func (r *costRun) postEvents(ctx context.Context, b campaign.Batch) error {
	const atOnce = 16
	var posts errgroup.Group
	posts.SetLimit(atOnce)
	for i := range costEvents {
		posts.Go(func() error {
			return r.service.do(ctx, http.MethodPost, r.env["RCS_URL"]+"/_sim/events", map[string]string{
				"agentId": r.env["DEMO_AGENT_ID"], "phone": "+" + strconv.FormatUint(r.numbers[i], 10), "eventType": "DELIVERED", "messageId": b.Key.MessageID(i),
			}, nil)
		})
	}
	return posts.Wait()
}

// batch reads one of the campaign's batches; the first is 1.
func (r *costRun) batch(ctx context.Context, number int) (campaign.Batch, error) {
	return storeOf(r.env).Batch(ctx, campaign.BatchRef{
		ID: campaign.ID{Tenant: r.env["TENANT"], CampaignID: r.campaign}, BatchID: campaign.BatchID(strconv.Itoa(number)),
	})
}

// meterShapes meters the events of each shape, on a batch without events.
func (r *costRun) meterShapes(ctx context.Context, b *bill.Bill) error {
	var err error
	if r.stream, err = newStreamed(ctx, r.env); err != nil {
		return err
	}
	interleaved := arrival.Size{PerCall: r.events.size, Batches: isolatedBatches, Rounds: b.Rounds}
	mix := arrival.Size{PerCall: r.events.size, Batches: mixedBatches(b.Rounds), Rounds: b.Rounds}
	for i, s := range arrival.Shapes(interleaved, mix) {
		fmt.Fprintf(os.Stderr, "  events of %d messages, %s\n", s.Messages, s.Name)
		original, err := r.batch(ctx, i+1)
		if err != nil {
			return err
		}
		r.tasks, r.taken = 0, 0
		posted := r.posted()
		lines, err := r.shape(ctx, s, original)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if i == 0 {
			u := bill.Sum("", lines).Units
			r.limits = append(r.limits, limit{"write units of a message from sent to read, " + s.Name, "units", (u.Writes + u.IndexWrites) / bill.Million, 0.5})
		}
		mixed := len(s.Then) - singleBatchCalls(s.Then)
		b.Shapes = append(b.Shapes, bill.Shape{
			Name: s.Name, Lines: bill.Merge(r.common, lines), TransferGB: transfer(r.common, r.left+(r.posted()-posted)/float64(s.Messages)),
			Conditions: fmt.Sprintf("%d events of %d messages: %d calls with one batch, %d with some of %d batches, whose %d isolated events of a kind come one after the other; the emulator gave notify %.1f messages a call",
				s.Events(), s.Messages, s.Calls()-mixed, mixed, s.Copies, b.Rounds, float64(r.tasks)/float64(max(r.taken, 1))),
		})
	}
	return nil
}

// singleBatchCalls is the number of calls with events of one batch only.
func singleBatchCalls(calls []arrival.Call) (n int) {
	for _, call := range calls {
		if call[0].Batch == call[len(call)-1].Batch {
			n++
		}
	}
	return n
}

func (r *costRun) shape(ctx context.Context, s arrival.Shape, original campaign.Batch) ([]bill.Line, error) {
	keys := []campaign.BatchKey{original.Key}
	first, err := r.arriving(ctx, s, s.First, keys)
	if err != nil {
		return nil, err
	}
	copies, err := copyBatch(ctx, r.env, original, s.Copies)
	if err != nil {
		return nil, err
	}
	then, err := r.arriving(ctx, s, s.Then, append(keys, copies...))
	return bill.Merge(first, then), err
}

// arriving meters some calls of a shape.
func (r *costRun) arriving(ctx context.Context, s arrival.Shape, calls []arrival.Call, keys []campaign.BatchKey) ([]bill.Line, error) {
	events := arrival.Count(calls)
	if events == 0 {
		return nil, nil
	}
	used, err := r.during(ctx, events, func() error { return r.arrive(ctx, calls, keys) })
	if err != nil {
		return nil, err
	}
	outcomes := used["outcomes"]
	outcomes.SQSRequests += metering.Polling(float64(outcomes.lines), float64(events))
	used["outcomes"] = outcomes
	r.tasks += r.poll(used, "notify")
	r.taken += used["notify"].lines
	if s.Copies == 0 { // the baseline design has the processor time of the cheapest shape
		r.spend(used, s.Messages, "outcomes", "notify")
	}
	return r.lines(used, s.Messages, map[string]time.Duration{"notify": r.posting(used, events)}), nil
}

// arrive calls outcomes with the events of each call, and feed with the recorded entries.
func (r *costRun) arrive(ctx context.Context, calls []arrival.Call, keys []campaign.BatchKey) error {
	for i := range calls {
		if err := r.events.arrive(ctx, calls[i:i+1], keys); err != nil {
			return err
		}
		if err := r.stream.feed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// meterBaseline meters the baseline design, with the processor time of the service.
func (r *costRun) meterBaseline(ctx context.Context, b *bill.Bill) error {
	d, err := baseline.New(ctx, r.env.AWS())
	if err != nil {
		return err
	}
	numbers := someNumbers(baselineMessages)
	steps, err := d.Send(ctx, numbers)
	if err := errors.Join(err, d.Close(ctx)); err != nil {
		return err
	}
	r.cpu["events"] += r.cpu["outcomes"]
	for _, s := range steps {
		l := bill.Line{Function: "naive " + s.Function, Units: s.Units}
		tasks := s.Units.Invocations
		l.Units.GBSeconds, l.Units.ComputedGBSeconds = metering.GBSeconds(r.memory[s.Function], tasks*s.Waited.Seconds(), float64(len(numbers))*r.cpu[s.Function])
		if s.Function == "dispatch" {
			l.Units.APICalls, l.Units.LogGB = tasks, tasks*(metering.AccessLog+metering.LogLine)/gigabyte
		}
		b.Naive = append(b.Naive, perMillion(l, len(numbers)))
	}
	return nil
}
