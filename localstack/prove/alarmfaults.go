package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/uuid"
)

// fault is what an alarm is for.
type fault struct {
	alarm, what string
	// provoke lets it happen, and returns what ends it.
	provoke func(ctx context.Context) (undo func(context.Context) error, err error)
}

func (w *watch) faults() []fault {
	all := []fault{
		{"CallErrorsAlarm", "the token function gets what is no request", w.broken("TokenFunction")},
		{"TaskErrorsAlarm", "the send function gets what are no tasks", w.broken("SendFunction")},
		{"CallThrottlesAlarm", "Lambda runs no campaigns function", w.throttled("CampaignsFunction")},
		{"TaskThrottlesAlarm", "Lambda runs no revoke function", w.throttled("RevokeFunction")},
		{"ApiErrorsAlarm", "the dispatch function loses its table", w.apiFails},
		{"EventsErrorsAlarm", "the events function loses its queue", w.eventsFail},
		{"ProviderAlarm", "the provider answers 503 to all", w.providerFails},
		{"CircuitsAlarm", "an endpoint answers 500 to all", w.endpointAnswers(http.StatusInternalServerError)},
		{"EndpointsOffAlarm", "an endpoint answers 410", w.endpointAnswers(http.StatusGone)},
		{"SweepFoundAlarm", "a campaign's hand-off is lost", w.leftToSweep("DispatchFunction")},
		{"SweepFailedAlarm", "a campaign's hand-off is lost, and sweep fails at it", w.leftToSweep("DispatchFunction", "SweepFunction")},
		{"CostAlarm", "the function of the provider's webhook is called 1,000 times", w.flooded},
	}
	for _, queue := range []string{"Release", "Send", "Events", "Notify", "Revoke"} {
		all = append(all,
			fault{queue + "DeadLettersAlarm", "a task of " + queue + "Queue is given up", w.deadLetter(queue)},
			fault{queue + "AgeAlarm", "nobody takes tasks from " + queue + "Queue", w.untaken(queue)})
	}
	return append(all,
		fault{"FeedDeadLettersAlarm", "a record of the stream is given up", w.deadLetter("Feed")},
		fault{"FeedStoppedAlarm", "feed is not called of new outcomes", w.unfedNews},
		fault{"FeedAgeAlarm", "the stream of outcomes is read late", w.unfed})
}

func (w *watch) lambda() *lambda.Client {
	return lambda.NewFromConfig(w.env.AWS(), func(o *lambda.Options) { o.RetryMaxAttempts = 1 })
}

func nothing(context.Context) error { return nil }

// broken calls a function with an event that is none of its kind.
func (w *watch) broken(function string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		out, err := w.lambda().Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(w.names[function]), Payload: []byte(`[]`)})
		if err == nil && out.FunctionError == nil {
			err = fmt.Errorf("%s took it", function)
		}
		return nothing, err
	}
}

func (w *watch) throttled(function string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		const calls = 12
		name := aws.String(w.names[function])
		undo := func(ctx context.Context) error {
			_, err := w.lambda().DeleteFunctionConcurrency(ctx, &lambda.DeleteFunctionConcurrencyInput{FunctionName: name})
			return err
		}
		_, err := w.lambda().PutFunctionConcurrency(ctx, &lambda.PutFunctionConcurrencyInput{FunctionName: name, ReservedConcurrentExecutions: aws.Int32(0)})
		for range calls {
			if err != nil {
				break
			}
			_, turned := w.lambda().Invoke(ctx, &lambda.InvokeInput{FunctionName: name, Payload: []byte(`{}`)})
			if limited := (*lambdatypes.TooManyRequestsException)(nil); !errors.As(turned, &limited) {
				err = fmt.Errorf("%s was called all the same: %w", function, turned)
			}
		}
		return undo, err
	}
}

