package linearity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

// Clients is the number of concurrent clients.
const Clients = 16

const callsEach = 4 // sequential calls of each client

// Service is the service under test.
type Service struct {
	baseURL, token, templateID string
	http                       *http.Client
}

// OnStack returns the service of a local stack.
func OnStack(ctx context.Context, env stackenv.Env) (Service, error) {
	token, err := env.Token(ctx)
	return Service{
		baseURL: env["BASE_URL"], token: token, templateID: env["TEMPLATE_ID_PLAIN"],
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: Clients}, Timeout: time.Minute},
	}, err
}

// Report is the result of some histories.
type Report struct {
	Histories, Calls, Accepted, Unknown int
}

// Check makes random histories of calls. Its error has the first one whose answers no order of its calls explains.
func (s Service) Check(ctx context.Context, histories int, random *mathrand.Rand) (Report, error) {
	r := Report{}
	for i := range histories {
		h, err := s.history(ctx, mathrand.New(mathrand.NewPCG(random.Uint64(), random.Uint64()))) //nolint:gosec // the same calls in every run
		if err != nil {
			return r, fmt.Errorf("history %d: %w", i, err)
		}
		if ctx.Err() != nil { // no call was answered, so every order is possible
			return r, ctx.Err()
		}
		r.count(h)
		if err := judge(h); err != nil {
			return r, fmt.Errorf("history %d: %w", i, err)
		}
	}
	return r, nil
}

func (r *Report) count(history []porcupine.Operation) {
	r.Histories++
	r.Calls += len(history)
	for _, op := range history {
		switch op.Output.(answer) {
		case accepted:
			r.Accepted++
		case unknown:
			r.Unknown++
		}
	}
}

// patience is the maximum time to search for an order of one history.
const patience = time.Minute

var errNoOrder = errors.New("no order of its calls explains the answers")

func judge(history []porcupine.Operation) error {
	switch porcupine.CheckOperationsTimeout(model(), history, patience) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("no order was found within %s", patience)
	case porcupine.Illegal:
	}
	return fmt.Errorf("%w:%s", errNoOrder, story(history))
}

func story(history []porcupine.Operation) string {
	var b strings.Builder
	for _, op := range history {
		fmt.Fprintf(&b, "\n  client %d, %d to %d: %v: %v", op.ClientId, op.Call, op.Return, op.Input, op.Output)
	}
	return b.String()
}

// inputs are the values that a history's small numbers represent.
type inputs struct {
	campaigns [campaigns]string
	names     [names]string
	numbers   [numbers]string
	start     time.Time
}

func newInputs() inputs {
	w := inputs{start: time.Now()}
	for i := range w.campaigns {
		w.campaigns[i] = random.UUID()
	}
	for i := range w.names {
		w.names[i] = "linearity " + rand.Text()
	}
	for i := range w.numbers {
		w.numbers[i] = fmt.Sprintf("5511987650%03d", i)
	}
	return w
}

// history makes the calls of all clients concurrently and returns them.
func (s Service) history(ctx context.Context, random *mathrand.Rand) ([]porcupine.Operation, error) {
	w := newInputs()
	plans := make([][]call, Clients)
	for i := range plans {
		for range callsEach {
			plans[i] = append(plans[i], randomCall(random))
		}
	}
	var mu sync.Mutex
	var all []porcupine.Operation
	var failure error
	var clients sync.WaitGroup
	for id, plan := range plans {
		clients.Go(func() {
			for _, c := range plan {
				op, err := s.do(ctx, w, id, c)
				mu.Lock()
				all, failure = append(all, op), errors.Join(failure, err)
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return all, failure
}

// randomCall returns a call for a campaign, mostly with the campaign's own name, to one or two numbers.
func randomCall(random *mathrand.Rand) call {
	c := call{campaign: random.IntN(campaigns), batch: random.IntN(batches)}
	c.name = c.campaign
	if random.IntN(4) == 0 {
		c.name = random.IntN(names)
	}
	c.numbers = 1 << random.IntN(numbers)
	if random.IntN(2) == 0 {
		c.numbers |= 1 << random.IntN(numbers)
	}
	return c
}

// do makes a call and notes its start and end.
func (s Service) do(ctx context.Context, w inputs, client int, c call) (op porcupine.Operation, err error) {
	op = porcupine.Operation{ClientId: client, Input: c, Call: time.Since(w.start).Nanoseconds()}
	op.Output, err = s.post(ctx, w.body(c, s.templateID))
	op.Return = time.Since(w.start).Nanoseconds()
	if op.Output == unknown { // it may take effect at any time from now on
		op.Return = int64(^uint64(0) >> 1)
	}
	return op, err
}

func (w inputs) body(c call, templateID string) map[string]any {
	var messages []map[string]string
	for i, n := range w.numbers {
		if c.numbers&(1<<i) != 0 {
			messages = append(messages, map[string]string{"phone": n, "uid": strconv.Itoa(i)})
		}
	}
	body := map[string]any{
		"campaignId": w.campaigns[c.campaign], "name": w.names[c.name], "templateId": templateID, "messages": messages,
	}
	if c.batch > 0 {
		body["batch"] = strconv.Itoa(c.batch)
	}
	return body
}

func (s Service) post(ctx context.Context, body map[string]any) (answer, error) {
	var said struct{ Errors []struct{ Code string } }
	status, err := httpjson.Call(ctx, s.http, http.MethodPost, s.baseURL+"/api/v1/external/campaigns/dispatch", s.token, body, &said)
	switch {
	case status >= http.StatusInternalServerError || err != nil:
		return unknown, nil //nolint:nilerr // the answer may be lost
	case status == http.StatusAccepted:
		return accepted, nil
	case len(said.Errors) == 0:
		return unknown, fmt.Errorf("a call was answered %d without a reason", status)
	}
	codes := make([]string, len(said.Errors))
	for i, e := range said.Errors {
		codes[i] = e.Code
	}
	slices.Sort(codes)
	return answer(strings.Join(slices.Compact(codes), " ")), nil
}
