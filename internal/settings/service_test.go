package settings_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// now is far in the future, so that the stack's functions do not process the rows of
// these tests.
var now = time.Date(2126, 5, 4, 12, 0, 0, 0, time.UTC)

// bench is a service on the stack's tables, with a tenant of its own.
type bench struct {
	*settings.Service
	store  *dynamotest.Store
	auth   *dynamo.AuthStore
	keys   *ssm.Reader
	tenant string
	agent  string
}

func newBench(t *testing.T) bench {
	t.Helper()
	env := stackenv.Load(t)
	clock := func() time.Time { return now }
	tables := dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Webhooks: env["WEBHOOKS_TABLE"], Now: clock,
	}
	store, auth := dynamotest.New(tables), dynamo.NewAuthStore(tables)
	client := awsssm.NewFromConfig(env.AWS())
	b := bench{
		Service: &settings.Service{
			Store: settingsstore.New(dynamo.New(tables)), Auth: auth, Keys: ssmwriter.Writer{Client: client}, Now: clock, Stack: "desk-test",
		},
		store: store, auth: auth, keys: ssm.New(env.AWS(), time.Now), tenant: randomID(), agent: randomID(),
	}
	_, err := b.SaveTenant(t.Context(), settings.TenantForm{
		ID: b.tenant, Name: "Tenant", Agent: settings.AgentForm{ID: b.agent, KeyDocument: keyDocument(t), WebhookToken: "token", Rate: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func randomID() string { return strings.ToLower(rand.Text()) }

// keyDocument returns a service account's key document with a new key.
func keyDocument(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@example.iam.gserviceaccount.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"token_uri":   "https://oauth2.googleapis.com/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// refused checks that an error contains a text and no secret.
func refused(t *testing.T, err error, says string, secrets ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that contains %q", says)
	}
	if !strings.Contains(err.Error(), says) {
		t.Errorf("error %q, want it to contain %q", err, says)
	}
	for _, secret := range append(secrets, "\n") {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error %q repeats %q", err, secret)
		}
	}
}

func TestSaveTenant_KeyParameter(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	document := keyDocument(t)
	id := randomID()
	saved, err := b.SaveTenant(ctx, settings.TenantForm{ID: id, Name: "Ação", Agent: settings.AgentForm{ID: id + "_agent", KeyDocument: document, Rate: 9}})
	if err != nil {
		t.Fatal(err)
	}
	if !saved.Created || !saved.Agent.Created || !saved.Agent.TokenMade || len(saved.Agent.WebhookToken) != 43 {
		t.Errorf("saved %+v, want a new tenant and agent with a token of 43 characters", saved)
	}
	agent, err := b.store.Agent(ctx, id+"_agent")
	want := campaign.Agent{
		ID: id + "_agent", KeyParameter: "/campaign-dispatch/desk-test/agents/" + id + "_agent", Rate: 9, WebhookToken: saved.Agent.WebhookToken,
	}
	if err != nil || agent != want {
		t.Errorf("agent %+v, %v; want %+v", agent, err, want)
	}
	kept, err := b.keys.KeyDocument(ctx, agent.KeyParameter)
	if err != nil || !bytes.Equal(kept, document) {
		t.Errorf("the parameter holds %d bytes, %v; want the document", len(kept), err)
	}
}

func TestSaveTenant_Change(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	other := randomID()
	for name, test := range map[string]struct {
		form   settings.TenantForm
		tenant campaign.Tenant
		rate   int
		token  string
	}{
		"nothing":     {settings.TenantForm{Agent: settings.AgentForm{Rate: settings.KeepRate}}, campaign.Tenant{Name: "Tenant", AgentID: b.agent}, 5, "token"},
		"agent by id": {settings.TenantForm{Agent: settings.AgentForm{ID: b.agent, Rate: settings.KeepRate}}, campaign.Tenant{Name: "Tenant", AgentID: b.agent}, 5, "token"},
	} {
		test.form.ID, test.tenant.ID = b.tenant, b.tenant
		saved, err := b.SaveTenant(ctx, test.form)
		if err != nil || saved.Created || saved.Tenant != test.tenant {
			t.Errorf("%s: %+v, %v; want %+v", name, saved, err, test.tenant)
		}
	}
	saved, err := b.SaveTenant(ctx, settings.TenantForm{
		ID: b.tenant, Name: "Outro", Agent: settings.AgentForm{ID: other, KeyDocument: keyDocument(t), Rate: 0, WebhookToken: "w"},
	})
	if err != nil || saved.Tenant != (campaign.Tenant{ID: b.tenant, Name: "Outro", AgentID: other}) {
		t.Errorf("another agent: %+v, %v", saved, err)
	}
	agent, err := b.SaveAgent(ctx, settings.AgentForm{ID: other, Rate: 3})
	if err != nil || agent.Rate != 3 || agent.WebhookToken != "w" || agent.KeyParameter == "" {
		t.Errorf("a new rate: %+v, %v", agent, err)
	}
}

// simulator is a fake that creates agents and can fail.
type simulator struct {
	document []byte
	hooks    []campaign.Agent
	err      error
}

func (s *simulator) KeyDocument(context.Context, string) ([]byte, error) { return s.document, nil }

func (s *simulator) RegisterWebhook(_ context.Context, a campaign.Agent) error {
	s.hooks = append(s.hooks, a)
	return s.err
}

func TestSaveTenant_AgentAtTheSimulator(t *testing.T) {
	t.Parallel()
	b, id := newBench(t), randomID()
	sim := &simulator{document: keyDocument(t), err: errors.New("no answer")}
	b.Simulator = sim
	form := settings.TenantForm{ID: id, Agent: settings.AgentForm{Rate: settings.KeepRate}}
	_, err := b.SaveTenant(t.Context(), form)
	refused(t, err, "run the command again")
	sim.err = nil
	saved, err := b.SaveTenant(t.Context(), form)
	if err != nil || saved.Created || saved.AgentID != id+"-agent" || len(sim.hooks) != 2 || sim.hooks[1] != saved.Agent.Agent || saved.Agent.WebhookToken == "" {
		t.Errorf("saved %+v, registered %+v, %v", saved, sim.hooks, err)
	}
	if kept, err := b.keys.KeyDocument(t.Context(), saved.Agent.KeyParameter); err != nil || !bytes.Equal(kept, sim.document) {
		t.Errorf("the key has %d bytes, %v", len(kept), err)
	}
	if _, err := b.SaveTenant(t.Context(), settings.TenantForm{ID: b.tenant, Name: "Outro", Agent: settings.AgentForm{Rate: settings.KeepRate}}); err != nil || len(sim.hooks) != 2 {
		t.Errorf("a tenant with another agent: %d registered, %v", len(sim.hooks), err)
	}
}

// An agent of another tenant keeps its key and its token.
func TestSaveTenant_AgentOfAnotherTenant(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	before, err := b.store.Agent(ctx, b.agent)
	if err != nil {
		t.Fatal(err)
	}
	key, err := b.keys.KeyDocument(ctx, before.KeyParameter)
	if err != nil {
		t.Fatal(err)
	}
	id := randomID()
	_, err = b.SaveTenant(ctx, settings.TenantForm{ID: id, Agent: settings.AgentForm{ID: b.agent, KeyDocument: keyDocument(t), WebhookToken: "stolen", Rate: 1}})
	refused(t, err, "belongs to tenant "+b.tenant, "stolen")
	if after, err := b.store.Agent(ctx, b.agent); err != nil || after != before {
		t.Errorf("the agent is %+v, was %+v, %v", after, before, err)
	}
	if kept, err := b.keys.KeyDocument(ctx, before.KeyParameter); err != nil || !bytes.Equal(kept, key) {
		t.Errorf("the key was replaced: %v", err)
	}
	if _, err := b.store.Tenant(ctx, id); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("the tenant was written: %v", err)
	}
}

// Two operators create tenants with one new agent concurrently: one succeeds, and the
// token it received is the agent's.
func TestSaveTenant_ConcurrentNewAgent(t *testing.T) {
	t.Parallel()
	b, agent := newBench(t), randomID()
	var group sync.WaitGroup
	saved, errs := make([]settings.SavedTenant, 6), make([]error, 6)
	documents := make([][]byte, len(errs))
	for i := range saved {
		documents[i] = keyDocument(t)
		group.Go(func() {
			saved[i], errs[i] = b.SaveTenant(t.Context(), settings.TenantForm{ID: randomID(), Agent: settings.AgentForm{ID: agent, KeyDocument: documents[i]}})
		})
	}
	group.Wait()
	winners := 0
	for i, err := range errs {
		if err != nil {
			refused(t, err, "belongs to tenant")
			continue
		}
		winners++
		kept, err := b.store.Agent(t.Context(), agent)
		if err != nil || kept != saved[i].Agent.Agent {
			t.Errorf("the agent is not the winner's: %v", err)
		}
		if key, err := b.keys.KeyDocument(t.Context(), kept.KeyParameter); err != nil || !bytes.Equal(key, documents[i]) {
			t.Errorf("the key is not the winner's: %v", err)
		}
	}
	if winners != 1 {
		t.Errorf("%d tenants got the agent", winners)
	}
}

func TestSaveTenant_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := keyDocument(t)
	edit := func(name, value string) []byte {
		var document map[string]string
		if err := json.Unmarshal(good, &document); err != nil {
			t.Fatal(err)
		}
		document[name] = value
		edited, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		return edited
	}
	for name, test := range map[string]struct {
		form settings.TenantForm
		says string
	}{
		"no id":            {settings.TenantForm{}, "tenant id"},
		"id with #":        {settings.TenantForm{ID: "a#b"}, "lower-case"},
		"id upper case":    {settings.TenantForm{ID: "Acme"}, "lower-case"},
		"long id":          {settings.TenantForm{ID: strings.Repeat("a", 1000)}, "…"},
		"blank name":       {settings.TenantForm{ID: randomID(), Name: " \t"}, "blank"},
		"long name":        {settings.TenantForm{ID: randomID(), Name: strings.Repeat("ç", 201)}, "201 characters"},
		"name with NUL":    {settings.TenantForm{ID: randomID(), Name: "a\x00b"}, "control character"},
		"name not UTF-8":   {settings.TenantForm{ID: randomID(), Name: "a\xff"}, "UTF-8"},
		"no agent":         {settings.TenantForm{ID: randomID()}, "needs an agent"},
		"agent id":         {settings.TenantForm{ID: randomID(), Agent: settings.AgentForm{ID: "../x"}}, "agent id"},
		"rate":             {settings.TenantForm{ID: randomID(), Agent: settings.AgentForm{ID: "a", Rate: -2}}, "rate -2"},
		"agent not known":  {settings.TenantForm{ID: randomID(), Agent: settings.AgentForm{ID: randomID()}}, "key file"},
		"key no JSON":      {withKey([]byte("PRIVATE")), "not JSON"},
		"key null":         {withKey([]byte("null")), "service_account"},
		"key of a user":    {withKey(edit("type", "authorized_user")), "service_account"},
		"key without PEM":  {withKey(edit("private_key", "SECRETSECRET")), "PEM"},
		"key without uri":  {withKey(edit("token_uri", "")), "token_uri"},
		"key without mail": {withKey(edit("client_email", "")), "client_email"},
		"key too long":     {withKey(edit("x", strings.Repeat("x", 9000))), "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := b.SaveTenant(t.Context(), test.form)
			refused(t, err, test.says, "SECRETSECRET")
			if _, err := b.store.Tenant(t.Context(), test.form.ID); test.form.ID != "" && !errors.Is(err, campaign.ErrNotFound) {
				t.Errorf("the tenant was written: %v", err)
			}
		})
	}
}

