package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awsscheduler "github.com/aws/aws-sdk-go-v2/service/scheduler"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/lambdahttp"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/aws/scheduler"
	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/privacy/optout"
	"campaign-dispatch/internal/rcs"
	"campaign-dispatch/internal/release"
	"campaign-dispatch/internal/send"
	"campaign-dispatch/localstack/metering"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// What cannot be seen on this machine is assumed.
const (
	framesPerSend = 5 // frames that one call of send gets

	dispatchGB = 1.0
	releaseGB  = 0.25
	sendGB     = 0.5

	million  = 1_000_000
	gigabyte = 1e9
)

// distance is added to each call of AWS, so that calls are seen that are made side
// by side.
const distance = 5 * time.Millisecond

// plant is the service in one process, on the stack's tables and bucket, with
// metered clients and queues of its own that no function reads.
type plant struct {
	meter      *metering.Meter
	logs       *logMeter
	dispatch   lambda.Handler
	release    release.Releaser
	send       *send.Sender
	releases   *tee
	frames     *tee
	deliveries *tee // what endpoints are owed
	after      *aftermath
	token      string
	template   string
}

// tee puts messages on a queue and keeps them for the next stage.
type tee struct {
	queue  *sqs.Queue
	mu     sync.Mutex
	bodies [][]byte
}

func (t *tee) keep(bodies ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bodies = append(t.bodies, bodies...)
}

func (t *tee) Send(ctx context.Context, group string, body []byte, delay time.Duration) error {
	t.keep(body)
	return t.queue.Send(ctx, group, body, delay)
}

func (t *tee) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	t.keep(bodies...)
	return t.queue.SendAll(ctx, group, bodies)
}

func (t *tee) SendGroups(ctx context.Context, groups []string, bodies [][]byte) error {
	t.keep(bodies...)
	return t.queue.SendGroups(ctx, groups, bodies)
}

// take returns the tasks that were put on the queue.
func take[T any](t *tee) (tasks []T, err error) {
	for _, body := range t.bodies {
		var task T
		if err := json.Unmarshal(body, &task); err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	t.bodies = nil
	return tasks, nil
}

var errNoStack = errors.New("this part needs a stack: run `make bench`, or set " + stackenv.Variable + " to a stack.env")

func newPlant(ctx context.Context, key benchKey) (*plant, error) {
	env, err := stackenv.Read(os.Getenv(stackenv.Variable))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStack, err)
	}
	sizes := metering.RowSizes(ctx, dynamodb.NewFromConfig(env.AWS()))
	p := &plant{meter: &metering.Meter{Rules: metering.OfService(sizes), Distance: distance}, logs: &logMeter{}}
	slog.SetDefault(config.Logger(p.logs, ""))
	cfg := env.AWS()
	p.meter.Attach(&cfg)
	if p.releases, err = newTee(ctx, cfg, "bench-releases"); err != nil {
		return nil, err
	}
	if p.frames, err = newTee(ctx, cfg, "bench-frames"); err != nil {
		return nil, err
	}
	if p.deliveries, err = newTee(ctx, cfg, "bench-notices"); err != nil {
		return nil, err
	}
	store := dynamo.NewCampaignStore(dynamo.FromEnv(dynamodb.NewFromConfig(cfg), env.Get, time.Now))
	// Nobody else reads the stream of this table.
	like, plain := store.Outcomes, dynamodb.NewFromConfig(env.AWS())
	store.Outcomes = "bench-outcomes-" + strings.ToLower(rand.Text())
	if err := stackenv.CopyShape(ctx, plain, plain, like, store.Outcomes); err != nil {
		return nil, err
	}
	blobs := &s3.Store{Client: awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"]}
	handoffs := release.Scheduler{Queue: p.releases, Schedules: &scheduler.Scheduler{
		Client: awsscheduler.NewFromConfig(cfg), Group: env["SCHEDULE_GROUP"],
		QueueARN: "arn:aws:sqs:us-east-1:000000000000:bench-releases", RoleARN: "arn:aws:iam::000000000000:role/bench",
	}}
	p.dispatch = dispatchOn(store, blobs, handoffs, key)
	p.release = release.Releaser{Store: store, Frames: p.frames, Releases: p.releases, SweepAfter: time.Hour, Now: time.Now}
	p.send = &send.Sender{
		Batches: store, Directory: store, RateLimits: store, Blobs: blobs, Queue: p.frames,
		Recorder: &outcome.Recorder{
			Store: store, Webhooks: store, Blobs: blobs, Notify: p.deliveries, MaxAppend: dynamo.MaxAppend, SweepAfter: time.Hour, Now: time.Now,
			Split: store.Split,
		},
		OptOuts: &optout.Book{Store: store, Now: time.Now},
		Provider: &rcs.Client{
			URL: env["RCS_URL"], Keys: ssm.Reader{Config: cfg, Now: time.Now}, HTTP: rcs.NewHTTPClient(metering.SendConcurrency), Now: time.Now,
		},
		Concurrency: metering.SendConcurrency, SweepAfter: time.Hour, Now: time.Now,
	}
	tenant, err := benchTenant(ctx, cfg, env, store)
	if err == nil {
		err = p.seed(ctx, store, tenant, key)
	}
	if err != nil {
		return nil, fmt.Errorf("seed the bench: %w", err)
	}
	events, err := newTee(ctx, cfg, "bench-events")
	if err != nil {
		return nil, err
	}
	p.after, err = newAftermath(ctx, store, blobs, events, p.deliveries, tenant)
	return p, err
}

