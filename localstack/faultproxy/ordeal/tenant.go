package ordeal

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/uuid"
)

// tenant has all of its own: what it does and gets is told from all else.
type tenant struct {
	id, template     string
	clientID, secret string
}

func (s *stack) store() *dynamo.CampaignStore {
	return dynamo.NewCampaignStore(dynamo.FromEnv(dynamodb.NewFromConfig(s.env.AWS()), s.env.Get, time.Now))
}

// newTenant makes a tenant with an agent, of whose messages the provider tells, a
// template, a credential, and an endpoint for webhooks of all kinds.
func (s *stack) newTenant(ctx context.Context) (t tenant, err error) {
	t.id = "faults-" + strings.ToLower(rand.Text())
	store := s.store()
	service := &admin.Service{
		Store: store, Auth: dynamo.NewAuthStore(store.Tables), Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(s.env.AWS())}, Now: time.Now, Stack: s.env["STACK_NAME"],
	}
	key, err := s.keyDocument(ctx, t.id)
	if err != nil {
		return t, err
	}
	if _, err := service.SaveTenant(ctx, admin.TenantForm{ID: t.id, Agent: admin.AgentForm{ID: t.id, KeyDocument: key}}); err != nil {
		return t, err
	}
	template, err := service.SaveTemplate(ctx, admin.TemplateForm{Tenant: t.id, Text: "Olá {{nome}}"})
	if err != nil {
		return t, err
	}
	credential, err := service.CreateCredential(ctx, t.id, "faults", "")
	if err != nil {
		return t, err
	}
	t.template, t.clientID, t.secret = template.ID, credential.ClientID, credential.Secret
	return t, s.listen(ctx, t)
}

// listen connects the tenant with the provider's events and a sink.
func (s *stack) listen(ctx context.Context, t tenant) error {
	agent, err := s.store().Agent(ctx, t.id)
	if err != nil {
		return err
	}
	hook := map[string]string{"agentId": agent.ID, "url": s.env["EVENTS_URL"] + "/" + agent.ID, "clientToken": agent.WebhookToken}
	for range tries { // the provider asks the service whose it is, and a fault may meet that
		if err = s.control(ctx, http.MethodPut, s.env["RCS_URL"]+"/_sim/webhook", hook, nil); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	secret := "whsec_" + base64.StdEncoding.EncodeToString(key)
	address, err := s.sinks.add(t.id, secret)
	if err != nil {
		return err
	}
	kinds := []campaign.Kind{
		campaign.KindSent, campaign.KindDelivered, campaign.KindRead, campaign.KindFailed, campaign.KindExpired, campaign.KindCompleted,
	}
	e := campaign.Endpoint{ID: uuid.New(), Tenant: t.id, URL: address, Secret: secret}
	for _, kind := range kinds {
		e.Kinds = append(e.Kinds, string(kind))
	}
	return s.store().SaveEndpoint(ctx, e)
}

// keyDocument is a key for the agent: the simulator knows all agents by the demo
// agent's.
func (s *stack) keyDocument(ctx context.Context, agent string) ([]byte, error) {
	reader := ssm.Reader{Config: s.env.AWS(), Now: time.Now}
	document, err := reader.KeyDocument(ctx, "/campaign-dispatch/"+s.env["STACK_NAME"]+"/agents/"+s.env["DEMO_AGENT_ID"])
	return []byte(strings.ReplaceAll(string(document), s.env["DEMO_AGENT_ID"], agent)), err
}

// control calls the control API of the provider's simulator.
func (s *stack) control(ctx context.Context, method, address string, in, out any) error {
	c := &client{http: http.DefaultClient}
	status := http.StatusNoContent
	if method == http.MethodGet {
		status = http.StatusOK
	}
	return c.must(ctx, status, method, address, in, nil, out)
}
