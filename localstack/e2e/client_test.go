// Package e2e_test tests the deployed service on the local stack, with its functions and
// queues and the provider simulator.
package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/localstack/sim"
	"campaign-dispatch/localstack/stackenv"
)

const dispatchPath = "/api/v1/external/campaigns/dispatch"

// client calls the API of the stack and validates every response against the OpenAPI
// document.
type client struct {
	t     *testing.T
	env   stackenv.Env
	http  *http.Client
	began time.Time
}

func newClient(t *testing.T) *client {
	t.Helper()
	return &client{t, stackenv.Load(t), &http.Client{Transport: openapitest.New(t, http.DefaultTransport), Timeout: time.Minute}, time.Now()}
}

// reply is a response of the API.
type reply struct {
	status int
	header http.Header
	body   []byte

	CampaignID string `json:"campaignId"`
	Status     any    `json:"status"`
	Accepted   int    `json:"accepted"`
	Rejected   int    `json:"rejected"`
	Feedback   struct {
		InvalidPhones []struct{ Phone, Reason, Code string } `json:"invalidPhones"`
		ErrorFileURL  string                                 `json:"errorFileUrl"`
	} `json:"feedback"`
	Code   string `json:"code"`
	Errors []struct{ Pointer, Code string }

	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	Error        string `json:"error"`
}

func (c *client) do(method, path string, body []byte, headers ...string) reply {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.absolute(path), bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return c.send(r)
}

func (c *client) absolute(path string) string {
	if strings.HasPrefix(path, "http") {
		return path
	}
	return c.env["BASE_URL"] + path
}

func (c *client) send(r *http.Request) reply {
	c.t.Helper()
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer func() { _ = res.Body.Close() }()
	got := reply{status: res.StatusCode, header: res.Header}
	if got.body, err = io.ReadAll(res.Body); err != nil {
		c.t.Fatal(err)
	}
	if len(got.body) > 0 && strings.Contains(res.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(got.body, &got); err != nil {
			c.t.Fatalf("%s %s: the response is not JSON: %v\n%.300s", r.Method, r.URL.Path, err, got.body)
		}
	}
	return got
}

// tokens caches a token for each credential, because the token endpoint has a rate limit.
var tokens sync.Map

func (c *client) token() string {
	c.t.Helper()
	type once struct {
		sync.Once
		value string
	}
	entry, _ := tokens.LoadOrStore(c.env["CLIENT_ID"], &once{})
	o := entry.(*once)
	o.Do(func() {
		form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.env["CLIENT_ID"]}, "client_secret": {c.env["CLIENT_SECRET"]}}
		got := c.do(http.MethodPost, "/api/v1/oauth/token", []byte(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
		if got.status != http.StatusOK {
			c.t.Fatalf("get a token: status %d: %s", got.status, got.body)
		}
		o.value = got.AccessToken
	})
	return o.value
}

func (c *client) dispatch(call fields, headers ...string) reply {
	c.t.Helper()
	body, err := json.Marshal(call)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.post(body, headers...)
}

func (c *client) post(body []byte, headers ...string) reply {
	c.t.Helper()
	all := append([]string{"Authorization", "Bearer " + c.token(), "Content-Type", "application/json"}, headers...)
	return c.do(http.MethodPost, dispatchPath, body, all...)
}

type fields map[string]any

// call returns a valid dispatch request with the messages.
func (c *client) call(messages []fields) fields {
	return fields{"campaignId": random.UUID(), "name": "e2e " + rand.Text(), "templateId": c.env["TEMPLATE_ID"], "messages": messages}
}

// lastNumber is the last used phone number. The first one is random, because the stack may
// have messages of a previous run.
var lastNumber = firstNumber()

func firstNumber() *atomic.Int64 {
	n, err := rand.Int(rand.Reader, big.NewInt(70_000_000))
	if err != nil {
		panic(err)
	}
	var first atomic.Int64
	first.Store(10_000_000 + n.Int64()) // greater than the numbers with fixed fates
	return &first
}

// messages returns n messages to unused mobile numbers.
func messages(n int) []fields {
	first := int(lastNumber.Add(int64(n))) - n
	all := make([]fields, n)
	for i := range all {
		all[i] = fields{
			"phone": fmt.Sprintf("+55619%08d", first+i), "uid": fmt.Sprintf("u-%d", i),
			"vars": fields{"nome": "Ana", "pedido": i},
		}
	}
	return all
}

// allAtProvider returns all messages that the provider has accepted since the test began.
func (c *client) allAtProvider() (all []sim.Message) {
	c.t.Helper()
	since := url.Values{"after": {c.began.Format(time.RFC3339Nano)}}
	c.control(http.MethodGet, c.env["RCS_URL"]+"/_sim/messages?"+since.Encode(), nil, &all)
	return all
}

// atProvider returns the accepted ones of the messages at the provider, by phone number.
func (c *client) atProvider(messages []fields) map[string][]sim.Message {
	c.t.Helper()
	mine := map[string][]sim.Message{}
	for _, m := range messages {
		mine[m["phone"].(string)] = nil
	}
	for _, d := range c.allAtProvider() {
		if _, ok := mine[d.Phone]; ok {
			mine[d.Phone] = append(mine[d.Phone], d)
		}
	}
	return mine
}

// sentOnce reports whether the provider has accepted every message. It fails the test if
// it has accepted one twice.
func (c *client) sentOnce(messages []fields) bool {
	c.t.Helper()
	all := true
	for phone, got := range c.atProvider(messages) {
		if len(got) > 1 {
			c.t.Fatalf("a message was sent %d times", len(got))
		}
		all = all && len(got) == 1 && phone != ""
	}
	return all
}

// control calls the control API of the simulator or the sink.
func (c *client) control(method, address string, in, out any) {
	c.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.t.Context()), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode >= http.StatusMultipleChoices {
		c.t.Fatalf("%s %s: %s", method, address, res.Status)
	}
	if out != nil {
		if err := json.NewDecoder(res.Body).Decode(out); err != nil {
			c.t.Fatal(err)
		}
	}
}

// paceGap is less than the time after which anything that was lost is due again: five seconds for a webhook.
const paceGap = 5 * time.Second

// pace says when something may be done that helps to reach a state and is dear: every few seconds, and not as often as one
// looks whether the state is reached.
type pace struct{ last time.Time }

func (p *pace) due() bool {
	if time.Since(p.last) < paceGap {
		return false
	}
	p.last = time.Now()
	return true
}

// eventually waits until the condition is true. It fails the test after the given time. It looks less often the
// longer it waits, because what it waits for needs the same processors.
func (c *client) eventually(within time.Duration, what string, reached func() bool) {
	c.t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	const most = time.Second
	for gap := 50 * time.Millisecond; !reached(); gap = min(gap+gap/2, most) {
		select {
		case <-deadline.C:
			c.t.Fatalf("after %v not reached: %s", within, what)
		case <-time.After(gap):
		}
	}
}
