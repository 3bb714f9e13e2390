package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// alarmCase is a fault and the alarm that it fires.
type alarmCase struct {
	alarm, fault string
	provoke      func(ctx context.Context, t *testing.T)
}

// observability causes a fault for each alarm on a metric of the service's own, or for
// those that ALARMS names, after a campaign without faults, which fires none.
// TestTemplate_EveryAlarm has the alarms on the metrics that AWS measures itself, and TestTemplate_SafetyNets those of silence and
// of the recount, which has each tenant once in six hours.
func observability(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	w := newWatch(ctx, t, env)
	w.quiet(ctx, t)
	cases := []alarmCase{
		{"EventsSilentAlarm", "the provider sends no events", w.providerIsSilent},
		{"EventsErrorsAlarm", "the events queue of the events function is gone", w.eventsFail},
		{"EventsRefusedAlarm", "the provider's events have a wrong signature", w.eventsRefused},
		{"ProviderAlarm", "the provider answers 503 to all", w.providerFails},
		{"ListsUnreadableAlarm", "the numbers of a list are gone", w.listIsGone},
		{"CircuitsAlarm", "an endpoint answers 500 to all", w.endpointAnswers(http.StatusInternalServerError)},
		{"EndpointsOffAlarm", "an endpoint answers 410", w.endpointAnswers(http.StatusGone)},
		{"SweepFoundAlarm", "a campaign's hand-off is lost", w.leftToSweep("DispatchFunction")},
		{"SweepFailedAlarm", "a campaign's hand-off is lost, and sweep fails at it", w.leftToSweep("DispatchFunction", "SweepFunction")},
	}
	var own []string
	for _, a := range w.alarms {
		if slices.ContainsFunc(a.all(), func(s series) bool { return s.Namespace == metrics.Namespace }) {
			own = append(own, a.Name)
		}
	}
	for _, c := range cases {
		own = slices.DeleteFunc(own, func(name string) bool { return name == c.alarm })
		if only := os.Getenv("ALARMS"); only == "" || slices.Contains(strings.Split(only, ","), c.alarm) {
			t.Run(c.alarm, func(t *testing.T) { w.fires(ctx, t, c) })
		}
	}
	if len(own) > 0 {
		record(t, false, "alarms without a fault that fires them", strings.Join(own, ", "))
	}
}

// watch evaluates the alarms on the metrics in the functions' logs.
type watch struct {
	service

	names  resourceNames
	alarms []alarm
}