// misled publishes a version of a function with another value of its environment,
// as a faulty deployment does. Undoing it is the way back of a deployment.
func (w *watch) misled(ctx context.Context, function, variable, value string) (undo func(context.Context) error, err error) {
	name := aws.String(w.names[function])
	was, err := w.lambda().GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: name})
	if err != nil {
		return nil, fmt.Errorf("read the configuration of %s: %w", function, err)
	}
	set := func(ctx context.Context, variables map[string]string) error {
		_, err := w.lambda().UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
			FunctionName: name, Environment: &lambdatypes.Environment{Variables: variables},
		})
		return err
	}
	changed := maps.Clone(was.Environment.Variables)
	changed[variable] = value
	if err := set(ctx, changed); err != nil {
		return nil, fmt.Errorf("mislead %s: %w", function, err)
	}
	back, err := shift(ctx, w.lambda(), *name)
	return func(ctx context.Context) error {
		return errors.Join(set(ctx, was.Environment.Variables), back(ctx))
	}, err
}

func (w *watch) apiFails(ctx context.Context) (func(context.Context) error, error) {
	const calls = 3
	undo, err := w.misled(ctx, "DispatchFunction", "CAMPAIGNS_TABLE", "gone")
	for range calls {
		if err == nil && strings.Contains(fmt.Sprint(w.dispatch(ctx, uuid.New(), 1, someNumbers(1))), "answered 5") {
			w.failed++
		}
	}
	return undo, err
}

func (w *watch) eventsFail(ctx context.Context) (func(context.Context) error, error) {
	undo, err := w.misled(ctx, "EventsFunction", "EVENTS_QUEUE_URL", w.env["AWS_ENDPOINT_URL"]+"/000000000000/gone")
	if err == nil {
		err = w.dispatch(ctx, uuid.New(), 1, someNumbers(20))
	}
	return undo, err
}

func (w *watch) providerFails(ctx context.Context) (func(context.Context) error, error) {
	err := w.behave(ctx, map[string]any{"errorRate": 1})
	id := uuid.New()
	if err == nil {
		err = w.dispatch(ctx, id, 1, someNumbers(200))
	}
	return func(ctx context.Context) error {
		if err := w.behave(ctx, map[string]any{}); err != nil {
			return err
		}
		return eventually(ctx, time.Minute, func() (bool, error) {
			c, err := w.campaign(ctx, id)
			return c.Counts["pending"] == 0, err
		})
	}, err
}

// endpointAnswers registers an endpoint that answers that, and lets messages be read.
func (w *watch) endpointAnswers(status int) func(context.Context) (func(context.Context) error, error) {
	const known = 11 * time.Second // after which a new endpoint is known everywhere
	return func(ctx context.Context) (func(context.Context) error, error) {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) { answer.WriteHeader(status) })}
		go func() { _ = server.Serve(listener) }()
		store := storeOf(w.env)
		e := campaign.Endpoint{
			ID: uuid.New(), Tenant: w.env["TENANT"], URL: "http://" + listener.Addr().String(), Secret: "whsec_" + "cHJvdmVwcm92ZXByb3ZlcHJvdmVwcm92ZXByb3Zl",
			Kinds: []string{string(campaign.KindSent)},
		}
		undo := func(ctx context.Context) error {
			_, err := store.SwitchEndpoint(ctx, e.Tenant, e.ID, "switched off by an operator")
			return errors.Join(err, server.Close())
		}
		if err := store.SaveEndpoint(ctx, e); err != nil {
			return undo, err
		}
		time.Sleep(known)
		return undo, w.dispatch(ctx, uuid.New(), 1, someNumbers(20))
	}
}

