package prove

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/dynamo"
	awsssm "campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// testTenant is a tenant with an agent of the same ID, a template, a credential and an
// endpoint.
type testTenant struct {
	id, mark         string // the mark is in the names of all that it has
	agent            campaign.Agent
	template         string
	clientID, secret string
	endpoint         string
	endpointSecret   string
}

func adminOf(env stackenv.Env) *settings.Service {
	return &settings.Service{
		Store: settingsstore.New(dynamo.New(storeOf(env).Tables())), Keys: ssmwriter.Writer{Client: ssm.NewFromConfig(env.AWS())}, Auth: dynamo.NewAuthStore(storeOf(env).Tables()), Now: time.Now,
		Stack: env["STACK_NAME"], LocalWebhooks: true,
	}
}

// newTenant creates a tenant whose endpoint is at a path of url. Without scopes, its credential may dispatch campaigns.
// The simulator accepts the demo agent's key for all agents.
func newTenant(
	ctx context.Context, env stackenv.Env, prefix, text, url string, kinds []string, scopes ...string,
) (t testTenant, err error) {
	t.mark = strings.ToLower(rand.Text())
	t.id = prefix + "-" + t.mark
	demo, service := env["DEMO_AGENT_ID"], adminOf(env)
	key, err := awsssm.New(env.AWS(), time.Now).KeyDocument(ctx, "/campaign-dispatch/"+env["STACK_NAME"]+"/agents/"+demo)
	if err != nil {
		return t, err
	}
	key = []byte(strings.ReplaceAll(string(key), demo, t.id))
	if _, err := service.SaveTenant(ctx, settings.TenantForm{ID: t.id, Agent: settings.AgentForm{ID: t.id, KeyDocument: key}}); err != nil {
		return t, fmt.Errorf("save a tenant: %w", err)
	}
	template, err := service.SaveTemplate(ctx, settings.TemplateForm{Tenant: t.id, Name: "t" + t.mark, Text: text})
	if err != nil {
		return t, fmt.Errorf("save a template: %w", err)
	}
	credential, err := service.CreateCredential(ctx, t.id, "c"+t.mark, "", scopes...)
	if err != nil {
		return t, fmt.Errorf("create a credential: %w", err)
	}
	endpoint, err := service.CreateEndpoint(ctx, t.id, url+"/"+t.id, kinds)
	if err != nil {
		return t, fmt.Errorf("create an endpoint: %w", err)
	}
	t.template, t.clientID, t.secret, t.endpoint, t.endpointSecret = template.ID, credential.ClientID, credential.Secret, endpoint.ID, endpoint.Secret
	t.agent, err = storeOf(env).Agent(ctx, t.id)
	return t, err
}