func newWatch(ctx context.Context, t *testing.T, env stackenv.Env) *watch {
	t.Helper()
	s, err := newService(ctx, env)
	check(t, err)
	stack := env["STACK_NAME"]
	w := &watch{service: s, names: resourceNames{"AWS::StackName": stack}}
	resources, err := cloudformation.NewFromConfig(env.AWS()).DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: &stack})
	check(t, err)
	for _, r := range resources.StackResources {
		w.names[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	template, err := os.ReadFile("template.yaml")
	check(t, err)
	w.alarms, err = readAlarms(template, "local", w.names)
	w.alarms = slices.DeleteFunc(w.alarms, func(a alarm) bool { return a.OfSilence || a.Name == "RecountFailedAlarm" })
	check(t, errors.Join(err, s.disableRateLimit(ctx), s.behave(ctx, map[string]any{})))
	return w
}

// quiet checks that a campaign without faults is counted and fires no alarm.
func (w *watch) quiet(ctx context.Context, t *testing.T) {
	t.Helper()
	const messages = 20
	since, id := time.Now(), random.UUID()
	check(t, w.dispatch(ctx, id, 1, someNumbers(messages)))
	check(t, eventually(ctx, time.Minute, func() (bool, error) {
		c, err := w.campaign(ctx, id)
		return c.Counts["read"] == messages, err
	}))
	seen, err := w.readLogs(ctx, since)
	check(t, err)
	fired := w.firing(seen)
	sent := statistics["Sum"](seen[series{metrics.Namespace, string(metrics.MessagesSent), w.names["SendFunction"]}])
	record(t, sent == messages && len(fired) == 0, "a campaign of 20 messages without faults",
		fmt.Sprintf("%v sent by the metrics, alarms: %v", sent, fired))
}

// fires causes a fault, and waits for its alarm.
func (w *watch) fires(ctx context.Context, t *testing.T, c alarmCase) {
	t.Helper()
	since, fired := time.Now(), []string(nil)
	c.provoke(ctx, t)
	err := eventually(ctx, time.Minute, func() (bool, error) {
		seen, err := w.readLogs(ctx, since)
		fired = w.firing(seen)
		return slices.ContainsFunc(fired, func(line string) bool { return strings.HasPrefix(line, c.alarm+" ") }), err
	})
	record(t, err == nil, c.fault, "alarms: "+strings.Join(fired, ", "))
}

// firing returns the alarms that fire, with their values.
func (w *watch) firing(seen measured) (lines []string) {
	for _, a := range w.alarms {
		if value, firing := a.fires(seen); firing {
			lines = append(lines, fmt.Sprintf("%s at %.3g of %.3g", a.Name, value, a.Threshold))
		}
	}
	return lines
}

// readLogs returns the metrics in the functions' logs since an instant, as CloudWatch
// extracts them.
func (w *watch) readLogs(ctx context.Context, since time.Time) (measured, error) {
	client, seen := cloudwatchlogs.NewFromConfig(w.env.AWS()), measured{}
	prefix := "/campaign-dispatch/" + w.env["STACK_NAME"] + "/"
	groups, err := client.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &prefix})
	if err != nil {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	for _, group := range groups.LogGroups {
		for line, err := range linesOf(ctx, client, *group.LogGroupName, since) {
			if err != nil {
				return nil, err
			}
			addEmbedded(line, since, seen)
		}
	}
	return seen, nil
}

// addEmbedded adds the metrics of a line in the Embedded Metric Format; other lines
// have none.
func addEmbedded(line string, since time.Time, seen measured) {
	var document struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	var members map[string]any
	if json.Unmarshal([]byte(line), &document) != nil || json.Unmarshal([]byte(line), &members) != nil || document.AWS.Timestamp < since.UnixMilli() {
		return
	}
	for _, directive := range document.AWS.CloudWatchMetrics {
		for _, dimensions := range directive.Dimensions {
			for _, m := range directive.Metrics {
				of, _ := members[dimensions[0]].(string)
				value, ok := members[m.Name].(float64)
				if !ok {
					continue
				}
				if len(dimensions) == 2 { // a query judges each agent and endpoint, and the proof has one
					seen.add(series{directive.Namespace, m.Name, dimensions[1]}, value)
					name, _ := members[dimensions[1]].(string)
					of += "/" + name
				}
				seen.add(series{directive.Namespace, m.Name, of}, value)
				if m.Name == string(metrics.CallsFailed) { // the emulator counts no calls
					seen.add(series{"AWS/Lambda", "Invocations", of}, value)
				}
			}
		}
	}
}

func (w *watch) eventsFail(ctx context.Context, t *testing.T) {
	t.Helper()
	w.misconfigure(ctx, t, "EventsFunction", "EVENTS_QUEUE_URL", w.env["AWS_ENDPOINT_URL"]+"/000000000000/gone")
	check(t, w.dispatch(ctx, random.UUID(), 1, someNumbers(20)))
}

func (w *watch) eventsRefused(ctx context.Context, t *testing.T) {
	t.Helper()
	tenant, err := storeOf(w.env).Tenant(ctx, w.env["TENANT"])
	check(t, err)
	for range 3 {
		got, err := w.call(ctx, http.MethodPost, w.env["EVENTS_URL"]+"/"+tenant.AgentID,
			[]byte(`{"message":{"data":"e30="}}`), map[string]string{"X-Goog-Signature": "d3Jvbmc="})
		check(t, err)
		if got.status != http.StatusForbidden {
			t.Errorf("an event with a wrong signature: answered %d", got.status)
		}
	}
}

