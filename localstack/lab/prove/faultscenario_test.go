package prove

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/sink"
)

// scenario is a tenant's calls and their expected results.
type scenario struct {
	service // of the tenant's credential

	stack  *faultStack
	tenant testTenant
	phones int // the next of its numbers
	fates  map[string]string
	begun  time.Time
}

// Messages of a scenario's campaigns. The large campaign has two frames, and the
// provider sends events of few of its messages.
const (
	largeCampaign, largeEvents = 102, 6
	smallCampaign              = 3
	suppressed                 = 1 // messages to a number on a list
)

// ending is how a campaign of a scenario ends.
type ending struct {
	id, status string
	counts     map[string]int
}

type fields map[string]any

// run runs a scenario, and returns an error that names the promise that was not kept.
// It calls arm after it has made the tenant.
func (s *faultStack) run(ctx context.Context, visits bool, arm func()) error {
	ctx, cancel := context.WithTimeout(ctx, scenarioTimeout)
	defer cancel()
	const first, each = 10_000_000, 1000 // no other scenario has these numbers
	c := &scenario{
		service: service{env: s.env, http: &http.Client{Timeout: time.Minute, Transport: repeating{}}},
		stack:   s, phones: first + each*int(s.scenarios.Add(1)), fates: map[string]string{}, begun: time.Now(),
	}
	if err := c.makeTenant(ctx); err != nil {
		return fmt.Errorf("make a tenant: %w", err)
	}
	arm()
	if err := c.signIn(ctx); err != nil {
		return err
	}
	var all []ending
	for _, step := range []func(context.Context) (ending, error){c.send, c.sendLost, c.sendPaused, c.cancelBefore, c.revoke} {
		e, err := step(ctx)
		if err != nil {
			return err
		}
		if all = append(all, e); visits && len(all) == 1 {
			if err := s.visit(ctx); err != nil {
				return err
			}
		}
	}
	for _, e := range all {
		if err := c.settle(ctx, e); err != nil {
			return err
		}
	}
	return c.compare(ctx, all)
}

// repeating repeats calls without an answer, or with a 429 or 5xx, as the API's document asks
// clients to. A header has the number of repetitions.
type repeating struct{}

const repeatsHeader = "Repeats"

// RoundTrip calls until there is an answer.
func (repeating) RoundTrip(r *http.Request) (*http.Response, error) {
	const tries = 60
	for n := range tries {
		again := r.Clone(r.Context())
		if r.GetBody != nil {
			again.Body, _ = r.GetBody() // of bytes, which does not fail
		}
		got, err := http.DefaultTransport.RoundTrip(again)
		if err == nil && got.StatusCode < http.StatusInternalServerError && got.StatusCode != http.StatusTooManyRequests {
			got.Header.Set(repeatsHeader, strconv.Itoa(n))
			return got, nil
		}
		if err == nil {
			_ = got.Body.Close()
		}
		if err := wait(r.Context(), 500*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("a call was repeated for long and never answered")
}

// makeTenant makes a tenant with an endpoint for all kinds, for whose agent the simulator
// sends events.
func (c *scenario) makeTenant(ctx context.Context) (err error) {
	var kinds []string
	for _, kind := range []delivery.Kind{
		delivery.KindSent, delivery.KindDelivered, delivery.KindRead, delivery.KindFailed, delivery.KindExpired, delivery.KindCompleted,
	} {
		kinds = append(kinds, string(kind))
	}
	if c.tenant, err = newTenant(ctx, c.env, "faults", "Olá {{nome}}", c.stack.endpoints.URL, kinds, account.ScopeDispatch, account.ScopeLists); err != nil {
		return err
	}
	if err := c.stack.endpoints.add(c.tenant); err != nil {
		return err
	}
	hook := map[string]string{
		"agentId": c.tenant.id, "url": c.env["EVENTS_URL"] + "/" + c.tenant.id, "clientToken": c.tenant.agent.WebhookToken,
	}
	// The simulator verifies the address, and the fault of another scenario may meet that call.
	return eventually(ctx, time.Minute, func() (bool, error) {
		err := c.do(ctx, http.MethodPut, c.env["RCS_URL"]+"/_sim/webhook", hook, nil)
		return err == nil, err
	})
}

// signIn gets a token by the credential, and another by the refresh token. If the
// refresh was repeated, its token may be used already: the credential gets another.
func (c *scenario) signIn(ctx context.Context) error {
	credential := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.tenant.clientID}, "client_secret": {c.tenant.secret}}
	refresh, _, err := c.grant(ctx, credential)
	if err != nil {
		return err
	}
	_, got, err := c.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if err != nil && got.status == http.StatusUnauthorized && got.repeats > 0 {
		_, _, err = c.grant(ctx, credential)
	}
	return err
}

