package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

var adminNow = time.Date(2037, 5, 4, 12, 0, 0, 0, time.UTC)

func adminStore(t *testing.T) *dynamotest.Store {
	t.Helper()
	env := stackenv.Load(t)
	return dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Webhooks: env["WEBHOOKS_TABLE"],
		Now: func() time.Time { return adminNow },
	})
}

// adminAuth returns the AuthStore of the store's tables.
func adminAuth(s *dynamotest.Store) *dynamo.AuthStore { return dynamo.NewAuthStore(s.Tables()) }

func randomID() string { return strings.ToLower(rand.Text()) }

func TestAdminRows_RoundTrip(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	agent := campaign.Agent{ID: randomID(), KeyParameter: "/p", WebhookToken: "w", Rate: 7}
	tenant := campaign.Tenant{ID: randomID(), Name: "Ação & Filhos", AgentID: agent.ID}
	all := delivery.Endpoint{ID: "a", Tenant: tenant.ID, URL: "https://a.example", Secret: "whsec_x"}
	some := delivery.Endpoint{ID: "b", Tenant: tenant.ID, URL: "https://b.example", Secret: "whsec_y", Kinds: []string{"sent", "failed"}}
	for _, err := range []error{
		store.SaveAgent(ctx, agent), store.SaveTenant(ctx, tenant, nil), store.SaveEndpoint(ctx, some), store.SaveEndpoint(ctx, all),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	gotTenant, err := store.Tenant(ctx, tenant.ID)
	equal(t, "tenant", gotTenant, err, tenant)
	gotAgent, err := store.Agent(ctx, agent.ID)
	equal(t, "agent", gotAgent, err, agent)
	gotEndpoints, err := store.Endpoints(ctx, tenant.ID)
	equal(t, "endpoints", gotEndpoints, err, []delivery.Endpoint{all, some})
	tenants, err := store.Tenants(ctx)
	equal(t, "tenants list it", slices.Contains(tenants, tenant), err, true)
	agents, err := store.Agents(ctx)
	agent.WebhookToken = ""
	equal(t, "agents list it, without its token", slices.Contains(agents, agent), err, true)
}

// losing is a transport that loses the responses to the first transactions.
type losing struct{ left atomic.Int32 }

func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".TransactWriteItems") || l.left.Add(-1) < 0 {
		return answer, err
	}
	_ = answer.Body.Close()
	return nil, errors.New("connection reset by peer")
}

func TestAddEndpoint_LostResponses(t *testing.T) {
	t.Parallel()
	store, ctx, tenant := adminStore(t), t.Context(), randomID()
	for i := range 3 {
		transport := &losing{}
		transport.left.Store(2)
		s := *store
		s.Set(func(tables *dynamo.Tables) {
			tables.Client = dynamodb.NewFromConfig(stackenv.Load(t).AWS(), func(o *dynamodb.Options) {
				o.HTTPClient = &http.Client{Transport: transport}
			})
		})
		e := delivery.Endpoint{ID: randomID(), Tenant: tenant, URL: "https://a.example", Secret: "whsec_x"}
		has, err := s.AddEndpoint(ctx, e, 2)
		equal(t, "endpoints before", has, err, i)
	}
	all, err := store.Endpoints(ctx, tenant)
	equal(t, "endpoints", len(all), err, 2)
}

func TestAdminRows_NotFound(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	_, tenant := store.Tenant(ctx, randomID())
	_, agent := store.Agent(ctx, randomID())
	_, template := store.Template(ctx, randomID())
	rotated := adminAuth(store).RotateCredential(ctx, "rcs_"+randomID(), []byte("hash"), adminNow)
	for name, err := range map[string]error{"tenant": tenant, "agent": agent, "template": template, "rotate": rotated} {
		if !errors.Is(err, campaign.ErrNotFound) {
			t.Errorf("%s: %v, want campaign.ErrNotFound", name, err)
		}
	}
}

func TestPutTemplate_Versions(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	first := campaign.Template{ID: randomID(), Tenant: randomID(), Name: "n", Content: content.Content{Text: "Olá {{nome}}"}}
	second := first
	second.Text, second.Card = "", &content.Card{Title: "T", Suggestions: content.Replies("Sim")}
	for i, tmpl := range []campaign.Template{first, second} {
		got, err := store.PutTemplate(ctx, tmpl)
		tmpl.Version, tmpl.CreatedAt = i+1, adminNow
		equal(t, "put", got, err, tmpl)
		current, err := store.Template(ctx, tmpl.ID)
		equal(t, "current", current, err, tmpl)
	}
	listed, err := store.Templates(ctx, first.Tenant)
	equal(t, "list", listed, err, []campaign.Template{
		{ID: first.ID, Tenant: first.Tenant, Name: "n", Version: 2, Content: content.Content{Card: &content.Card{Title: "T"}}, CreatedAt: adminNow},
	})
	versions, err := everyVersion(ctx, store, first.ID)
	first.Version, second.Version, first.CreatedAt, second.CreatedAt = 1, 2, adminNow, adminNow
	equal(t, "versions", versions, err, []campaign.Template{second, first})
}

