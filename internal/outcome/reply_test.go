package outcome_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
)

const eventBlob = "events/agent/e"

// people stores the data of answers: one tenant, its opt-outs and its pending deliveries.
type people struct {
	*batchLedger
	content    reaction.EventContent
	findErr    error
	latest     campaign.OptChange
	posted     []delivery.Kind
	deliveries []delivery.Delivery       // as written
	tenants    int                       // number of reads of the agent's tenant
	agent      string                    // agent of the batch
	dropped    bool                      // the event was counted as dropped
	records    int                       // writes of opt-outs
	optErr     error                     // of these
	settleErr  error                     // of settling replies
	meanwhile  campaign.OptChange        // recorded while a reply is stored
	replies    map[string]reaction.Reply // by tenant and ID
	logged     map[string]reaction.LoggedOptOut
	logErr     error
	unlogged   string // the only number that logErr is of
}

func (p *people) LogOptOut(_ context.Context, tenant string, o reaction.LoggedOptOut) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	if p.logErr != nil && (p.unlogged == "" || p.unlogged == o.Phone) {
		return p.logErr
	}
	if p.logged == nil {
		p.logged = map[string]reaction.LoggedOptOut{}
	}
	p.logged[tenant+" "+o.ID] = o
	return nil
}

func (p *people) SaveReply(_ context.Context, tenant string, r reaction.Reply) error {
	if p.replies == nil {
		p.replies = map[string]reaction.Reply{}
	}
	p.replies[tenant+" "+r.ID] = r
	if p.meanwhile.Phone != "" {
		p.latest = p.meanwhile
	}
	return nil
}

// SettleReplies removes the marks of replies.
func (p *people) SettleReplies(_ context.Context, _ string, until map[string]time.Time) error {
	for key, r := range p.replies {
		end, decided := until[r.Phone]
		r.Doubtful = r.Doubtful && (!decided || r.At.After(end))
		p.replies[key] = r
	}
	return p.settleErr
}

func (p *people) FindBatch(context.Context, campaign.BatchKey) (campaign.Batch, error) {
	return campaign.Batch{BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "tenant"}}, AgentID: p.agent, Accepted: 3, AcceptedAt: time.Now()}, p.findErr
}

func (p *people) TenantOf(context.Context, string) (string, error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.tenants++
	return "tenant", nil
}

func (p *people) Get(context.Context, string) ([]byte, error) { return json.Marshal(p.content) }

// Put stores the content of the event. A webhook's content has another key.
func (p *people) Put(_ context.Context, key string, body []byte, _ string) error {
	if key != eventBlob {
		return nil
	}
	p.content = reaction.EventContent{}
	return json.Unmarshal(body, &p.content)
}

func (p *people) AddDeliveries(_ context.Context, deliveries []delivery.Delivery) error {
	p.posted = append(p.posted, deliveries[0].Kind)
	p.deliveries = append(p.deliveries, deliveries...)
	return nil
}

func (p *people) WouldChange(_ context.Context, _ string, c campaign.OptChange) (bool, error) {
	return c.Out != p.latest.Out && c.At.After(p.latest.At), nil
}

func (p *people) Record(_ context.Context, _ string, changes []campaign.OptChange) error {
	p.records++
	for _, c := range changes {
		if c.At.After(p.latest.At) {
			p.latest = c
		}
	}
	return p.optErr
}

func (p *people) apply(t *testing.T, kind reaction.EventKind, at time.Time) error {
	t.Helper()
	recorder := p.recorder()
	recorder.Store = p
	applier := &outcome.Applier{Store: p, Contents: p, Recorder: recorder, OptOuts: p}
	task := reaction.EventTask{
		Kind: kind, AgentID: "agent", EventID: "e", MessageID: campaign.BatchKey{1}.MessageID(0), At: at, Blob: eventBlob,
	}
	var err error
	var out strings.Builder
	counted := metrics.NewHandler(invoker(func(ctx context.Context) { err = applier.Handle(ctx, []reaction.EventTask{task})[0] }).Invoke, &out, time.Now)
	_, _ = counted.Invoke(t.Context(), nil)
	p.dropped = strings.Contains(out.String(), `"EventsDropped":1`)
	return err
}

type invoker func(ctx context.Context)

func (f invoker) Invoke(ctx context.Context, _ []byte) ([]byte, error) {
	f(ctx)
	return nil, nil
}