func (c *scenario) grant(ctx context.Context, form url.Values) (refresh string, got reply, err error) {
	got, err = c.call(ctx, http.MethodPost, c.env["BASE_URL"]+"/api/v1/oauth/token", []byte(form.Encode()),
		map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	if err != nil || got.status != http.StatusOK {
		return "", got, fmt.Errorf("get a token: %d after %d repetitions (%w)", got.status, got.repeats, err)
	}
	var tokens struct {
		AccessToken  string `json:"access_token"`
		RefreshToken string `json:"refresh_token"`
	}
	err = json.Unmarshal(got.body, &tokens)
	c.token = tokens.AccessToken
	return tokens.RefreshToken, got, err
}

// newCall is a dispatch call of n messages, whose numbers no other call has.
func (c *scenario) newCall(n int, fate string) fields {
	messages := make([]fields, n)
	for i := range messages {
		phone := fmt.Sprintf("+55619%08d", c.phones)
		c.phones++
		messages[i] = fields{"phone": phone, "uid": "u-" + strconv.Itoa(i), "vars": fields{"nome": "Ana"}}
		if fate != "" {
			c.fates[phone] = fate
		}
	}
	return fields{"campaignId": random.UUID(), "name": "faults " + rand.Text(), "templateId": c.tenant.template, "messages": messages}
}

// inAnHour returns the schedule of a batch that is moved or cancelled before its time.
func inAnHour() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

// accept dispatches with an Idempotency-Key, as a client does that may have to repeat a call.
func (c *scenario) accept(ctx context.Context, call fields, want int) (errorFile string, err error) {
	if err := c.do(ctx, http.MethodPut, c.env["RCS_URL"]+"/_sim/fates", c.fates, nil); err != nil { // adds them
		return "", err
	}
	c.fates = map[string]string{}
	body, err := json.Marshal(call)
	if err != nil {
		return "", err
	}
	got, err := c.call(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+"dispatch", body, map[string]string{"Idempotency-Key": random.UUID()})
	if err != nil {
		return "", err
	}
	var answer struct {
		Accepted int
		Feedback struct{ ErrorFileURL string }
	}
	if got.status != http.StatusAccepted || json.Unmarshal(got.body, &answer) != nil || answer.Accepted != want {
		return "", fmt.Errorf("dispatch %d messages: %d after %d repetitions: %.300s", want, got.status, got.repeats, got.body)
	}
	return answer.Feedback.ErrorFileURL, nil
}

// send dispatches a campaign with invalid numbers at once, and a scheduled batch of it
// that is moved.
func (c *scenario) send(ctx context.Context) (ending, error) {
	call := c.newCall(largeCampaign, "undelivered")
	messages, _ := call["messages"].([]fields)
	for _, m := range messages[len(messages)-largeEvents:] { // of both frames
		phone, _ := m["phone"].(string)
		delete(c.fates, phone)
	}
	for i := range 6 {
		messages = append(messages, fields{"phone": strconv.Itoa(i), "uid": "none", "vars": fields{"nome": "Ana"}})
	}
	call["messages"] = messages
	file, err := c.accept(ctx, call, largeCampaign)
	if err != nil {
		return ending{}, err
	}
	if got, err := c.call(ctx, http.MethodGet, file, nil, nil); err != nil || got.status != http.StatusOK {
		return ending{}, fmt.Errorf("read an error file: %d", got.status)
	}
	later := maps.Clone(call)
	later["batch"], later["messages"] = "later", c.newCall(smallCampaign, "")["messages"]
	later["schedule"] = inAnHour()
	if _, err := c.accept(ctx, later, smallCampaign); err != nil {
		return ending{}, err
	}
	id, _ := call["campaignId"].(string)
	return ending{id, "completed", map[string]int{"read": largeEvents + smallCampaign, "expired": largeCampaign - largeEvents}}, c.move(ctx, id)
}

// move reschedules the later batch to a time soon. If the call is repeated, that time may be
// over, or the batch released.
func (c *scenario) move(ctx context.Context, id string) error {
	for repeats := 0; ; {
		body := fmt.Appendf(nil, `{"batch":"later","schedule":%q}`, time.Now().Add(6*time.Second).UTC().Format(time.RFC3339Nano))
		got, err := c.call(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+id+"/reschedule", body, nil)
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

// sendLost dispatches a campaign whose release task is lost.
func (c *scenario) sendLost(ctx context.Context) (ending, error) {
	call := c.newCall(smallCampaign, "")
	id, _ := call["campaignId"].(string)
	c.stack.proxy.Lose(id)
	_, err := c.accept(ctx, call, smallCampaign)
	return ending{id, "completed", map[string]int{"read": smallCampaign}}, err
}

// sendPaused dispatches a scheduled campaign, one of whose numbers is on a list. It is paused, moved and resumed.
func (c *scenario) sendPaused(ctx context.Context) (ending, error) {
	call := c.newCall(smallCampaign, "")
	messages, _ := call["messages"].([]fields)
	list := fields{"reason": "faults", "numbers": []any{messages[0]["phone"]}}
	if err := c.do(ctx, http.MethodPut, c.env["BASE_URL"]+"/api/v1/external/lists/faults", list, nil); err != nil {
		return ending{}, err
	}
	call["batch"], call["schedule"] = "later", inAnHour()
	if _, err := c.accept(ctx, call, smallCampaign); err != nil {
		return ending{}, err
	}
	id, _ := call["campaignId"].(string)
	if err := c.do(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+id+"/pause", nil, nil); err != nil {
		return ending{}, err
	}
	if err := c.move(ctx, id); err != nil {
		return ending{}, err
	}
	return ending{id, "completed", map[string]int{"read": smallCampaign - suppressed, "failed": suppressed}},
		c.do(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+id+"/resume", nil, nil)
}

// cancelBefore cancels a campaign before its time.
func (c *scenario) cancelBefore(ctx context.Context) (ending, error) {
	call := c.newCall(smallCampaign, "")
	call["schedule"] = inAnHour()
	id, _ := call["campaignId"].(string)
	if _, err := c.accept(ctx, call, smallCampaign); err != nil {
		return ending{}, err
	}
	return ending{id, "cancelled", map[string]int{"stopped": smallCampaign}}, c.do(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+id+"/cancel", nil, nil)
}

// revoke cancels a campaign that was sent and not delivered.
func (c *scenario) revoke(ctx context.Context) (ending, error) {
	call := c.newCall(smallCampaign, "undelivered")
	id, _ := call["campaignId"].(string)
	if _, err := c.accept(ctx, call, smallCampaign); err != nil {
		return ending{}, err
	}
	if err := c.awaitState(ctx, id, func(s standing) bool { return s.Counts["sent"] == smallCampaign }); err != nil {
		return ending{}, err
	}
	return ending{id, "cancelled", map[string]int{"revoked": smallCampaign}},
		c.do(ctx, http.MethodPost, c.env["BASE_URL"]+campaignsPath+id+"/cancel?revoke=true", nil, nil)
}

// balanced reads a campaign, whose counts have to add up.
func (c *scenario) balanced(ctx context.Context, id string) (standing, error) {
	var s standing
	if err := c.do(ctx, http.MethodGet, c.env["BASE_URL"]+campaignsPath+id, nil, &s); err != nil {
		return s, err
	}
	sum := 0
	for outcome, n := range s.Counts {
		if sum += n; n == 0 {
			delete(s.Counts, outcome)
		}
	}
	if sum != s.Accepted {
		return s, fmt.Errorf("%d messages were accepted, and %d are counted: %w", s.Accepted, sum, errUnbalanced)
	}
	return s, nil
}

// awaitState reads a campaign until it is in a state.
func (c *scenario) awaitState(ctx context.Context, id string, reached func(standing) bool) error {
	for last := (standing{}); ; {
		s, err := c.balanced(ctx, id)
		if ctx.Err() != nil {
			return fmt.Errorf("a campaign stays %s with %v: %w", last.Status, last.Counts, ctx.Err())
		}
		if err != nil {
			return err
		}
		if last = s; reached(s) {
			return nil
		}
		_ = wait(ctx, 700*time.Millisecond)
	}
}

// settle waits until all events of a campaign have arrived, and ends the time for the rest.
func (c *scenario) settle(ctx context.Context, e ending) error {
	before := maps.Clone(e.counts)
	if n, ok := before["expired"]; ok {
		delete(before, "expired")
		before["sent"] = n
	}
	err := c.awaitState(ctx, e.id, func(s standing) bool { return maps.Equal(s.Counts, before) || maps.Equal(s.Counts, e.counts) })
	if err != nil || e.status != "completed" {
		return err
	}
	if err := c.awaitState(ctx, e.id, func(s standing) bool { return s.Status != "sending" || e.counts["expired"] > 0 }); err != nil {
		return err
	}
	return c.awaitState(ctx, e.id, func(s standing) bool {
		if s.Status == e.status && maps.Equal(s.Counts, e.counts) {
			return true
		}
		for _, b := range s.Batches {
			c.endTime(ctx, e.id, b.BatchID)
		}
		return false
	})
}

// endTime makes the wait for delivery statuses of a sent batch expire.
func (c *scenario) endTime(ctx context.Context, id, batch string) {
	store := storeOf(c.env)
	b, err := store.Batch(ctx, campaign.BatchRef{ID: campaign.ID{Tenant: c.tenant.id, CampaignID: id}, BatchID: batch})
	if err == nil && b.State == campaign.BatchSent && b.NextCheck.After(time.Now()) {
		_, _ = store.PostponeCheck(ctx, b, time.Now())
	}
}

// compare compares the messages at the provider and the webhooks with the ledger.
func (c *scenario) compare(ctx context.Context, all []ending) error {
	changes, completed := map[string]string{}, 0
	for _, e := range all {
		if err := errors.Join(c.compareMessages(ctx, e), c.readChanges(ctx, e.id, changes)); err != nil {
			return err
		}
		if e.status == "completed" {
			completed++
		}
	}
	return errors.Join(c.awaitWebhooks(ctx, changes, completed), c.sentOncePerNumber(ctx))
}

// compareMessages reads the campaign's messages, which have to add up to its counts.
func (c *scenario) compareMessages(ctx context.Context, e ending) error {
	counts := map[string]int{}
	for next, more := "", true; more; {
		var page struct {
			Messages   []struct{ Status string }
			NextCursor string
		}
		if err := c.do(ctx, http.MethodGet, c.env["BASE_URL"]+campaignsPath+e.id+"/messages?limit=200"+next, nil, &page); err != nil {
			return err
		}
		for _, m := range page.Messages {
			counts[m.Status]++
		}
		next, more = "&cursor="+url.QueryEscape(page.NextCursor), page.NextCursor != ""
	}
	if !maps.Equal(counts, e.counts) {
		return fmt.Errorf("the messages of a campaign are %v, its counts %v: %w", counts, e.counts, errUnbalanced)
	}
	return nil
}

// readChanges adds the changes of a campaign, each of which is posted to the endpoint.
func (c *scenario) readChanges(ctx context.Context, id string, changes map[string]string) error {
	s, err := c.balanced(ctx, id)
	if err != nil {
		return err
	}
	for _, b := range s.Batches {
		for after, more := 0, true; more; {
			var page struct {
				Events []struct {
					ID, Type string
					Sequence int
				}
				NextAfter int
				More      bool
			}
			path := fmt.Sprintf("%s%s%s/batches/%s/events?limit=300&after=%d", c.env["BASE_URL"], campaignsPath, id, url.PathEscape(b.BatchID), after)
			if err := c.do(ctx, http.MethodGet, path, nil, &page); err != nil {
				return err
			}
			for i, e := range page.Events {
				if e.Sequence != after+i+1 {
					return fmt.Errorf("change %d of a batch has the number %d: %w", after+i+1, e.Sequence, errUnbalanced)
				}
				changes[e.ID] = e.Type
			}
			after, more = page.NextAfter, page.More
		}
	}
	return nil
}

// awaitWebhooks waits until the endpoint has a webhook for each change, and no others.
func (c *scenario) awaitWebhooks(ctx context.Context, changes map[string]string, completed int) error {
	for {
		taken, err := c.stack.endpoints.taken(ctx, c.tenant.id)
		if err != nil {
			return err
		}
		ends, missing, unknown := 0, 0, 0
		for id, kind := range taken {
			switch {
			case kind == string(delivery.KindCompleted):
				ends++
			case changes[id] != kind:
				unknown++
			}
		}
		for id := range changes {
			if taken[id] == "" {
				missing++
			}
		}
		if unknown > 0 || ends > completed {
			return fmt.Errorf("%d webhooks are of no change, %d campaigns completed with %d webhooks: %w", unknown, completed, ends, errUnbalanced)
		}
		if missing == 0 && ends == completed {
			return nil
		}
		if err := wait(ctx, time.Second); err != nil {
			return fmt.Errorf("%d of %d webhooks are missing, and %d of %d completions: %w", missing, len(changes), completed-ends, completed, err)
		}
	}
}

// sentOncePerNumber compares the messages at the provider with those accepted, not stopped and not suppressed.
func (c *scenario) sentOncePerNumber(ctx context.Context) error {
	var all []struct{ Phone string }
	after := url.QueryEscape(c.begun.UTC().Format(time.RFC3339Nano))
	if err := c.do(ctx, http.MethodGet, c.env["RCS_URL"]+"/_sim/messages?after="+after, nil, &all); err != nil {
		return err
	}
	const total = largeCampaign + 5*smallCampaign
	times := map[string]int{}
	for _, m := range all {
		var n int
		if _, err := fmt.Sscanf(m.Phone, "+55619%08d", &n); err == nil && n < c.phones && n >= c.phones-total {
			if times[m.Phone]++; times[m.Phone] > 1 {
				return errors.New("a message was sent twice")
			}
		}
	}
	if want := total - smallCampaign - suppressed; len(times) != want {
		return fmt.Errorf("the provider has %d messages, want %d", len(times), want)
	}
	return nil
}

// endpointServer receives the webhooks of many tenants, each at the path of its ID.
type endpointServer struct {
	*httptest.Server

	sinks sync.Map
}

func newEndpointServer(t *testing.T) *endpointServer {
	t.Helper()
	s := &endpointServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one, ok := s.sinks.Load(strings.Trim(r.URL.Path, "/"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		one.(*sink.Sink).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *endpointServer) add(t testTenant) error {
	one, err := sink.New(t.endpointSecret, time.Now)
	s.sinks.Store(t.id, one)
	return err
}

// taken returns the kinds of a tenant's webhooks, by their IDs.
func (s *endpointServer) taken(ctx context.Context, tenant string) (map[string]string, error) {
	one, _ := s.sinks.Load(tenant)
	answer := httptest.NewRecorder()
	one.(*sink.Sink).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/_sink/events", http.NoBody))
	var posts []sink.Event
	if err := json.Unmarshal(answer.Body.Bytes(), &posts); err != nil {
		return nil, err
	}
	kinds, bodies := map[string]string{}, map[string]string{}
	for _, post := range posts {
		var message struct{ ID, Type string }
		if err := json.Unmarshal([]byte(post.Body), &message); err != nil || !post.Verified || message.ID != post.Headers["webhook-id"] {
			return nil, fmt.Errorf("a webhook is not signed or not complete (%w)", err)
		}
		if before, again := bodies[message.ID]; again && before != post.Body {
			return nil, fmt.Errorf("a %s came with two bodies: %w", message.Type, errUnbalanced)
		}
		kinds[message.ID], bodies[message.ID] = message.Type, post.Body
	}
	return kinds, nil
}
