package metering

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"campaign-dispatch/localstack/forward"
	"campaign-dispatch/localstack/procnet"
)

// Proxy forwards the calls of a local stack's functions to the emulator of AWS and counts them. Start
// creates it.
type Proxy struct {
	*forward.Proxy

	rules    Rules
	pending  chan exchange
	counted  sync.WaitGroup
	distance atomic.Int64 // in nanoseconds

	mu        sync.Mutex
	functions map[string]*Usage
	chains    map[int]*chain // by process
	unknown   map[string]int
}

// Usage is the use of a function.
type Usage struct {
	Units

	Calls int
	// Waits is the number of sequential calls of all invocations.
	Waits int
	// Messages is the number of messages sent to each queue, by its address.
	Messages map[string]int
	// Places are the units of rows by their place.
	Places map[Place]Units
}

// exchange is a call that was answered.
type exchange struct {
	function, operation string
	body, answer        []byte // the answer is nil for an error
}

// Start listens on a free port of 127.0.0.1 for the functions of a stack, and forwards their calls to the
// emulator. sizes returns the size of a row, see RowSizes.
func Start(ctx context.Context, stack string, to *url.URL, sizes func(table *string, key Item) int) (p *Proxy, err error) {
	const waiting, counters = 1000, 2
	p = &Proxy{
		rules: OfService(sizes), pending: make(chan exchange, waiting),
		functions: map[string]*Usage{}, chains: map[int]*chain{}, unknown: map[string]int{},
	}
	for range counters {
		go p.countAll() //nolint:contextcheck // counts after the context of the start
	}
	p.Proxy, err = forward.Start(ctx, stack, to, p)
	return p, err
}

// SetDistance sets a delay of each call, as a real service has. Without it concurrent calls may look
// sequential.
func (p *Proxy) SetDistance(d time.Duration) { p.distance.Store(int64(d)) }

// Take returns the use of each function since the last Take, by name. The name of other callers is "". No
// calls may be made meanwhile.
func (p *Proxy) Take() map[string]Usage {
	p.counted.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := make(map[string]Usage, len(p.functions))
	for name, u := range p.functions {
		taken[name] = *u
	}
	p.functions = map[string]*Usage{}
	return taken
}

// Calls returns the number of calls since the last Take.
func (p *Proxy) Calls() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.functions {
		n += u.Calls
	}
	return n
}

// Unknown returns the numbers of calls without a rule for their cost, or without a known caller, by operation.
func (p *Proxy) Unknown() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.unknown)
}

// ServeHTTP forwards a call. The call is counted after its answer, so that the caller does not wait for the count.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller disconnected
	}
	begun := time.Now() // before looking up the caller, which is slow on a new connection
	by, _ := p.Process(r)
	by.Function, _ = p.Function(r)
	time.Sleep(time.Duration(p.distance.Load()))
	answer, text, err := p.Forward(r, body) //nolint:bodyclose // it is closed
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.note(by, begun, time.Now())
	call := exchange{function: by.Function, operation: operationOf(r), body: body, answer: text}
	if answer.StatusCode >= http.StatusMultipleChoices {
		call.answer = nil
	}
	p.counted.Add(1)
	p.pending <- call
	forward.Write(w, answer, text)
}

// usage returns the use of a function. Hold p.mu.
func (p *Proxy) usage(function string) *Usage {
	u := p.functions[function]
	if u == nil {
		u = &Usage{Messages: map[string]int{}, Places: map[Place]Units{}}
		p.functions[function] = u
	}
	return u
}

// note notes the times of a call. A process serves one invocation at a time, so the chain of its calls is
// that of its invocations.
func (p *Proxy) note(by procnet.Process, begun, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.chains[by.ID]
	if c == nil {
		c = &chain{}
		p.chains[by.ID] = c
	}
	before, u := c.length, p.usage(by.Function)
	c.extend(begun, ended)
	u.Calls++
	u.Waits += c.length - before
}

func (p *Proxy) countAll() {
	for call := range p.pending {
		p.count(call)
		p.counted.Done()
	}
}

func (p *Proxy) count(call exchange) {
	in, out, err := parse(call.operation, call.body, call.answer)
	var units Units
	known := err == nil
	places, rules := map[Place]Units{}, p.rules
	rules.Spend = func(at Place, u Units) {
		u.Add(places[at])
		places[at] = u
	}
	if known {
		units, known = rules.Count(call.operation, in, out)
	}
	queue, messages := messagesOf(call.operation, call.body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !known {
		p.unknown[call.operation]++
	}
	if call.function == "" {
		p.unknown["of an unknown caller: "+call.operation]++
	}
	u := p.usage(call.function)
	u.Add(units)
	u.Messages[queue] += messages
	for at, more := range places {
		more.Add(u.Places[at])
		u.Places[at] = more
	}
}