func TestHandle_OptOutKeywords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		content reaction.EventContent
		out, in bool
	}{
		{reaction.EventContent{Text: "parar"}, true, false},
		{reaction.EventContent{Text: " PARAR!!! \U0001F64F\n"}, true, false},
		{reaction.EventContent{Text: "Parar \u2764\ufe0f"}, true, false},
		{reaction.EventContent{Text: "Não quero mais", Postback: "PARAR"}, true, false},
		{reaction.EventContent{Text: "não vou parar"}, false, false},
		{reaction.EventContent{Text: "Oi, não quero mais receber. Obrigada!"}, true, false},
		{reaction.EventContent{Text: "cancelar"}, false, false},
		{reaction.EventContent{Text: "Sair", Postback: "Sair"}, false, false},
		{reaction.EventContent{Text: "Cancelar", Postback: "data"}, false, false},
		{reaction.EventContent{Text: "começar"}, false, true},
		{reaction.EventContent{Text: "COMEÇAR."}, false, true},
		{reaction.EventContent{Text: "Comec\u0327ar"}, false, true},
		{reaction.EventContent{Text: "comecar"}, false, true},
		{reaction.EventContent{Text: "Voltar", Postback: "começar"}, false, true},
		{reaction.EventContent{Text: ""}, false, false},
	} {
		t.Run(test.content.Text, func(t *testing.T) {
			t.Parallel()
			for _, before := range []bool{true, false} {
				test.content.Phone = "+5511900000000"
				p := &people{batchLedger: newBatchLedger(), agent: "agent", content: test.content, latest: campaign.OptChange{Out: before, At: time.Unix(1, 0)}}
				if err := p.apply(t, reaction.EventReply, time.Unix(2, 0)); err != nil {
					t.Fatal(err)
				}
				if want := (before || test.out) && !test.in; p.latest.Out != want {
					t.Errorf("opted out before: %v, after: %v", before, p.latest.Out)
				}
			}
		})
	}
}

// A typed reply that may be an opt-out waits for an admin. A later change of its number decides, an earlier one does not.
func TestHandle_DoubtfulReply(t *testing.T) {
	t.Parallel()
	content := reaction.EventContent{Phone: "+5511900000000", Text: "quero cancelar"}
	tests := map[string]struct {
		content reaction.EventContent
		latest  campaign.OptChange
		during  campaign.OptChange
		then    reaction.EventKind
		at      time.Time
		want    int
	}{
		"typed":                        {content: content, want: 1},
		"tapped":                       {content: reaction.EventContent{Phone: content.Phone, Text: content.Text, Postback: "data"}},
		"opted out already":            {content: content, latest: campaign.OptChange{Out: true, At: time.Unix(1, 0)}},
		"opted out while it is stored": {content: content, during: campaign.OptChange{Phone: content.Phone, Out: true, At: time.Unix(11, 0)}},
		"followed by an opt-out":       {content: content, then: reaction.EventOptOut, at: time.Unix(11, 0)},
		"followed by an opt-in":        {content: content, then: reaction.EventOptIn, at: time.Unix(11, 0)},
		"after an opt-in that is late": {content: content, then: reaction.EventOptIn, at: time.Unix(9, 0), want: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &people{batchLedger: newBatchLedger(), agent: "agent", content: test.content, latest: test.latest, meanwhile: test.during}
			err := p.apply(t, reaction.EventReply, time.Unix(10, 0))
			if err == nil && test.then != "" {
				err = p.apply(t, test.then, test.at)
			}
			if err != nil || p.doubtful() != test.want || len(p.replies) != 1 {
				t.Errorf("%d of %d replies are doubtful, want %d; error %v", p.doubtful(), len(p.replies), test.want, err)
			}
		})
	}
}

// doubtful returns the number of replies that are marked.
func (p *people) doubtful() (n int) {
	for _, r := range p.replies {
		if r.Doubtful {
			n++
		}
	}
	return n
}

// An opt-out stays marked until it is recorded: an erasure keeps a marked content.
func TestHandle_PendingOptOut(t *testing.T) {
	t.Parallel()
	pending := reaction.EventContent{Phone: "+5511900000000", Text: "parar", Pending: true}
	p := &people{batchLedger: newBatchLedger(), agent: "agent", content: pending, optErr: errBroken}
	if err := p.apply(t, reaction.EventReply, time.Unix(2, 0)); !errors.Is(err, errBroken) || p.content != pending {
		t.Errorf("not recorded: error %v, content %+v", err, p.content)
	}
	p.optErr = nil
	pending.Pending = false
	if err := p.apply(t, reaction.EventReply, time.Unix(2, 0)); err != nil || p.content != pending || !p.latest.Out {
		t.Errorf("recorded: error %v, content %+v", err, p.content)
	}
	p = &people{batchLedger: newBatchLedger(), agent: "another", content: reaction.EventContent{Phone: "+5511900000000", Pending: true}}
	if err := p.apply(t, reaction.EventOptOut, time.Unix(2, 0)); err != nil || p.content.Pending {
		t.Errorf("of a foreign message: error %v, content %+v", err, p.content)
	}
}

