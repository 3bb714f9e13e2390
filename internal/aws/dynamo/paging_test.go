package dynamo_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/sweep/overdue"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// smallPages limits DynamoDB pages to two rows, unless the code sets a limit. Otherwise
// pages end after 1 MB.
func smallPages(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("small pages",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				switch asked := in.Parameters.(type) {
				case *dynamodb.QueryInput:
					if asked.Limit == nil {
						asked.Limit = aws.Int32(2)
					}
				case *dynamodb.ScanInput:
					asked.Limit = aws.Int32(2)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
	})
}

const several = 7 // rows: four pages

// pagedStore is a store with its own Campaigns table and a tenant with several rows of each
// kind.
func pagedStore(t *testing.T) (store *dynamotest.Store, tenant string) {
	t.Helper()
	env := stackenv.Load(t)
	store = dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS(), smallPages), Auth: env["AUTH_TABLE"], Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]),
		Outcomes: env["OUTCOMES_TABLE"], Webhooks: env["WEBHOOKS_TABLE"],
		Now: func() time.Time { return later },
	})
	return store, randomID()
}

// one returns the name of the ith item.
func one(i int) string { return fmt.Sprintf("%02d", i) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// whole checks that a list contains each item once.
func whole[T any](t *testing.T, what string, list []T, err error, nameOf func(T) string) {
	t.Helper()
	must(t, err)
	var got, want []string
	for _, x := range list {
		got = append(got, nameOf(x))
	}
	for i := range several {
		want = append(want, one(i))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func last2(s string) string { return s[len(s)-2:] }

func TestPages_Tenant(t *testing.T) {
	t.Parallel()
	s, tenant := pagedStore(t)
	ctx, clients := t.Context(), "rcs_"+rand.Text()
	for i := range several {
		must(t, s.SaveAgent(ctx, campaign.Agent{ID: "a" + one(i)}))
		must(t, s.SaveTenant(ctx, campaign.Tenant{ID: "t" + one(i), AgentID: "a" + one(i)}, nil))
		must(t, s.Pause(ctx, "tenant#t"+one(i)))
		must(t, s.SaveEndpoint(ctx, delivery.Endpoint{ID: one(i), Tenant: tenant, URL: "https://e.example", Secret: "s"}))
		must(t, adminAuth(s).CreateCredential(ctx, account.Credential{ClientID: clients + one(i), Tenant: tenant, Name: "n", SecretHash: []byte("h")}))
		_, err := s.PutTemplate(ctx, campaign.Template{ID: one(i), Tenant: tenant, Name: "n", Content: content.Content{Text: "t"}})
		must(t, err)
		must(t, s.AddPosts(ctx, tenant, later.Add(time.Duration(i)*time.Hour), map[string]delivery.PostCount{"e": {Accepted: 1}}))
		_, err = s.KeepOptOuts(ctx, tenant, campaign.OptOuts{Shard: i, Version: 1})
		must(t, err)
	}
	agents, err := s.Agents(ctx)
	whole(t, "agents", agents, err, func(a campaign.Agent) string { return last2(a.ID) })
	tenants, err := s.Tenants(ctx)
	whole(t, "tenants", tenants, err, func(t campaign.Tenant) string { return last2(t.ID) })
	pauses, err := s.Pauses(ctx)
	whole(t, "pauses", slices.Collect(maps.Keys(pauses)), err, last2)
	endpoints, err := s.Endpoints(ctx, tenant)
	whole(t, "endpoints", endpoints, err, func(e delivery.Endpoint) string { return e.ID })
	credentials, err := adminAuth(s).Credentials(ctx, tenant)
	whole(t, "credentials", credentials, err, func(c account.Credential) string { return last2(c.ClientID) })
	templates, err := s.Templates(ctx, tenant)
	whole(t, "templates", templates, err, func(t campaign.Template) string { return t.ID })
	posts, err := s.HourlyPosts(ctx, tenant, "e", later)
	whole(t, "posts", posts, err, func(p delivery.HourlyPosts) string { return one(int(p.Hour.Sub(later).Hours())) })
	optOuts, err := s.OptOuts(ctx, tenant)
	whole(t, "opt-outs", optOuts, err, func(o campaign.OptOuts) string { return one(o.Shard) })
}

func TestPages_Template(t *testing.T) {
	t.Parallel()
	s, tenant := pagedStore(t)
	id := randomID()
	for range several {
		_, err := s.PutTemplate(t.Context(), campaign.Template{ID: id, Tenant: tenant, Name: "n", Content: content.Content{Text: "t"}})
		must(t, err)
	}
	versions, err := everyVersion(t.Context(), s, id)
	whole(t, "versions", versions, err, func(t campaign.Template) string { return one(t.Version - 1) })
}

func TestPages_Campaign(t *testing.T) {
	t.Parallel()
	s, tenant := pagedStore(t)
	ctx, first := t.Context(), newBatch(tenant, campaign.BatchSending, later, later.Add(-time.Hour))
	for i := range several {
		b := first
		b.Ordinal, b.BatchID, b.Key, b.Accepted = i+1, campaign.BatchID(one(i)), newKey(), 2
		must(t, s.Accept(ctx, acceptance.Command{
			Batch: b, Campaign: "Natal", Ordinal: i + 1, Packed: []byte{byte(i)}, CreatedAt: later,
		}, rand.Text()))
	}
	for name, read := range map[string]func(context.Context, campaign.ID) (campaign.Campaign, error){
		"campaign": s.Campaign, "dispatched": s.Dispatched, "overview": s.Overview,
	} {
		c, err := read(ctx, first.ID)
		whole(t, name, c.Batches, err, func(p campaign.BatchProgress) string { return one(p.Ordinal - 1) })
	}
	sets, err := s.PackedSets(ctx, first.ID)
	whole(t, "numbers", sets, err, func(p acceptance.PackedSet) string { return one(p.Ordinal - 1) })
	var due []overdue.Item
	for shard := range dynamo.DueShards {
		for d, err := range s.Due(ctx, shard, later) {
			must(t, err)
			if d.Campaign == nil {
				due = append(due, d)
			}
		}
	}
	var found []string
	for _, d := range due {
		found = append(found, d.Batch.BatchID)
	}
	slices.Sort(found)
	if len(found) != several || len(slices.Compact(found)) != several {
		t.Errorf("due are %d batches, want %d", len(found), several)
	}
}

func TestPages_FailuresAndDeliveries(t *testing.T) {
	t.Parallel()
	s, tenant := pagedStore(t)
	ctx := t.Context()
	for i := range several {
		must(t, s.AddDeliveries(ctx, []delivery.Delivery{{
			ID: "d" + one(i), Tenant: tenant, EndpointID: "e", Kind: delivery.KindReplied, Blob: "events/a/b", Dead: true, Pending: []int{0}, Next: later.Add(time.Duration(i) * time.Minute),
		}}))
		must(t, s.RecordFailure(ctx, delivery.Failure{
			Tenant: tenant, EndpointID: "e", WebhookID: "msg_" + one(i), At: later.Add(time.Duration(i) * time.Minute), Kind: delivery.KindReplied,
		}))
	}
	dead, err := s.DeadDeliveries(ctx, tenant, "e", time.Time{}, 100)
	whole(t, "dead", dead, err, func(n delivery.NotifyTask) string { return last2(n.DeliveryID) })
	failures, err := s.Failures(ctx, tenant, "e", 100)
	whole(t, "failures", failures, err, func(f delivery.Failure) string { return last2(f.WebhookID) })
}

func TestPages_KeptAnswers(t *testing.T) {
	t.Parallel()
	s, tenant := pagedStore(t)
	for i := range several {
		b := newBatch(tenant, campaign.BatchSending, later, later)
		must(t, s.Accept(t.Context(), acceptance.Command{
			Batch: b, Campaign: "c" + one(i), Ordinal: 1, Packed: []byte{0},
			ClientID: "rcs_1", IdempotencyKey: "k" + one(i), Answer: acceptance.Answer{Body: []byte(one(i))}, AnswerUntil: later.Add(time.Hour),
		}, rand.Text()))
	}
	var answers []acceptance.KeptAnswer
	looked := 0
	for a, err := range s.KeptAnswers(t.Context(), func(rows int) { looked = rows }) {
		must(t, err)
		answers = append(answers, a)
	}
	whole(t, "answers", answers, nil, func(a acceptance.KeptAnswer) string { return strings.Trim(string(a.Body), `"`) })
	if looked < 3*several {
		t.Errorf("looked at %d rows", looked)
	}
}
