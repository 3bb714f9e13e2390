// Package ordeal shows that the service keeps its promises whatever happens to any
// of its calls of AWS: campaigns are sent, scheduled, cancelled and taken back on a
// local stack, while a proxy lets one call after the other go wrong.
package ordeal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/localstack/faultproxy"
	"campaign-dispatch/localstack/stackenv"
)

// Plan is how much is tried.
type Plan struct {
	// Every n-th fault is tried: 1 is all of them.
	Every int
	// Only faults whose text has this are tried.
	Only string
	// Log gets a line of each fault.
	Log io.Writer
	// After looks at the stack when all was tried, before it is stopped.
	After func(context.Context, stackenv.Env) error
}

// Outcome is what came of a fault.
type Outcome struct {
	Fault faultproxy.Fault
	// Met reports whether the fault met a call.
	Met bool
	// Wake tells that the call is one that only other faults lead to: a fault alone
	// may not meet it.
	Wake bool
	// Trouble is what was not kept, nil where all was.
	Trouble error
	Took    time.Duration
}

// Report is what came of all.
type Report struct {
	Calls     []faultproxy.Call // that the functions make
	Strangers map[string]int    // calls of which it is unknown who made them
	Outcomes  []Outcome
}

// Lives side by side: of faults that pass quickly, and of those that make everybody
// wait.
const (
	lanes     = 8
	slowLanes = 30
	lifetime  = 4 * time.Minute
)

// Run lives once to see which calls there are, and then once for each fault.
func Run(ctx context.Context, plan Plan) (r Report, err error) {
	s, err := startStack(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	sweeping, stop := context.WithCancel(ctx)
	defer stop()
	go s.sweepAlways(sweeping)
	if err := s.within(ctx, true, func() {}); err != nil {
		return r, fmt.Errorf("without any fault: %w", err)
	}
	for { // a fault may lead to calls that nobody has seen yet
		found := newCalls(s.proxy, r.Calls)
		if len(found) == 0 || ctx.Err() != nil {
			break
		}
		r.Calls = append(r.Calls, found...)
		quick, slow := plan.faults(found)
		tried := append(s.tryAll(ctx, quick, lanes, plan.Log), s.tryAll(ctx, slow, slowLanes, plan.Log)...)
		for i := range tried {
			tried[i].Wake = len(r.Outcomes) > 0
		}
		r.Outcomes = append(r.Outcomes, tried...)
	}
	r.Strangers = s.proxy.Strangers()
	if ctx.Err() == nil && plan.After != nil {
		err = plan.After(ctx, s.env)
	}
	return r, errors.Join(err, ctx.Err())
}

// newCalls are the calls that were made and are not known.
func newCalls(p *faultproxy.Proxy, known []faultproxy.Call) (found []faultproxy.Call) {
	for call := range p.Seen() {
		if call.Function != "" && !slices.Contains(known, call) {
			found = append(found, call)
		}
	}
	slices.SortFunc(found, func(a, b faultproxy.Call) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// faults are all that are to be tried, those last that take long.
func (p Plan) faults(calls []faultproxy.Call) (quick, slow []faultproxy.Fault) {
	n := 0
	for _, kind := range faultproxy.Kinds() {
		for _, call := range calls {
			f := faultproxy.Fault{Kind: kind, Call: call}
			if n++; n%max(p.Every, 1) != 0 || !strings.Contains(f.String(), p.Only) {
				continue
			}
			if kind == faultproxy.Slow {
				slow = append(slow, f)
			} else {
				quick = append(quick, f)
			}
		}
	}
	return quick, slow
}

func (s *stack) within(ctx context.Context, visits bool, arm func()) error {
	ctx, cancel := context.WithTimeout(ctx, lifetime)
	defer cancel()
	return s.live(ctx, visits, arm)
}

// tryAll tries faults, some side by side: whichever life a fault meets, all have to
// end well.
func (s *stack) tryAll(ctx context.Context, faults []faultproxy.Fault, lanes int, log io.Writer) []Outcome {
	outcomes := make([]Outcome, len(faults))
	next := make(chan int)
	var all sync.WaitGroup
	var mu sync.Mutex
	for range lanes {
		all.Go(func() {
			for i := range next {
				outcomes[i] = s.try(ctx, faults[i])
				mu.Lock()
				fmt.Fprintln(log, outcomes[i])
				mu.Unlock()
			}
		})
	}
	for i := range faults {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	all.Wait()
	return outcomes
}

func (s *stack) try(ctx context.Context, f faultproxy.Fault) Outcome {
	begun := time.Now()
	var armed *faultproxy.Armed
	err := s.within(ctx, f.Call.Function == "dashboard", func() {
		if onceAProcess(f.Call) {
			s.proxy.Kill(f.Call.Function)
		}
		armed = s.proxy.Arm(f)
	})
	o := Outcome{Fault: f, Trouble: err, Took: time.Since(begun)}
	if armed != nil {
		select {
		case <-armed.Happened():
			o.Met = true
		default:
		}
		s.proxy.Disarm(armed)
	}
	return o
}

// onceAProcess tells of a call that a process makes once, when it is new.
func onceAProcess(c faultproxy.Call) bool { return c.Operation == "KMS.GetPublicKey" }

// String returns the outcome as a line.
func (o Outcome) String() string {
	verdict := "kept"
	switch {
	case o.Trouble != nil:
		verdict = "NOT KEPT: " + o.Trouble.Error()
	case !o.Met:
		verdict = "it met no call"
	}
	return fmt.Sprintf("%5.1f s  %s: %s", o.Took.Seconds(), o.Fault, verdict)
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers only
	}
	return text
}