func withKey(document []byte) settings.TenantForm {
	return settings.TenantForm{ID: randomID(), Agent: settings.AgentForm{ID: randomID(), KeyDocument: document}}
}

func TestSaveAgent_NoStackName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Stack = ""
	_, err := b.SaveAgent(t.Context(), settings.AgentForm{ID: randomID(), KeyDocument: keyDocument(t)})
	refused(t, err, "STACK_NAME")
}

// An agent is removed only when no tenant uses it, and a tenant that takes it again puts it back.
func TestRemoveAgent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	clock := now
	b.Now = func() time.Time { return clock }
	b.store.Set(func(tables *dynamo.Tables) { tables.Now = b.Now })
	b.Store = settingsstore.New(dynamo.New(b.store.Tables()))
	refused(t, b.RemoveAgent(t.Context(), b.agent), "belongs to tenant "+b.tenant)
	refused(t, b.RemoveAgent(t.Context(), "no_agent_"+b.tenant), "does not exist")
	other := settings.TenantForm{ID: b.tenant, Agent: settings.AgentForm{ID: b.agent + "2", KeyDocument: keyDocument(t), Rate: settings.KeepRate}}
	if _, err := b.SaveTenant(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	refused(t, b.RemoveAgent(t.Context(), b.agent), "events of its messages can arrive until")
	clock = clock.Add(account.AgentRest)
	if err := b.RemoveAgent(t.Context(), b.agent); err != nil {
		t.Fatal(err)
	}
	if a, err := b.store.Agent(t.Context(), b.agent); err != nil || !a.RemovedAt.Equal(clock) || a.WebhookToken != "token" {
		t.Errorf("stored %+v, %v", a, err)
	}
	back := settings.TenantForm{ID: b.tenant, Agent: settings.AgentForm{ID: b.agent, Rate: settings.KeepRate}}
	if _, err := b.SaveTenant(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	if a, err := b.store.Agent(t.Context(), b.agent); err != nil || !a.RemovedAt.IsZero() {
		t.Errorf("taken again: %+v, %v", a, err)
	}
}