// benchTenant makes a tenant with an agent of which the provider tells nothing,
// and without endpoints.
func benchTenant(ctx context.Context, cfg aws.Config, env stackenv.Env, store *dynamo.CampaignStore) (string, error) {
	known := "/campaign-dispatch/" + env["STACK_NAME"] + "/agents/" + env["DEMO_AGENT_ID"]
	document, err := ssm.Reader{Config: cfg, Now: time.Now}.KeyDocument(ctx, known)
	if err != nil {
		return "", err
	}
	id := "bench-" + strings.ToLower(rand.Text())
	service := &admin.Service{
		Store: store, Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(cfg)}, Now: time.Now, Stack: env["STACK_NAME"],
	}
	_, err = service.SaveTenant(ctx, admin.TenantForm{
		ID: id, Name: "Bench",
		Agent: admin.AgentForm{ID: id, KeyDocument: bytes.ReplaceAll(document, []byte(env["DEMO_AGENT_ID"]), []byte(id))},
	})
	return id, err
}

func newTee(ctx context.Context, cfg aws.Config, name string) (*tee, error) {
	client := awssqs.NewFromConfig(cfg)
	out, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: aws.String(name)})
	if err != nil {
		return nil, fmt.Errorf("create queue %s: %w", name, err)
	}
	return &tee{queue: &sqs.Queue{Client: client, URL: aws.ToString(out.QueueUrl)}}, nil
}

func dispatchOn(store *dynamo.CampaignStore, blobs *s3.Store, handoffs release.Scheduler, key benchKey) lambda.Handler {
	service := &dispatch.Service{
		Tokens: &accesstoken.Verifier{Keys: key, Now: time.Now}, Store: store, Blobs: blobs,
		Releases: handoffs, SeenNumbers: &dispatch.SeenNumbers{Limit: 128 << 20},
		Now: time.Now, BaseURL: baseURL, Lead: 5 * time.Minute, Grace: time.Hour, Limiter: unreached(dynamo.NewAuthStore(store.Tables)),
	}
	mux := http.NewServeMux()
	mux.Handle("POST /api/v1/external/campaigns/dispatch", httpapi.HandlerFunc(service.ServeDispatch))
	return lambdahttp.NewHandler(mux)
}