// providerIsSilent sends 500 messages, of which no events come.
func (w *watch) providerIsSilent(ctx context.Context, t *testing.T) {
	t.Helper()
	check(t, w.behave(ctx, map[string]any{"noEvents": true}))
	t.Cleanup(func() { check(t, w.behave(context.WithoutCancel(ctx), map[string]any{})) })
	check(t, w.dispatch(ctx, random.UUID(), 1, someNumbers(500)))
}

func (w *watch) providerFails(ctx context.Context, t *testing.T) {
	t.Helper()
	id := random.UUID()
	check(t, w.behave(ctx, map[string]any{"errorRate": 1}))
	t.Cleanup(func() {
		undoing := context.WithoutCancel(ctx)
		if err := errors.Join(w.behave(undoing, map[string]any{}), eventually(undoing, time.Minute, func() (bool, error) {
			c, err := w.campaign(undoing, id)
			return c.Counts["pending"] == 0, err
		})); err != nil {
			t.Error(err)
		}
	})
	check(t, w.dispatch(ctx, id, 1, someNumbers(200)))
}

// listIsGone deletes the segment of a list, and sends messages. Afterwards it deletes the list.
func (w *watch) listIsGone(ctx context.Context, t *testing.T) {
	t.Helper()
	blobs := s3.New(w.env.AWS(), w.env["BUCKET"], true)
	listBook := &book.Book{Store: storeOf(w.env), Blobs: blobs, Now: time.Now}
	change := lists.Change{Settings: &lists.Settings{Reason: "r"}, Add: numberset.New([]uint64{1})}
	l, err := listBook.Change(ctx, w.env["TENANT"], "gone", change, account.AuditEntry{At: time.Now()})
	check(t, err)
	t.Cleanup(func() {
		if err := listBook.Delete(context.WithoutCancel(ctx), l.Tenant, l.Name, account.AuditEntry{At: time.Now()}); err != nil {
			t.Error(err)
		}
	})
	check(t, blobs.Delete(ctx, l.Segments[0].ID))
	check(t, w.dispatch(ctx, random.UUID(), 1, someNumbers(20)))
}

// endpointAnswers registers an endpoint with that answer, and sends messages.
func (w *watch) endpointAnswers(status int) func(context.Context, *testing.T) {
	const known = 11 * time.Second // after which all processes know a new endpoint
	return func(ctx context.Context, t *testing.T) {
		t.Helper()
		server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(status) }))
		t.Cleanup(server.Close)
		e := endpointAt(w.env["TENANT"], server.URL, delivery.KindSent)
		check(t, storeOf(w.env).SaveEndpoint(ctx, e))
		t.Cleanup(func() {
			if _, err := storeOf(w.env).SwitchEndpoint(context.WithoutCancel(ctx), e.Tenant, e.ID, "switched off by an operator"); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(known)
		check(t, w.dispatch(ctx, random.UUID(), 1, someNumbers(20)))
	}
}

// leftToSweep dispatches while those functions have no release queue, and sweeps.
func (w *watch) leftToSweep(functions ...string) func(context.Context, *testing.T) {
	const grace = 3 * time.Second // SweepAfterSeconds of the local stack, and one more
	return func(ctx context.Context, t *testing.T) {
		t.Helper()
		for _, function := range functions {
			w.misconfigure(ctx, t, function, "RELEASE_QUEUE_URL", w.env["AWS_ENDPOINT_URL"]+"/000000000000/gone")
		}
		check(t, w.dispatch(ctx, random.UUID(), 1, someNumbers(20)))
		time.Sleep(grace)
		_, err := lambda.NewFromConfig(w.env.AWS()).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(w.names["SweepFunction"]), Payload: []byte("{}")})
		check(t, err)
	}
}

// misconfigure gives a function another value of a variable of its environment, until the test
// ends.
func (w *watch) misconfigure(ctx context.Context, t *testing.T, function, variable, value string) {
	t.Helper()
	reconfigure(ctx, t, w.env, w.names[function], func(to *lambda.UpdateFunctionConfigurationInput) {
		to.Environment.Variables[variable] = value
	})
}

// eventually waits until a condition holds.
func eventually(ctx context.Context, within time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var last error
	for {
		ok, err := holds()
		if ok && err == nil {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the condition never held"), last)
		case <-time.After(300 * time.Millisecond):
		}
	}
}