// A repeated reply causes one delivery. Its task is queued after the delivery is written.
func TestHandle_RepeatedReply(t *testing.T) {
	t.Parallel()
	p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000", Text: "Oi"}}
	for range 2 {
		if err := p.apply(t, reaction.EventReply, time.Unix(2, 0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.deliveries) != 2 || len(p.queued) != 2 || p.queued[0] != p.queued[1] {
		t.Fatalf("%d deliveries and the tasks %q, want the same one twice", len(p.deliveries), p.queued)
	}
	n := p.deliveries[0]
	if n.ID == "" || n.ID != p.deliveries[1].ID || n.Kind != delivery.KindReplied || n.Blob == "" || n.ExpiresAt.IsZero() {
		t.Errorf("deliveries %+v, want the same reply twice", p.deliveries)
	}
	if !strings.Contains(p.queued[0], `"deliveryId":"`+n.ID+`"`) {
		t.Errorf("the task is %s, want one of delivery %s", p.queued[0], n.ID)
	}
}

func TestHandle_RepeatedOptOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		latest campaign.OptChange
		posted int
	}{
		"the first":              {campaign.OptChange{}, 1},
		"after an opt-in":        {campaign.OptChange{At: time.Unix(9, 0)}, 1},
		"again":                  {campaign.OptChange{Out: true, At: time.Unix(9, 0)}, 0},
		"before a later opt-in":  {campaign.OptChange{At: time.Unix(11, 0)}, 0},
		"before a later opt-out": {campaign.OptChange{Out: true, At: time.Unix(11, 0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000"}, latest: test.latest}
			if err := p.apply(t, reaction.EventOptOut, time.Unix(10, 0)); err != nil {
				t.Fatal(err)
			}
			if len(p.posted) != test.posted {
				t.Errorf("posted %v, want %d", p.posted, test.posted)
			}
		})
	}
}

// Each write of opt-outs replaces a whole shard, and after a campaign many people opt out
// within seconds.
func TestHandle_OptOutsAreRecordedTogether(t *testing.T) {
	t.Parallel()
	for _, optErr := range []error{nil, errBroken} {
		p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000"}, optErr: optErr}
		recorder := p.recorder()
		recorder.Store = p
		applier := &outcome.Applier{Store: p, Contents: p, Recorder: recorder, OptOuts: p}
		tasks := make([]reaction.EventTask, 500)
		for i := range tasks {
			tasks[i] = reaction.EventTask{
				Kind: reaction.EventOptIn, AgentID: "agent", MessageID: campaign.BatchKey{1}.MessageID(0), At: time.Unix(int64(i), 0), Blob: "events/agent/e",
			}
		}
		errs := applier.Handle(t.Context(), tasks)
		wrong := slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, optErr) })
		if p.records != 1 || wrong >= 0 {
			t.Errorf("%d writes of one tenant's 500 changes; event %d has another error than %v", p.records, wrong, optErr)
		}
	}
}

// An opt-out is logged before it is recorded, so that the log has it if its event is repeated and not new any more.
func TestHandle_LogsBeforeRecording(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		logErr, optErr error // of the first try
		records        int   // after the first try
	}{
		"log fails":              {logErr: errBroken},
		"recorded, without word": {optErr: errBroken, records: 1},
		"all is well":            {records: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000"}}
			p.logErr, p.optErr = test.logErr, test.optErr
			if err := p.apply(t, reaction.EventOptOut, time.Unix(10, 0)); !errors.Is(err, cmp.Or(test.logErr, test.optErr)) || p.records != test.records {
				t.Fatalf("%d writes of opt-outs, error %v", p.records, err)
			}
			p.logErr, p.optErr = nil, nil
			if err := p.apply(t, reaction.EventOptOut, time.Unix(10, 0)); err != nil {
				t.Fatal(err)
			}
			if !p.latest.Out || len(p.logged) != 1 {
				t.Errorf("opted out: %v, entries %v, want one", p.latest.Out, p.logged)
			}
			for _, o := range p.logged {
				if o.Phone != "+5511900000000" || !o.At.Equal(time.Unix(10, 0)) {
					t.Errorf("logged %+v", o)
				}
			}
		})
	}
}

// eventsOf have a phone number as their content's key.
type eventsOf struct{ *people }

func (eventsOf) Get(_ context.Context, key string) ([]byte, error) {
	return json.Marshal(reaction.EventContent{Phone: key})
}

