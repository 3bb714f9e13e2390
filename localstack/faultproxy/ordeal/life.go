package ordeal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/uuid"
)

const campaigns = "/api/v1/external/campaigns/"

// life is all that a tenant does and what becomes of it, once.
type life struct {
	s      *stack
	t      tenant
	c      *client
	phones int // the first of its numbers
	given  map[string]string
	visits bool // somebody looks at the dashboard, too
	begun  time.Time
}

type fields map[string]any

// messages of a life. The large campaign has two frames, and the provider tells of
// few of its messages.
const (
	large, answered = 102, 6
	few             = 3
)

// expectation is how a campaign ends.
type expectation struct {
	id     string
	status string
	counts map[string]int
}

// live goes through it all, and returns an error that tells what was not kept.
func (s *stack) live(ctx context.Context, visits bool, arm func()) error {
	t, err := s.newTenant(ctx)
	if err != nil {
		return fmt.Errorf("make a tenant: %w", err)
	}
	l := &life{
		s: s, t: t, phones: s.ownNumbers(), given: map[string]string{}, visits: visits, begun: time.Now(),
		c: &client{base: s.env["BASE_URL"], http: &http.Client{Timeout: time.Minute}},
	}
	arm()
	if err := l.c.signIn(ctx, t.clientID, t.secret); err != nil {
		return err
	}
	return l.run(ctx)
}

func (l *life) run(ctx context.Context) error {
	running, err := l.send(ctx)
	if err != nil {
		return err
	}
	if l.visits {
		if err := l.s.visit(ctx); err != nil {
			return err
		}
	}
	lost, err := l.sendLost(ctx)
	if err != nil {
		return err
	}
	stopped, err := l.stop(ctx)
	if err != nil {
		return err
	}
	revoked, err := l.revoke(ctx)
	if err != nil {
		return err
	}
	all := []expectation{running, lost, stopped, revoked}
	for _, e := range all {
		if err := l.settle(ctx, e); err != nil {
			return err
		}
	}
	return l.check(ctx, all)
}

// ownNumbers returns the first of a thousand numbers that no other life has: whose
// fates were given are those of one life.
func (s *stack) ownNumbers() int {
	const first, each = 10_000_000, 1000
	return first + each*int(s.lives.Add(1))
}

// call is a dispatch call of n messages, whose numbers no other call has.
func (l *life) call(n int, fate string) fields {
	messages := make([]fields, n)
	for i := range messages {
		phone := fmt.Sprintf("+55619%08d", l.phones)
		l.phones++
		messages[i] = fields{"phone": phone, "uid": "u-" + strconv.Itoa(i), "vars": fields{"nome": "Ana"}}
		if fate != "" {
			l.given[phone] = fate
		}
	}
	return fields{"campaignId": uuid.New(), "name": "faults " + rand.Text(), "templateId": l.t.template, "messages": messages}
}

// dispatch calls with a key, as who may have to repeat a call does.
func (l *life) dispatch(ctx context.Context, call fields, accepted int) (errorFile string, err error) {
	if len(l.given) > 0 {
		if err := l.s.control(ctx, http.MethodPut, l.s.env["RCS_URL"]+"/_sim/fates", l.given, nil); err != nil {
			return "", err
		}
		l.given = map[string]string{}
	}
	var got struct {
		Accepted int
		Feedback struct{ ErrorFileURL string }
	}
	key := map[string]string{"Idempotency-Key": uuid.New()}
	if err := l.c.must(ctx, http.StatusAccepted, http.MethodPost, campaigns+"dispatch", call, key, &got); err != nil {
		return "", err
	}
	if got.Accepted != accepted {
		return "", fmt.Errorf("of %d messages %d were accepted", accepted, got.Accepted)
	}
	return got.Feedback.ErrorFileURL, nil
}

