package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/lab/faultproxy"
	"campaign-dispatch/localstack/stackenv"
)

const (
	// workers run scenarios concurrently; slowWorkers those with slow calls.
	workers, slowWorkers = 8, 12
	scenarioTimeout      = 4 * time.Minute
	// visibility is the visibility timeout of the queues in seconds: six minutes on AWS.
	visibility = "15"
	// sweepParts is the number of parts of the sweep: one for each schedule in the template.
	sweepParts = 4
)

// faults runs the scenario once without a fault to see which calls of AWS the functions
// make, and then once for each kind of fault of each call, on a stack of its own.
// FAULTS_EVERY=20 tries every 20th fault, FAULTS_ONLY=word those whose name has the word.
func faults(ctx context.Context, t *testing.T, _ stackenv.Env) {
	t.Helper()
	s := startFaultStack(ctx, t)
	sweeping, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	s.sweepRepeatedly(sweeping)
	check(t, s.run(ctx, true, func() {}))
	var calls []faultproxy.Call
	var outcomes []faultOutcome
	for ctx.Err() == nil { // a fault may lead to calls that were not seen before
		found := newCalls(s.proxy, calls)
		if len(found) == 0 {
			break
		}
		quick, slow := chosenFaults(found)
		tried := append(s.tryAll(ctx, t, quick, workers), s.tryAll(ctx, t, slow, slowWorkers)...)
		for i := range tried {
			tried[i].afterFaults = len(calls) > 0
		}
		calls, outcomes = append(calls, found...), append(outcomes, tried...)
	}
	check(t, ctx.Err())
	functions := map[string]bool{}
	for _, c := range calls {
		functions[c.Function] = true
	}
	record(t, len(calls) > 0 && len(s.proxy.UnknownCallers()) == 0, fmt.Sprintf("the calls of AWS that %d functions make", len(functions)),
		fmt.Sprintf("%d, and of unknown callers: %v", len(calls), s.proxy.UnknownCallers()))
	for _, kind := range faultproxy.Kinds() {
		recordFaults(t, kind, outcomes)
	}
	searchLogs(ctx, t, s.env)
}

// faultOutcome is the result of a scenario with a fault.
type faultOutcome struct {
	fault       faultproxy.Fault
	met         bool  // the fault met a call
	afterFaults bool  // the call occurs only after another fault
	err         error // the promise that was not kept
	took        time.Duration
}

func (o faultOutcome) String() string {
	verdict := "kept"
	switch {
	case o.err != nil:
		verdict = "NOT KEPT: " + o.err.Error()
	case !o.met:
		verdict = "met no call"
	}
	return fmt.Sprintf("%5.1f s  %s: %s", o.took.Seconds(), o.fault, verdict)
}

// recordFaults adds a line for the faults of a kind.
func recordFaults(t *testing.T, kind faultproxy.Kind, outcomes []faultOutcome) {
	t.Helper()
	tried, kept, missed := 0, 0, 0
	var failures []string
	for _, o := range outcomes {
		if o.fault.Kind != kind {
			continue
		}
		tried++
		switch {
		case o.err == nil && o.met:
			kept++
		case o.err == nil && o.afterFaults:
			missed++
		default:
			failures = append(failures, o.String())
		}
	}
	if tried > 0 {
		record(t, kept+missed == tried && kept > 0, fmt.Sprintf("%d calls in turn: %s", tried, kind),
			fmt.Sprintf("%d faults: no message lost or sent twice, all responses correct; %d faults met no call, because it occurs only after another fault\n%s",
				kept, missed, strings.Join(failures, "\n")))
	}
}

// newCalls are the calls that the proxy has seen and that are not known.
func newCalls(p *faultproxy.Proxy, known []faultproxy.Call) (found []faultproxy.Call) {
	for call := range p.Seen() {
		if call.Function != "" && !slices.Contains(known, call) {
			found = append(found, call)
		}
	}
	slices.SortFunc(found, func(a, b faultproxy.Call) int { return strings.Compare(a.String(), b.String()) })
	return found
}