// An opt-out that cannot be logged is repeated. It does not hold up those of other people.
func TestHandle_OneOptOutIsNotLogged(t *testing.T) {
	t.Parallel()
	const first, second = "+5511900000000", "+5511900000001"
	p := &people{batchLedger: newBatchLedger(), agent: "agent", logErr: errBroken, unlogged: first}
	recorder := p.recorder()
	recorder.Store = p
	applier := &outcome.Applier{Store: p, Contents: eventsOf{p}, Recorder: recorder, OptOuts: p}
	errs := applier.Handle(t.Context(), []reaction.EventTask{
		{Kind: reaction.EventOptOut, AgentID: "agent", At: time.Unix(10, 0), Blob: first},
		{Kind: reaction.EventOptOut, AgentID: "agent", At: time.Unix(11, 0), Blob: second},
	})
	if !errors.Is(errs[0], errBroken) || errs[1] != nil || p.records != 1 || p.latest.Phone != second {
		t.Errorf("errors %v, %d writes, the last of %s", errs, p.records, p.latest.Phone)
	}
}

// Only what opts out a number is logged: no opt-in, and no opt-out of a number that is opted out.
func TestHandle_LogsNewOptOuts(t *testing.T) {
	t.Parallel()
	for kind, before := range map[reaction.EventKind]bool{reaction.EventOptIn: true, reaction.EventOptOut: true} {
		p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000"}}
		p.latest = campaign.OptChange{Out: before, At: time.Unix(9, 0)}
		if err := p.apply(t, kind, time.Unix(10, 0)); err != nil || len(p.logged) > 0 {
			t.Errorf("%s: logged %v, error %v", kind, p.logged, err)
		}
	}
}

type optOutDays struct{ counted int }

func (d *optOutDays) AddDay(_ context.Context, _, _ string, counts campaign.DayCounts) error {
	d.counted += counts.OptedOut
	return nil
}

// An opt-out whose doubtful replies cannot be settled is recorded, and counts once, also if its event comes again. A person
// decides on the replies.
func TestHandle_SettlingFails(t *testing.T) {
	t.Parallel()
	p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000"}}
	days := &optOutDays{}
	recorder := p.recorder()
	recorder.Store, recorder.Days = p, days
	applier := &outcome.Applier{Store: p, Contents: p, Recorder: recorder, OptOuts: p}
	task := reaction.EventTask{
		Kind: reaction.EventOptOut, AgentID: "agent", MessageID: campaign.BatchKey{1}.MessageID(0), At: time.Unix(2, 0), Blob: eventBlob,
	}
	p.settleErr = errBroken
	for range 2 {
		if err := applier.Handle(t.Context(), []reaction.EventTask{task})[0]; err != nil {
			t.Fatalf("the event ended with %v", err)
		}
	}
	if days.counted != 1 || !p.latest.Out {
		t.Errorf("%d opt-outs are counted, want 1; opted out: %v", days.counted, p.latest.Out)
	}
}

// While the batch of an answer cannot be read, the answer goes to no other tenant.
func TestHandle_TenantOfAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		findErr error
		err     error
		tenants int
		posted  int
	}{
		"its batch's tenant":                          {nil, nil, 0, 1},
		"the agent's tenant, as the batch is unknown": {campaign.ErrNotFound, nil, 1, 1},
		"nobody yet":                                  {errBroken, errBroken, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &people{batchLedger: newBatchLedger(), agent: "agent", content: reaction.EventContent{Phone: "+5511900000000", Text: "Oi"}, findErr: test.findErr}
			err := p.apply(t, reaction.EventReply, time.Unix(10, 0))
			if !errors.Is(err, test.err) || p.tenants != test.tenants || len(p.posted) != test.posted {
				t.Errorf("error %v, the agent's tenant asked for %d times, posted %d times", err, p.tenants, len(p.posted))
			}
		})
	}
}

// An agent's token does not authenticate events of another agent's messages.
func TestHandle_EventOfAnotherAgent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind  reaction.EventKind
		agent string
		want  bool // it is applied
	}{
		{reaction.EventRead, "agent", true},
		{reaction.EventRead, "another", false},
		{reaction.EventExpired, "another", false},
		{reaction.EventReply, "agent", true},
		{reaction.EventReply, "another", false},
		{reaction.EventOptOut, "agent", true},
		{reaction.EventOptOut, "another", false},
		{reaction.EventOptIn, "another", false},
	} {
		t.Run(string(test.kind)+" of a message of "+test.agent, func(t *testing.T) {
			t.Parallel()
			p := &people{batchLedger: newBatchLedger(), agent: test.agent, content: reaction.EventContent{Phone: "+5511900000000", Text: "Oi"}}
			p.latest = campaign.OptChange{Out: test.kind == reaction.EventOptIn, At: time.Unix(1, 0)}
			before := p.latest
			err := p.apply(t, test.kind, time.Unix(2, 0))
			applied := len(p.entered)+len(p.posted) > 0 || p.latest != before
			if err != nil || applied != test.want || p.dropped == test.want || p.tenants > 0 {
				t.Errorf("applied %v, dropped %v, tenant asked for %d times, %v", applied, p.dropped, p.tenants, err)
			}
		})
	}
}
