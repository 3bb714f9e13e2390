package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"campaign-dispatch/localstack/alarms"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// observability sets off every alarm of the template, or those that ALARMS names, by
// a fault, once a campaign that goes well has set off none.
func observability(ctx context.Context, env stackenv.Env) ([]result, error) {
	w, err := newWatch(ctx, env)
	if err != nil {
		return nil, err
	}
	results := []result{w.deployed(ctx), w.quiet(ctx)}
	left := map[string]bool{}
	for _, a := range w.alarms {
		left[a.Name] = true
	}
	for _, f := range w.faults() {
		if only := os.Getenv("ALARMS"); only != "" && !slices.Contains(strings.Split(only, ","), f.alarm) {
			delete(left, f.alarm)
			continue
		}
		fmt.Fprintf(os.Stderr, "  %s: %s\n", f.alarm, f.what)
		r := w.setOff(ctx, f)
		fmt.Fprintf(os.Stderr, "    %v %s\n", r.Kept, r.Figure)
		results = append(results, r)
		delete(left, f.alarm)
	}
	for name := range left {
		results = append(results, result{"observability", "no fault sets it off", name, false})
	}
	return results, ctx.Err()
}

// watch knows the alarms of the stack, and what they are judged by.
type watch struct {
	service

	names    alarms.Names
	alarms   []alarms.Alarm
	failed   int                  // answers of the API with a 5xx since the last fault
	stopped  map[string]time.Time // when a task was put on a queue from which nobody takes
	recorded int                  // campaigns whose outcomes were recorded while nobody read the stream
}

func newWatch(ctx context.Context, env stackenv.Env) (*watch, error) {
	s, err := newService(ctx, env)
	if err != nil {
		return nil, err
	}
	w := &watch{service: s, names: alarms.Names{}, stopped: map[string]time.Time{}}
	stack := env["STACK_NAME"]
	resources, err := cloudformation.NewFromConfig(env.AWS()).DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	if err != nil {
		return nil, fmt.Errorf("list the stack's resources: %w", err)
	}
	for _, r := range resources.StackResources {
		w.names[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	template, err := os.ReadFile("template.yaml")
	if err != nil {
		return nil, err
	}
	w.alarms, err = alarms.Read(template, "local", w.names)
	return w, errors.Join(err, s.unhurried(ctx), s.behave(ctx, map[string]any{}))
}

// deployed tells which alarms the emulator has taken: all but those of several
// metrics.
func (w *watch) deployed(ctx context.Context) result {
	client := cloudwatch.NewFromConfig(w.env.AWS())
	wanted, there := 0, 0
	for _, a := range w.alarms {
		if len(a.Series()) > 1 {
			continue
		}
		wanted++
		out, err := client.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{w.names[a.Name]}})
		if err == nil && len(out.MetricAlarms) == 1 && aws.ToFloat64(out.MetricAlarms[0].Threshold) == a.Threshold {
			there++
		}
	}
	name := w.env["STACK_NAME"] + "-" + w.env["AWS_REGION"]
	board, err := client.GetDashboard(ctx, &cloudwatch.GetDashboardInput{DashboardName: &name})
	var body struct{ Widgets []any }
	if err == nil {
		err = json.Unmarshal([]byte(aws.ToString(board.DashboardBody)), &body)
	}
	return result{
		"observability", fmt.Sprintf("%d alarms, %d of them of one metric, and a dashboard deployed", len(w.alarms), wanted),
		fmt.Sprintf("%d alarms, a dashboard of %d graphs", there, len(body.Widgets)), err == nil && there == wanted && len(body.Widgets) > 0,
	}
}

// quiet shows that a campaign that goes well sets off no alarm.
func (w *watch) quiet(ctx context.Context) result {
	since := time.Now()
	err := w.campaignRead(ctx, 20)
	seen, measuring := w.measure(ctx, since)
	fired, told := w.fired(seen)
	sent := seen[alarms.Series{Namespace: "CampaignDispatch", Metric: "MessagesSent", Of: w.names["SendFunction"]}]
	err = errors.Join(err, measuring)
	return result{
		"observability", "a campaign of 20 messages that goes well", orError(fmt.Sprintf("%v sent by the metrics, alarms: %s", sum(sent), told), err),
		err == nil && len(fired) == 0 && sum(sent) == 20,
	}
}

func (w *watch) campaignRead(ctx context.Context, n int) error {
	id := uuid.New()
	if err := w.dispatch(ctx, id, 1, someNumbers(n)); err != nil {
		return err
	}
	return eventually(ctx, time.Minute, func() (bool, error) {
		c, err := w.campaign(ctx, id)
		return c.Counts["read"] == n, err
	})
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func orError(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// setOff lets a fault happen, and waits for its alarm.
func (w *watch) setOff(ctx context.Context, f fault) result {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	since := time.Now()
	w.failed = 0
	undo, err := f.provoke(ctx)
	told, reached := "", 0.0
	if err == nil {
		err = eventually(ctx, time.Minute, func() (bool, error) {
			seen, err := w.measure(ctx, since)
			var fired []string
			fired, told = w.fired(seen)
			reached = w.value(f.alarm, seen)
			return slices.Contains(fired, f.alarm), err
		})
		if err != nil {
			err = fmt.Errorf("%w: %s came to %.3g", err, f.alarm, reached)
		}
	}
	if undo != nil {
		undoing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, undo(undoing))
	}
	return result{"observability", f.what, orError(told, err), err == nil}
}

// value is what an alarm is judged by.
func (w *watch) value(alarm string, seen alarms.Measured) (value float64) {
	for _, a := range w.alarms {
		if a.Name == alarm {
			value, _ = a.Fires(seen)
		}
	}
	return value
}

// fired returns the alarms that are set off, and tells their values.
func (w *watch) fired(seen alarms.Measured) (names []string, told string) {
	var lines []string
	for _, a := range w.alarms {
		if value, fires := a.Fires(seen); fires {
			names = append(names, a.Name)
			lines = append(lines, fmt.Sprintf("%s at %.3g of %.3g", a.Name, value, a.Threshold))
		}
	}
	if len(lines) == 0 {
		return nil, "none"
	}
	return names, strings.Join(lines, ", ")
}

var errNever = errors.New("it did not come")

// eventually waits until something is so.
func eventually(ctx context.Context, within time.Duration, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for {
		ok, err := so()
		if ok && err == nil {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(errNever, last)
		case <-time.After(300 * time.Millisecond):
		}
	}
}