// leftToSweep dispatches while those functions have no release queue, and sweeps.
func (w *watch) leftToSweep(functions ...string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		var undone []func(context.Context) error
		undo := func(ctx context.Context) (err error) {
			for _, back := range undone {
				err = errors.Join(err, back(ctx))
			}
			return err
		}
		for _, function := range functions {
			back, err := w.misled(ctx, function, "RELEASE_QUEUE_URL", w.env["AWS_ENDPOINT_URL"]+"/000000000000/gone")
			if back != nil {
				undone = append(undone, back)
			}
			if err != nil {
				return undo, err
			}
		}
		if err := w.dispatch(ctx, uuid.New(), 1, someNumbers(20)); err != nil {
			return undo, err
		}
		time.Sleep(3 * time.Second) // the local stack's grace
		_, err := w.lambda().Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(w.names["SweepFunction"]), Payload: []byte("{}")})
		return undo, err
	}
}

// flooded calls the function itself: the emulator counts no calls of its address.
func (w *watch) flooded(ctx context.Context) (func(context.Context) error, error) {
	const calls = 1000
	name, event := aws.String(w.names["EventsFunction"]), []byte(`{"version":"2.0","rawPath":"/x","requestContext":{"http":{"method":"POST","path":"/x"}}}`)
	group, calling := errgroup.WithContext(ctx)
	group.SetLimit(20)
	for range calls {
		group.Go(func() error {
			_, err := w.lambda().Invoke(calling, &lambda.InvokeInput{FunctionName: name, Payload: event})
			return err
		})
	}
	return nothing, group.Wait()
}

func (w *watch) deadLetter(queue string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) { return w.put(ctx, queue+"DeadLetters") }
}

// put puts a task on a queue, and returns what empties it.
func (w *watch) put(ctx context.Context, queue string) (func(context.Context) error, error) {
	client, url := sqs.NewFromConfig(w.env.AWS()), aws.String(w.names[queue])
	_, err := client.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String(`{}`)})
	return func(ctx context.Context) error {
		_, err := client.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url})
		return err
	}, err
}

// untaken stops what takes tasks from a queue, and puts one on it.
func (w *watch) untaken(queue string) func(context.Context) (func(context.Context) error, error) {
	return func(ctx context.Context) (func(context.Context) error, error) {
		takers := map[string]string{"Release": "Release", "Send": "Send", "Events": "Outcomes", "Notify": "Notify", "Revoke": "Revoke"}
		goOn, err := w.stop(ctx, takers[queue]+"Function", path.Base(w.names[queue+"Queue"]))
		if err != nil {
			return nil, err
		}
		purge, err := w.put(ctx, queue+"Queue")
		return func(ctx context.Context) error { return errors.Join(purge(ctx), goOn(ctx)) }, err
	}
}

// unfedNews stops what reads the stream of outcomes, and has some recorded.
func (w *watch) unfedNews(ctx context.Context) (func(context.Context) error, error) {
	const messages = 20
	goOn, err := w.unfed(ctx)
	if err != nil {
		return nil, err
	}
	err = w.campaignRead(ctx, messages)
	w.recorded++
	return func(ctx context.Context) error {
		w.recorded = 0
		return goOn(ctx)
	}, err
}

// unfed stops what reads the stream of outcomes. The emulator does not measure the age
// of records; what is counted as their age is how long the stream is not read.
func (w *watch) unfed(ctx context.Context) (func(context.Context) error, error) {
	return w.stop(ctx, "FeedFunction", w.names["FeedFunction"])
}

// stop disables what calls a function, notes since when nothing is taken from the source
// of that name, and returns what enables it again.
func (w *watch) stop(ctx context.Context, function, source string) (goOn func(context.Context) error, err error) {
	found, err := w.lambda().ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{FunctionName: aws.String(w.names[function] + ":" + alias)})
	if err != nil || len(found.EventSourceMappings) != 1 {
		return nil, fmt.Errorf("find what calls %s: %w", function, err)
	}
	enable := func(ctx context.Context, enabled bool) error {
		_, err := w.lambda().UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: found.EventSourceMappings[0].UUID, Enabled: &enabled})
		return err
	}
	if err := enable(ctx, false); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // what it has begun to take
	w.stopped[source] = time.Now()
	return func(ctx context.Context) error {
		delete(w.stopped, source)
		return enable(ctx, true)
	}, nil
}