// seed makes a credential and a template of the tenant, which has an agent.
func (p *plant) seed(ctx context.Context, store *dynamo.CampaignStore, tenant string, key benchKey) (err error) {
	if p.token, err = key.tokenOf(tenant); err != nil {
		return err
	}
	err = dynamo.NewAuthStore(store.Tables).SaveCredential(ctx, campaign.Credential{
		ClientID: clientID, Tenant: tenant, Name: "bench", SecretHash: make([]byte, 32), Scope: campaign.ScopeDispatch, CreatedAt: time.Now(),
	})
	if err != nil {
		return err
	}
	p.template = uuid.New()
	template := newInstant().template
	template.ID, template.Tenant, template.Name = p.template, tenant, "bench"
	if _, err = store.PutTemplate(ctx, template); err != nil {
		return err
	}
	return quicken(ctx, store, tenant)
}

// quicken gives the tenant's agent a rate that is kept but never waited for.
func quicken(ctx context.Context, store *dynamo.CampaignStore, tenant string) error {
	t, err := store.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	agent, err := store.Agent(ctx, t.AgentID)
	if err != nil {
		return err
	}
	agent.Rate = 100_000
	return store.SaveAgent(ctx, agent)
}

// cost is what was seen of one batch of 2,000 messages on its way.
type cost struct {
	handOff  metering.Units // up to the hand-off
	provider metering.Units // from there to the provider's acceptance
	outcomes metering.Units // from there to the last webhook
	entered  float64        // write units of that
	chain    int            // AWS calls of the dispatch call that waited for one another
}

// batch dispatches one full batch and sends it, unless it is for later.
func (p *plant) batch(ctx context.Context, call []byte) (c cost, err error) {
	p.meter.Take()
	p.logs.take()
	started := cpuTime()
	mustAccept(ctx, p.dispatch, call)
	cpu := cpuTime() - started
	calls := p.meter.Take()
	c.chain = metering.Depth(calls)
	c.handOff.Add(metering.Sum(calls))
	c.handOff.APICalls = metering.APICalls(len(call))
	c.handOff.Invocations = 1
	c.handOff.GBSeconds = dispatchGB * (cpu + time.Duration(c.chain)*metering.AWSRoundTrip).Seconds()
	c.handOff.LogGB = float64(p.logs.take()+metering.AccessLog+metering.LogLine) / gigabyte
	if len(p.releases.bodies) == 0 {
		return c, nil
	}
	ref, err := p.deliver(ctx, &c.provider)
	if err != nil {
		return c, err
	}
	c.provider.Add(metering.Sum(p.meter.Take()))
	c.provider.LogGB = float64(p.logs.take()) / gigabyte
	c.entered, err = p.after.follow(ctx, p.meter, ref, &c.outcomes)
	c.outcomes.LogGB = float64(p.logs.take()) / gigabyte
	return c, err
}

func (p *plant) deliver(ctx context.Context, u *metering.Units) (ref campaign.BatchRef, err error) {
	releases, err := take[campaign.ReleaseTask](p.releases)
	if err != nil {
		return ref, err
	}
	if err := errors.Join(p.release.Handle(ctx, releases)...); err != nil {
		return ref, err
	}
	invoke(u, releaseGB, 6*metering.AWSRoundTrip)
	frames, err := take[campaign.SendTask](p.frames)
	if err != nil {
		return ref, err
	}
	for tasks := range slices.Chunk(frames, framesPerSend) {
		if err := errors.Join(p.send.Handle(ctx, tasks)...); err != nil {
			return ref, err
		}
		waves := (len(tasks)*campaign.FrameSize + metering.SendConcurrency - 1) / metering.SendConcurrency
		invoke(u, sendGB, time.Duration(waves)*metering.ProviderRoundTrip+5*metering.AWSRoundTrip)
	}
	if len(p.frames.bodies) > 0 {
		return ref, errors.New("the simulator did not take every message: is the stack's behaviour changed?")
	}
	return releases[0].BatchRef, nil
}

// invoke counts a function call by a queue: a receive and a delete beside it.
func invoke(u *metering.Units, gigabytes float64, duration time.Duration) {
	u.Invocations++
	u.SQSRequests += 2
	u.GBSeconds += gigabytes * duration.Seconds()
}