func everyVersion(ctx context.Context, s *dynamotest.Store, id string) (all []campaign.Template, err error) {
	for v, err := range s.TemplateVersions(ctx, id) {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func TestTemplateVersionsFrom(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	kept := campaign.Template{ID: randomID(), Tenant: randomID(), Name: "n"}
	for i := range 4 {
		kept.Text = fmt.Sprint("text ", i+1)
		_, err := store.PutTemplate(ctx, kept)
		must(t, err)
	}
	for _, c := range []struct {
		newest, limit int
		want          string
	}{{4, 2, "4 3"}, {2, 1, "2"}, {3, 9, "3 2 1"}, {1, 0, ""}, {0, 5, ""}} {
		got, err := store.TemplateVersionsFrom(ctx, kept.ID, c.newest, c.limit)
		must(t, err)
		var found []string
		for _, v := range got {
			if found = append(found, strconv.Itoa(v.Version)); v.Text != fmt.Sprint("text ", v.Version) {
				t.Errorf("version %d says %q", v.Version, v.Text)
			}
		}
		if strings.Join(found, " ") != c.want {
			t.Errorf("%d from %d: versions %v, want %s", c.limit, c.newest, found, c.want)
		}
	}
	if _, err := store.TemplateVersionsFrom(ctx, kept.ID, 5, 2); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("from a version that does not exist: %v, want campaign.ErrNotFound", err)
	}
}

func TestPutTemplate_OtherTenant(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	mine := campaign.Template{ID: randomID(), Tenant: randomID(), Content: content.Content{Text: "mine"}}
	if _, err := store.PutTemplate(ctx, mine); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutTemplate(ctx, campaign.Template{ID: mine.ID, Tenant: randomID(), Content: content.Content{Text: "theirs"}}); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("got %v, want campaign.ErrNotFound", err)
	}
	mine.Version, mine.CreatedAt = 1, adminNow
	got, err := store.Template(ctx, mine.ID)
	equal(t, "unchanged", got, err, mine)
}

func TestPutTemplate_ConcurrentEdits(t *testing.T) {
	t.Parallel()
	store := adminStore(t)
	const racers = 12
	id, tenant := randomID(), randomID()
	versions := make([]int, racers)
	var done sync.WaitGroup
	for i := range racers {
		done.Go(func() {
			got, err := store.PutTemplate(t.Context(), campaign.Template{ID: id, Tenant: tenant, Content: content.Content{Text: "t"}})
			if err != nil {
				t.Error(err)
			}
			versions[i] = got.Version
		})
	}
	done.Wait()
	slices.Sort(versions)
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func TestRotateCredential(t *testing.T) {
	t.Parallel()
	store, ctx := adminAuth(adminStore(t)), t.Context()
	c := account.Credential{
		ClientID: "rcs_" + randomID(), Tenant: randomID(), Name: "crm", SecretHash: []byte("first"),
		Scope: account.ScopeDispatch, CreatedAt: adminNow,
	}
	if err := store.CreateCredential(ctx, c); err != nil {
		t.Fatal(err)
	}
	if err := store.CreateCredential(ctx, c); !errors.Is(err, campaign.ErrLostRace) {
		t.Errorf("the same client id again: %v, want campaign.ErrLostRace", err)
	}
	until := adminNow.Add(time.Hour)
	for range 2 { // the second call simulates the SDK's retry after a lost response
		if err := store.RotateCredential(ctx, c.ClientID, []byte("second"), until); err != nil {
			t.Fatal(err)
		}
	}
	c.PreviousSecretHash, c.SecretHash, c.PreviousUntil = c.SecretHash, []byte("second"), until
	got, err := store.Credentials(ctx, c.Tenant)
	equal(t, "credentials", got, err, []account.Credential{c})

	for range 2 {
		if err := store.RotateCredential(ctx, c.ClientID, []byte("third"), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	c.PreviousSecretHash, c.SecretHash, c.PreviousUntil, c.RefreshGeneration = nil, []byte("third"), time.Time{}, 1
	got, err = store.Credentials(ctx, c.Tenant)
	equal(t, "credentials after a rotation without overlap", got, err, []account.Credential{c})
}

func TestPause_Resume(t *testing.T) {
	t.Parallel()
	store, ctx := adminStore(t), t.Context()
	subject := "tenant#" + randomID()
	for _, step := range []struct {
		act    func() error
		paused bool
	}{
		{func() error { return store.Resume(ctx, subject) }, false},
		{func() error { return store.Pause(ctx, subject) }, true},
		{func() error { return store.Pause(ctx, subject) }, true},
		{func() error { return store.Resume(ctx, subject) }, false},
	} {
		if err := step.act(); err != nil {
			t.Fatal(err)
		}
		pauses, err := store.Pauses(ctx)
		since, paused := pauses[subject]
		equal(t, "paused", paused, err, step.paused)
		if paused && !since.Equal(adminNow) {
			t.Errorf("paused since %v, want %v", since, adminNow)
		}
	}
}

func equal[T any](t *testing.T, what string, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
