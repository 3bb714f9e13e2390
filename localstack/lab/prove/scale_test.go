package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/lab/arrival"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/lab/scale"
	"campaign-dispatch/localstack/stackenv"
)

// meterVariable makes the part write the metered figures instead of comparing them.
const meterVariable = "SCALE_METER"

var errStalled = errors.New("what was waited for did not come")

// The steps of the small load, and of the larger one whose figures are written.
var (
	fewSteps  = map[string]float64{scale.Token: 2, scale.Batch: 1, scale.Single: 3, scale.IsolatedSingle: 3, scale.Isolated: 4, scale.Group: 1}
	manySteps = map[string]float64{scale.Token: 5, scale.Batch: 1, scale.Single: 20, scale.IsolatedSingle: 20, scale.Isolated: 10, scale.Group: 1}
)

// scaleModel checks that the model of `make scale` has the use of every table, index, queue and
// function that the meter sees in a small load.
func scaleModel(ctx context.Context, t *testing.T, _ stackenv.Env) {
	t.Helper()
	stack, err := startMetered(ctx)
	check(t, err)
	t.Cleanup(func() {
		if err := stack.stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if os.Getenv(meterVariable) != "" {
		seen, err := (&smallLoad{metered: stack, counts: manySteps}).meter(ctx)
		check(t, err)
		write(t, seen)
		return
	}
	seen, err := (&smallLoad{metered: stack, counts: fewSteps}).meter(ctx)
	check(t, err)
	model, err := scale.Measured()
	check(t, err)
	compareSteps(t, "sending", model, seen, scale.Token, scale.Batch, scale.Single)
	compareSteps(t, "events", model, seen, scale.Isolated, scale.IsolatedSingle, scale.Group)
}

// compareSteps compares what some steps of the small load use by the model and by the meter.
func compareSteps(t *testing.T, name string, model, seen scale.Metered, steps ...string) {
	t.Helper()
	part := map[string]float64{}
	for _, step := range steps {
		part[step] = fewSteps[step]
	}
	differ := differences(model.Sum(part), seen.Sum(part))
	record(t, len(differ) == 0, name+" of a small load: differences between the model of make scale and the meter",
		strings.Join(append([]string{strconv.Itoa(len(differ))}, differ...), "\n"))
}

func write(t *testing.T, seen scale.Metered) {
	t.Helper()
	text, err := json.MarshalIndent(seen, "", "  ")
	check(t, err)
	check(t, os.WriteFile("localstack/lab/scale/metered.json", append(text, '\n'), 0o600))
}

// tolerated reports whether the model and the meter differ by a tenth and some units at
// most: a campaign's first rows are metered among twenty batches and seen among three.
func tolerated(model, metered, units float64) bool {
	return math.Abs(model-metered) <= units+0.1*max(model, metered)
}

// Additional units that may differ. The emulator decides how many processes it starts, each
// of which reads rows that it caches, and how many frames a call of send gets. Calls race for
// the HEAD of a batch and the RATE of an agent: the loser repeats the call.
var (
	keptRows    = []string{"", "AGENT", "TENANT", "ENDPOINT", "CIRCUIT", "CURRENT", "V", "BATCH", "PAUSE"}
	racedRows   = []string{"HEAD", "LOG", "RATE"}
	keptReads   = 40.0
	racedWrites = 20.0
	fewWrites   = 4.0
	fewReads    = 6.0
	fewMessages = 2.0
)

// differences describes what the model and the meter do not have in common.
func differences(model, metered scale.Step) (differ []string) {
	if len(metered.Places) == 0 {
		differ = append(differ, "the meter saw no rows")
	}
	for at, both := range placesOf(model, metered) {
		reads, writes := fewReads, fewWrites
		if slices.Contains(keptRows, at.Kind) {
			reads += keptReads
		}
		if sends := metered.Functions["send"].Calls > 0; sends && slices.Contains(racedRows, at.Kind) {
			reads, writes = reads+racedWrites, writes+racedWrites
		}
		if !tolerated(both[0].Writes, both[1].Writes, writes) || !tolerated(both[0].Reads, both[1].Reads, reads) {
			differ = append(differ, fmt.Sprintf("%+v: the model has %.1f write and %.1f read units, the meter %.1f and %.1f",
				at, both[0].Writes, both[0].Reads, both[1].Writes, both[1].Reads))
		}
	}
	for _, queue := range []string{"release", "send", "outcomes", "notify"} {
		if !tolerated(model.Queues[queue], metered.Queues[queue], fewMessages) {
			differ = append(differ, fmt.Sprintf("tasks for %s: the model has %.1f, the meter %.1f", queue, model.Queues[queue], metered.Queues[queue]))
		}
	}
	if !tolerated(model.Signed, metered.Signed, 0) {
		differ = append(differ, fmt.Sprintf("signatures: the model has %.1f, the meter %.1f", model.Signed, metered.Signed))
	}
	return differ
}

// placesOf returns the use of each place by both steps.
func placesOf(steps ...scale.Step) map[metering.Place][2]scale.Spent {
	places := map[metering.Place][2]scale.Spent{}
	for i, step := range steps {
		for _, p := range step.Places {
			both := places[p.Place]
			both[i] = p
			places[p.Place] = both
		}
	}
	return places
}

// smallLoad runs each kind of step several times, one kind after the other.
type smallLoad struct {
	*metered

	counts map[string]float64
	seen   scale.Metered
	heard  *webhooks
	known  map[string]bool // messages by their numbers' positions
	full   []string        // messages of the full batch
	single []string        // of batches of one
	next   int             // of the full batch's messages that has no event yet
}

func (l *smallLoad) meter(ctx context.Context) (scale.Metered, error) {
	l.seen, l.known = scale.Metered{}, map[string]bool{}
	if err := l.prepareEndpoints(ctx); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		name string
		do   func(ctx context.Context, n int) error
	}{
		{scale.Token, l.tokens},
		{scale.Batch, l.batch},
		{scale.Single, l.singles},
		{scale.Isolated, l.isolated},
		{scale.IsolatedSingle, l.isolatedSingles},
		{scale.Group, l.group},
	} {
		fmt.Fprintln(os.Stderr, "…", step.name)
		if step.name == scale.Isolated {
			if err := l.passFirstPosts(ctx); err != nil {
				return nil, err
			}
		}
		n := int(l.counts[step.name])
		used, err := l.during(ctx, func() error { return step.do(ctx, n) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		l.seen[step.name] = l.step(used, float64(n))
	}
	return l.seen, nil
}

// prepareEndpoints gives the tenant two endpoints, and no others for deliveries.
func (l *smallLoad) prepareEndpoints(ctx context.Context) (err error) {
	if err := l.silenceSink(ctx); err != nil {
		return err
	}
	if l.heard, err = listenForWebhooks(ctx, l.env, delivery.KindDelivered); err != nil {
		return err
	}
	store := storeOf(l.env)
	all, err := store.Endpoints(ctx, l.env["TENANT"])
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(e delivery.Endpoint) bool { return e.Subscribes(delivery.KindDelivered) })
	second := all[at]
	second.ID = random.UUID()
	if err := store.SaveEndpoint(ctx, second); err != nil {
		return err
	}
	return l.service.behave(ctx, map[string]any{"noEvents": true})
}

func (l *smallLoad) tokens(ctx context.Context, n int) error {
	for range n {
		if _, err := l.env.Token(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *smallLoad) batch(ctx context.Context, n int) (err error) {
	l.full, err = l.send(ctx, n, campaign.MaxMessages)
	return err
}

func (l *smallLoad) singles(ctx context.Context, n int) (err error) {
	l.single, err = l.send(ctx, n, 1)
	return err
}

// send dispatches batches of a new campaign and returns the IDs of their messages,
// once all are with the provider.
func (l *smallLoad) send(ctx context.Context, batches, size int) ([]string, error) {
	id, first := random.UUID(), len(l.known)
	numbers := someNumbers(first + batches*size)
	for i := range batches {
		if err := l.service.dispatch(ctx, id, i+1, numbers[first+i*size:first+(i+1)*size]); err != nil {
			return nil, err
		}
	}
	if err := l.service.awaitSent(ctx, id, batches*size); err != nil {
		return nil, err
	}
	return l.newMessages(ctx)
}

func (l *smallLoad) newMessages(ctx context.Context) (ids []string, err error) {
	var all []struct{ MessageID, Phone string }
	if err := l.service.do(ctx, http.MethodGet, l.env["RCS_URL"]+"/_sim/messages", nil, &all); err != nil {
		return nil, err
	}
	for _, m := range all {
		if !l.known[m.MessageID] {
			l.known[m.MessageID] = true
			ids = append(ids, m.MessageID)
		}
	}
	return ids, nil
}

// passFirstPosts posts the webhooks that notify keeps with their payloads: the first of an
// hour. A large load has few of them.
func (l *smallLoad) passFirstPosts(ctx context.Context) error {
	const first = 12
	if err := l.service.behave(ctx, map[string]any{}); err != nil { // all is sent: no more events come by themselves
		return err
	}
	l.next = first
	return l.oneByOne(ctx, l.full[:first])
}

func (l *smallLoad) isolated(ctx context.Context, n int) error {
	from := l.next
	l.next += n
	return l.oneByOne(ctx, l.full[from:l.next])
}

// isolatedSingles calls outcomes with events of different batches.
func (l *smallLoad) isolatedSingles(ctx context.Context, n int) error {
	return l.together(ctx, l.single[:n])
}

// oneByOne delivers each message after the webhooks of the previous one.
func (l *smallLoad) oneByOne(ctx context.Context, ids []string) error {
	for _, id := range ids {
		before := l.heard.posts()
		if err := l.deliver(ctx, id); err != nil {
			return err
		}
		if err := l.awaitPosts(ctx, before, 1); err != nil {
			return err
		}
	}
	return nil
}

func (l *smallLoad) deliver(ctx context.Context, messageID string) error {
	return l.service.do(ctx, http.MethodPost, l.env["RCS_URL"]+"/_sim/events", map[string]string{
		"agentId": l.env["DEMO_AGENT_ID"], "phone": "+5511987654321", "eventType": "DELIVERED", "messageId": messageID,
	}, nil)
}

// awaitPosts waits until both endpoints have webhooks of so many more messages.
func (l *smallLoad) awaitPosts(ctx context.Context, before, n int) error {
	return l.until(ctx, func() (bool, error) { return l.heard.posts() >= before+scale.Endpoints*n, nil })
}

func (l *smallLoad) until(ctx context.Context, done func() (bool, error)) error {
	for begun := time.Now(); time.Since(begun) < stallTimeout; {
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errStalled
}

// group calls outcomes with events of one batch.
func (l *smallLoad) group(ctx context.Context, _ int) error {
	return l.together(ctx, l.full[l.next:l.next+scale.GroupSize])
}

// together delivers messages and calls outcomes with all events at once, which the
// emulator's trigger does not do.
func (l *smallLoad) together(ctx context.Context, ids []string) error {
	before := l.heard.posts()
	trigger, err := newBatches(ctx, l.env)
	if err != nil {
		return err
	}
	var call arrival.Call
	var keys []campaign.BatchKey
	for i, id := range ids {
		if err := l.deliver(ctx, id); err != nil { // which the events function takes
			return err
		}
		key, index, _ := campaign.ParseMessageID(id)
		keys = append(keys, key)
		call = append(call, arrival.Event{Batch: i, Message: index, Kind: reaction.EventDelivered})
	}
	if err := trigger.arrive(ctx, []arrival.Call{call}, keys); err != nil {
		return err
	}
	if err := trigger.forget(ctx); err != nil {
		return err
	}
	return l.awaitPosts(ctx, before, len(ids))
}

// step is what each of n steps used. Sweep works by the clock and not by the load, and
// reading a campaign is how this test waits.
func (l *smallLoad) step(used map[string]use, n float64) scale.Step {
	s := scale.Step{Functions: map[string]scale.Function{}, Queues: map[string]float64{}}
	places := map[metering.Place]metering.Units{}
	for function, u := range used {
		if function == "sweep" || function == "campaigns" || function == "dashboard" {
			continue
		}
		if u.lines > 0 {
			s.Functions[function] = scale.Function{Calls: float64(u.lines) / n, Waits: float64(u.Waits) / n, CPU: u.cpu.Seconds() / n}
		}
		for at, spent := range u.Places {
			if at.Kind == "POSTS" { // a sample of the posts, which the model computes
				continue
			}
			at.Table = l.tableName(at.Table)
			spent.Add(places[at])
			places[at] = spent
		}
		for address, messages := range u.Messages {
			if f := l.takes(address); f != "" {
				s.Queues[f] += float64(messages) / n
			}
		}
		s.Signed += u.KMSSignatures / n
	}
	for at, u := range places {
		s.Places = append(s.Places, scale.Spent{Place: at, Writes: (u.Writes + u.IndexWrites) / n, Reads: u.Reads / n})
	}
	slices.SortFunc(s.Places, func(a, b scale.Spent) int {
		return slices.Compare([]string{a.Table, a.Index, a.Kind}, []string{b.Table, b.Index, b.Kind})
	})
	return s
}

func (l *smallLoad) tableName(name string) string {
	return map[string]string{l.env["AUTH_TABLE"]: "auth", l.env["CAMPAIGNS_TABLE"]: "campaigns", l.env["OUTCOMES_TABLE"]: "outcomes", l.env["WEBHOOKS_TABLE"]: "webhooks"}[name]
}

// takes is the function that a queue calls.
func (l *smallLoad) takes(address string) string {
	for function, name := range queues {
		if path.Base(address) == path.Base(l.env[name+"_QUEUE_URL"]) {
			return function
		}
	}
	return ""
}