// send dispatches a campaign at once, with numbers that are none, and a scheduled
// batch of it that is moved.
func (l *life) send(ctx context.Context) (expectation, error) {
	call := l.call(large, "undelivered")
	messages := call["messages"].([]fields)
	for i := range answered { // of both frames
		delete(l.given, messages[len(messages)-1-i]["phone"].(string))
	}
	for i := range 6 {
		messages = append(messages, fields{"phone": strconv.Itoa(i), "uid": "none", "vars": fields{"nome": "Ana"}})
	}
	call["messages"] = messages
	file, err := l.dispatch(ctx, call, large)
	if err != nil {
		return expectation{}, err
	}
	if got, err := l.c.do(ctx, http.MethodGet, file, nil, nil); err != nil || got.status != http.StatusOK {
		return expectation{}, fmt.Errorf("read an error file: %d %w", got.status, err)
	}
	later := l.call(few, "")
	batch := maps.Clone(call)
	batch["batch"], batch["messages"] = "later", later["messages"]
	batch["schedule"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if _, err := l.dispatch(ctx, batch, few); err != nil {
		return expectation{}, err
	}
	id := call["campaignId"].(string)
	if err := l.move(ctx, id, "later"); err != nil {
		return expectation{}, err
	}
	return expectation{id, "completed", map[string]int{"read": answered + few, "expired": large - answered}}, nil
}

// move gives a batch a time that is soon. Where the call has to be repeated, that
// time may be over, or the batch is on its way.
func (l *life) move(ctx context.Context, id, batch string) error {
	for repeats := 0; ; {
		body := fields{"batch": batch, "schedule": time.Now().Add(6 * time.Second).UTC().Format(time.RFC3339Nano)}
		got, err := l.c.do(ctx, http.MethodPost, campaigns+id+"/reschedule", encode(body), nil)
		if err != nil {
			return err
		}
		repeats += got.repeats
		switch {
		case got.status/100 == 2, got.status == http.StatusConflict && repeats > 0:
			return nil
		case !strings.Contains(string(got.body), "schedule_too_soon"):
			return fmt.Errorf("move a batch: %d after %d repetitions: %.300s", got.status, repeats, got.body)
		}
	}
}

// sendLost dispatches a campaign of which nobody is told.
func (l *life) sendLost(ctx context.Context) (expectation, error) {
	call := l.call(few, "")
	id := call["campaignId"].(string)
	l.s.proxy.Lose(id)
	_, err := l.dispatch(ctx, call, few)
	return expectation{id, "completed", map[string]int{"read": few}}, err
}

// stop cancels a campaign before its time.
func (l *life) stop(ctx context.Context) (expectation, error) {
	call := l.call(few, "")
	call["schedule"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if _, err := l.dispatch(ctx, call, few); err != nil {
		return expectation{}, err
	}
	id := call["campaignId"].(string)
	return expectation{id, "cancelled", map[string]int{"stopped": few}}, l.cancel(ctx, id, "")
}

// revoke cancels a campaign that was sent and not delivered.
func (l *life) revoke(ctx context.Context) (expectation, error) {
	call := l.call(few, "undelivered")
	if _, err := l.dispatch(ctx, call, few); err != nil {
		return expectation{}, err
	}
	id := call["campaignId"].(string)
	if err := l.eventually(ctx, id, func(r report) bool { return r.Counts["sent"] == few }); err != nil {
		return expectation{}, err
	}
	return expectation{id, "cancelled", map[string]int{"revoked": few}}, l.cancel(ctx, id, "?revoke=true")
}

func (l *life) cancel(ctx context.Context, id, query string) error {
	got, err := l.c.do(ctx, http.MethodPost, campaigns+id+"/cancel"+query, nil, nil)
	if err == nil && got.status/100 != 2 {
		err = fmt.Errorf("cancel a campaign: %d after %d repetitions: %.300s", got.status, got.repeats, got.body)
	}
	return err
}

// report is a campaign as the API reads it back.
type report struct {
	Status   string
	Accepted int
	Counts   map[string]int
	Batches  []struct {
		BatchID, Status string
		Accepted        int
	}
}

var errUnbalanced = errors.New("the books do not balance")

func (l *life) read(ctx context.Context, id string) (report, error) {
	var r report
	if err := l.c.must(ctx, http.StatusOK, http.MethodGet, campaigns+id, nil, nil, &r); err != nil {
		return r, err
	}
	sum := 0
	for outcome, n := range r.Counts {
		if sum += n; n == 0 {
			delete(r.Counts, outcome)
		}
	}
	if sum != r.Accepted {
		return r, fmt.Errorf("%d messages were accepted, and there are outcomes of %d: %w", r.Accepted, sum, errUnbalanced)
	}
	return r, nil
}

// eventually reads a campaign until it is as it should be.
func (l *life) eventually(ctx context.Context, id string, reached func(r report) bool) error {
	last := report{}
	for {
		r, err := l.read(ctx, id)
		if ctx.Err() != nil {
			return fmt.Errorf("a campaign stays %s with %v: %w", last.Status, last.Counts, ctx.Err())
		}
		if err != nil {
			return err
		}
		if last = r; reached(r) {
			return nil
		}
		_ = sleep(ctx, 700*time.Millisecond)
	}
}

// settle waits until all that the provider tells of a campaign has arrived, and
// lets the time for the rest be over.
func (l *life) settle(ctx context.Context, e expectation) error {
	before := maps.Clone(e.counts)
	if n, ok := before["expired"]; ok {
		delete(before, "expired")
		before["sent"] = n
	}
	err := l.eventually(ctx, e.id, func(r report) bool { return maps.Equal(r.Counts, before) || maps.Equal(r.Counts, e.counts) })
	if err != nil || e.status != "completed" {
		return err
	}
	if err := l.eventually(ctx, e.id, func(r report) bool { return r.Status != "sending" || e.counts["expired"] > 0 }); err != nil {
		return err
	}
	return l.eventually(ctx, e.id, func(r report) bool {
		if r.Status == e.status && maps.Equal(r.Counts, e.counts) {
			return true
		}
		for _, b := range r.Batches {
			l.endTime(ctx, e.id, b.BatchID)
		}
		return false
	})
}

// endTime lets the time for answers to a batch that was sent be over.
func (l *life) endTime(ctx context.Context, id, batch string) {
	ref := campaign.BatchRef{ID: campaign.ID{Tenant: l.t.id, CampaignID: id}, BatchID: batch}
	b, err := l.s.store().Batch(ctx, ref)
	if err == nil && b.State == campaign.BatchSent && b.NextCheck.After(time.Now()) {
		_, _ = l.s.store().MoveCheck(ctx, b, time.Now())
	}
}

// check compares the provider's messages and the webhooks with the ledger.
func (l *life) check(ctx context.Context, all []expectation) error {
	owed := map[string]string{}
	completed := 0
	for _, e := range all {
		if err := l.fates(ctx, e); err != nil {
			return err
		}
		if err := l.log(ctx, e.id, owed); err != nil {
			return err
		}
		if e.status == "completed" {
			completed++
		}
	}
	if err := l.told(ctx, owed, completed); err != nil {
		return err
	}
	return l.sentOnce(ctx)
}

// fates reads the campaign's messages, which have to add up to its counts.
func (l *life) fates(ctx context.Context, e expectation) error {
	counts := map[string]int{}
	for next := ""; ; {
		var page struct {
			Messages   []struct{ Status string }
			NextCursor string
		}
		if err := l.c.must(ctx, http.StatusOK, http.MethodGet, campaigns+e.id+"/messages?limit=200"+next, nil, nil, &page); err != nil {
			return err
		}
		for _, m := range page.Messages {
			counts[m.Status]++
		}
		if page.NextCursor == "" {
			break
		}
		next = "&cursor=" + url.QueryEscape(page.NextCursor)
	}
	if !maps.Equal(counts, e.counts) {
		return fmt.Errorf("the messages of a campaign are %v, its counts %v: %w", counts, e.counts, errUnbalanced)
	}
	return nil
}

// log adds the changes of a campaign to what the endpoint is owed.
func (l *life) log(ctx context.Context, id string, owed map[string]string) error {
	r, err := l.read(ctx, id)
	if err != nil {
		return err
	}
	for _, b := range r.Batches {
		for after, more := 0, true; more; {
			var page struct {
				Events []struct {
					ID, Type string
					Sequence int
				}
				NextAfter int
				More      bool
			}
			path := fmt.Sprintf("%s%s/batches/%s/events?limit=300&after=%d", campaigns, id, url.PathEscape(b.BatchID), after)
			if err := l.c.must(ctx, http.StatusOK, http.MethodGet, path, nil, nil, &page); err != nil {
				return err
			}
			for i, e := range page.Events {
				if e.Sequence != after+i+1 {
					return fmt.Errorf("change %d of a batch has the number %d: %w", after+i+1, e.Sequence, errUnbalanced)
				}
				owed[e.ID] = e.Type
			}
			after, more = page.NextAfter, page.More
		}
	}
	return nil
}

// told waits until the endpoint has all that it is owed, and nothing else.
func (l *life) told(ctx context.Context, owed map[string]string, completed int) error {
	for {
		taken, err := l.s.sinks.taken(ctx, l.t.id)
		if err != nil {
			return err
		}
		ends, missing, strange := 0, 0, 0
		for id, kind := range taken {
			switch {
			case kind == string(campaign.KindCompleted):
				ends++
			case owed[id] != kind:
				strange++
			}
		}
		for id := range owed {
			if taken[id] == "" {
				missing++
			}
		}
		if strange > 0 || ends > completed {
			return fmt.Errorf("%d webhooks tell what the books do not, %d campaigns ended and %d were told: %w", strange, completed, ends, errUnbalanced)
		}
		if missing == 0 && ends == completed {
			return nil
		}
		if err := sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("%d of %d webhooks are missing, and %d of %d ends: %w", missing, len(owed), completed-ends, completed, err)
		}
	}
}

// sentOnce compares what the provider took with what was accepted and not stopped.
func (l *life) sentOnce(ctx context.Context) error {
	var all []struct{ Phone string }
	after := url.QueryEscape(l.begun.UTC().Format(time.RFC3339Nano))
	if err := l.s.control(ctx, http.MethodGet, l.s.env["RCS_URL"]+"/_sim/messages?after="+after, nil, &all); err != nil {
		return err
	}
	const total = large + 4*few
	times := map[string]int{}
	for _, m := range all {
		var n int
		if _, err := fmt.Sscanf(m.Phone, "+55619%08d", &n); err == nil && n < l.phones && n >= l.phones-total {
			times[m.Phone]++
		}
	}
	for _, n := range times {
		if n > 1 {
			return fmt.Errorf("a message was sent %d times", n)
		}
	}
	if len(times) != total-few {
		return fmt.Errorf("the provider has %d messages, and %d were to be sent", len(times), total-few)
	}
	return nil
}