// costBatches is how many full batches of one campaign are metered, after the
// one that creates it.
const costBatches = 5

func costFigures(ctx context.Context, key benchKey, random *mathrand.Rand) ([]figure, error) {
	prices, err := metering.PriceList(metering.Virginia)
	if err != nil {
		return nil, err
	}
	p, err := newPlant(ctx, key)
	if err != nil {
		return nil, err
	}
	const numbers = (costBatches + 1) * campaign.MaxMessages
	now, err := p.campaign(ctx, mobiles(random, numbers), "")
	if err != nil {
		return nil, err
	}
	later, err := p.campaign(ctx, mobiles(random, numbers), time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339))
	if err != nil {
		return nil, err
	}
	return costTable(now, later, prices.Units), nil
}

// campaign dispatches the numbers in full calls of a new campaign, and returns
// what all but the first cost.
func (p *plant) campaign(ctx context.Context, numbers []uint64, at string) ([]cost, error) {
	calls, err := p.calls(numbers, at)
	if err != nil {
		return nil, err
	}
	var all []cost
	for _, call := range calls {
		c, err := p.batch(ctx, call)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all[1:], nil
}

// calls are full calls of one campaign, whose first creates it.
func (p *plant) calls(numbers []uint64, at string) (calls [][]byte, err error) {
	id, name := uuid.New(), "bench "+rand.Text()
	for part := range slices.Chunk(numbers, campaign.MaxMessages) {
		body := dispatchCall(fmt.Sprintf("batch %d", len(calls)), part)
		body["campaignId"], body["name"], body["templateId"] = id, name, p.template
		if at != "" {
			body["schedule"] = at
		}
		call, err := eventOf(p.token, body)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
	}
	return calls, nil
}

func costTable(now, later []cost, prices metering.Units) []figure {
	const perMillion = float64(million) / campaign.MaxMessages
	var chain int
	var writes, handOff, scheduled, provider, outcomes, entered float64
	for i := range now {
		chain = max(chain, now[i].chain, later[i].chain)
		writes = max(writes, now[i].handOff.AllWrites())
		handOff += now[i].handOff.Dollars(prices) / float64(len(now))
		scheduled += later[i].handOff.Dollars(prices) / float64(len(later))
		outcomes += now[i].outcomes.Dollars(prices) / float64(len(now))
		entered = max(entered, now[i].entered/campaign.MaxMessages)
		provider += now[i].provider.Dollars(prices) / float64(len(now))
	}
	token := metering.Units{
		KMSSignatures: 1, Invocations: 1, APICalls: 1, Writes: 4, Reads: 4, GBSeconds: 0.05, LogGB: (metering.AccessLog + metering.LogLine) / gigabyte,
	}.Dollars(prices)
	handOff = handOff*perMillion + token
	scheduled = scheduled*perMillion + token
	assumed := fmt.Sprintf("metered calls and log lines × the prices of us-east-1; assumed: %v an AWS call, %v a message at the provider, one token an hour",
		metering.AWSRoundTrip, metering.ProviderRoundTrip)
	return []figure{
		measured("AWS round trips of a dispatch call, warm", float64(chain), "in a row", 4, "longest chain of calls that waited for one another"),
		measured("write units to accept 2,000 messages", writes, "units", 30, "into an existing campaign, by DynamoDB's rules from the requests and rows"),
		measured("1,000,000 messages to the hand-off", handOff, "dollars", 0.02, assumed),
		measured("1,000,000 scheduled messages to the hand-off", scheduled, "dollars", 0.02, assumed),
		measured("1,000,000 messages to the provider", handOff+provider*perMillion, "dollars", 0, assumed),
		measured("1,000,000 messages until they are read", handOff+(provider+outcomes)*perMillion, "dollars", 2.50,
			fmt.Sprintf("the same, with two webhooks each; assumed: %v a post, %d events a call", metering.WebhookRoundTrip, eventsPerCall)),
		measured("write units of a message from sent to read", entered, "units", 0.5, fmt.Sprintf("outcomes and notify, %d events a call", eventsPerCall)),
	}
}