// chosenFaults are the faults to try, the slow ones apart.
func chosenFaults(calls []faultproxy.Call) (quick, slow []faultproxy.Fault) {
	every, _ := strconv.Atoi(os.Getenv("FAULTS_EVERY"))
	n := 0
	for _, kind := range faultproxy.Kinds() {
		for _, call := range calls {
			f := faultproxy.Fault{Kind: kind, Call: call}
			if n++; n%max(every, 1) != 0 || !strings.Contains(f.String(), os.Getenv("FAULTS_ONLY")) {
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

// faultStack is a stack whose functions call AWS through the proxy.
type faultStack struct {
	env       stackenv.Env
	proxy     *faultproxy.Proxy
	endpoints *endpointServer
	scenarios atomic.Int64 // so far
}

func startFaultStack(ctx context.Context, t *testing.T) *faultStack {
	t.Helper()
	const name = "campaign-dispatch-faults"
	own, err := ephemeralstack.New(ctx, name, ".local/faults")
	check(t, err)
	s := &faultStack{endpoints: newEndpointServer(t)}
	s.proxy, err = faultproxy.Start(ctx, name, own.AWS())
	check(t, err)
	t.Cleanup(func() {
		if err := own.Down(ctx); err != nil {
			t.Error(err)
		}
		s.proxy.Stop()
	})
	s.env, err = own.Up(ctx, "--parameter", "MinLeadSeconds=2", "--parameter", "SweepAfterSeconds=2",
		"--functions-aws", s.proxy.URL())
	check(t, err)
	for _, queue := range []string{"RELEASE", "SEND", "EVENTS", "NOTIFY", "REVOKE", "EXPORTS", "INTAKE"} {
		_, err := sqs.NewFromConfig(s.env.AWS()).SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
			QueueUrl: aws.String(s.env[queue+"_QUEUE_URL"]), Attributes: map[string]string{"VisibilityTimeout": visibility},
		})
		check(t, err)
	}
	return s
}

// sweepRepeatedly calls the sweep function for its parts, as the schedules do every minute.
func (s *faultStack) sweepRepeatedly(ctx context.Context) {
	for part := range sweepParts {
		go s.sweepPart(ctx, part)
	}
}

// sweepPart sweeps a part two seconds after its last sweep. Sweeps that started at fixed times
// would overlap on a slow machine, and slow it down further. A sweep that hangs is left alone
// after hangs.
func (s *faultStack) sweepPart(ctx context.Context, part int) {
	const pause, hangs = 2 * time.Second, 15 * time.Second
	functions := lambda.NewFromConfig(s.env.AWS())
	sweep := &lambda.InvokeInput{
		FunctionName: aws.String(s.env["SWEEP_FUNCTION"]), Payload: fmt.Appendf(nil, `{"part":%d,"of":%d}`, part, sweepParts),
	}
	for wait(ctx, pause) == nil {
		limited, cancel := context.WithTimeout(ctx, hangs)
		_, _ = functions.Invoke(limited, sweep)
		cancel()
	}
}

// tryAll tries faults concurrently. A fault may meet the call of any scenario; all scenarios
// have to succeed.
func (s *faultStack) tryAll(ctx context.Context, t *testing.T, faults []faultproxy.Fault, workers int) []faultOutcome {
	t.Helper()
	outcomes, next := make([]faultOutcome, len(faults)), make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				outcomes[i] = s.try(ctx, faults[i])
				t.Log(outcomes[i])
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

func (s *faultStack) try(ctx context.Context, f faultproxy.Fault) faultOutcome {
	begun := time.Now()
	var armed *faultproxy.Armed
	err := s.run(ctx, f.Call.Function == "dashboard", func() {
		if oncePerProcess(f.Call) {
			s.proxy.Kill(f.Call.Function)
		}
		armed = s.proxy.Arm(f)
	})
	o := faultOutcome{fault: f, err: err, took: time.Since(begun)}
	if armed != nil {
		select {
		case <-armed.Happened():
			o.met = true
		default:
		}
		s.proxy.Disarm(armed)
	}
	return o
}

// oncePerProcess reports whether a process makes the call once, when it reads keys or the
// configuration of the sign-in.
func oncePerProcess(c faultproxy.Call) bool {
	return c.Operation == "KMS.GetPublicKey" || strings.Contains(c.String(), "openid-configuration")
}

// wait returns after d, or with the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errUnbalanced = errors.New("the counts do not add up")
