// Package seed adds test data to a new local stack: two tenants, each with an agent,
// credentials, templates and dashboard users, and expired tokens.
package seed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

// The ids of the seeded tenants and templates. They are the same in every stack, so
// that campaign files can contain them.
const (
	tenant       = "demo"
	otherTenant  = "other"
	templateID   = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d01"
	plainID      = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d02"
	otherPlainID = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d03"
	carouselID   = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d05"
	endpointID   = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d04"
	templateText = "Olá {{nome}}, seu pedido {{pedido}} saiu para entrega."
	plainText    = "Sua encomenda saiu para entrega."
)

// The dashboard users of the seeded tenants. Their password is public: the stack listens on this machine only.
const (
	adminEmail  = "ana@loja-demo.example"
	viewerEmail = "vera@loja-demo.example"
	otherEmail  = "otto@outra-loja.example"
	password    = "Demo-senha-2026" //nolint:gosec // public
)

// Seeder seeds the stack at Env.
type Seeder struct {
	Env stackenv.Env
	// KeyDocument returns the key document of an agent's service account.
	KeyDocument func(agentID string) ([]byte, error)
	// WebhookSecret is the signing secret of the demo tenant's webhooks.
	WebhookSecret string
	Now           func() time.Time
}

// Run writes the test data and returns its entries of stack.env.
func (s Seeder) Run(ctx context.Context) (stackenv.Env, error) {
	named := stackenv.Env{
		"TENANT": tenant, "OTHER_TENANT": otherTenant,
		"TEMPLATE_ID": templateID, "TEMPLATE_ID_PLAIN": plainID, "TEMPLATE_ID_CAROUSEL": carouselID, "OTHER_TEMPLATE_ID": otherPlainID,
		"WEBHOOK_SECRET": s.WebhookSecret, "DEMO_AGENT_ID": agentOf(tenant),
	}
	for id, name := range map[string]string{tenant: "Loja Demo", otherTenant: "Outra Loja"} {
		if err := s.tenant(ctx, id, name); err != nil {
			return nil, err
		}
	}
	for _, t := range []campaign.Template{
		{ID: templateID, Tenant: tenant, Name: "Pedido a caminho", Content: content.Content{Text: templateText}},
		{ID: plainID, Tenant: tenant, Name: "Encomenda a caminho", Content: content.Content{Text: plainText}},
		{ID: carouselID, Tenant: tenant, Name: "Pedido com acompanhamento", Traffic: campaign.Transaction, Content: carousel()},
		{ID: otherPlainID, Tenant: otherTenant, Name: "Encomenda a caminho", Content: content.Content{Text: plainText}},
	} {
		if _, err := s.store().PutTemplate(ctx, t); err != nil {
			return nil, err
		}
	}
	endpoint := delivery.Endpoint{ID: endpointID, Tenant: tenant, URL: s.Env["WEBHOOK_SINK_URL"] + "/webhooks", Secret: s.WebhookSecret}
	if err := s.store().SaveEndpoint(ctx, endpoint); err != nil {
		return nil, err
	}
	for _, add := range []func(context.Context, stackenv.Env) error{s.credentials, s.oldTokens, s.people, s.Renew} {
		if err := add(ctx, named); err != nil {
			return nil, err
		}
	}
	return named, nil
}

// carousel is the content of the demo campaign, with the variables of the demo's template.
func carousel() content.Content {
	return content.Content{
		Carousel: &content.Carousel{Width: content.MediumWidth, Cards: []content.Card{
			{
				Title: "Pedido {{pedido}}", Description: "Olá {{nome}}, seu pedido saiu para entrega.",
				Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Acompanhar", URL: "https://loja.example/pedidos/{{pedido}}"}},
			},
			{
				Title: "Não vai estar em casa?", Description: "Mude o horário até as 18 h.",
				Suggestions: []content.Suggestion{{Kind: content.Reply, Text: "Mudar o horário"}},
			},
		}},
		Suggestions: []content.Suggestion{{Kind: content.Dial, Text: "Falar com a loja", Phone: "+551133334444"}},
	}
}

func (s Seeder) tenant(ctx context.Context, id, name string) error {
	agent := agentOf(id)
	document, err := s.KeyDocument(agent)
	if err != nil {
		return fmt.Errorf("make the key document of agent %s: %w", agent, err)
	}
	_, err = s.service().SaveTenant(ctx, settings.TenantForm{
		ID: id, Name: name, Agent: settings.AgentForm{ID: agent, KeyDocument: document},
	})
	return err
}

func agentOf(tenant string) string { return tenant + "-agent" }

func (s Seeder) credentials(ctx context.Context, named stackenv.Env) error {
	for prefix, owner := range map[string]string{"": tenant, "REVOKED_": tenant, "OTHER_": otherTenant} {
		c, err := s.service().CreateCredential(ctx, owner, "seeded", "")
		if err != nil {
			return err
		}
		named[prefix+"CLIENT_ID"], named[prefix+"CLIENT_SECRET"] = c.ClientID, c.Secret
	}
	return s.service().RevokeCredential(ctx, named["REVOKED_CLIENT_ID"])
}

func (s Seeder) people(ctx context.Context, named stackenv.Env) error {
	pool := cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(s.Env.AWS()), ID: s.Env["USER_POOL_ID"]}
	for _, person := range []account.Person{
		{Email: adminEmail, Tenant: tenant, Role: "admin"},
		{Email: viewerEmail, Tenant: tenant, Role: "viewer"},
		{Email: otherEmail, Tenant: otherTenant, Role: "admin"},
	} {
		if _, err := pool.Invite(ctx, person, password); err != nil {
			return err
		}
		if err := pool.SetPassword(ctx, person.Email, password); err != nil {
			return err
		}
	}
	named["DASHBOARD_EMAIL"], named["DASHBOARD_PASSWORD"] = adminEmail, password
	named["DASHBOARD_VIEWER_EMAIL"], named["DASHBOARD_OTHER_EMAIL"] = viewerEmail, otherEmail
	return nil
}

// oldTokens creates an expired access token and an expired refresh token of the demo tenant's credential.
func (s Seeder) oldTokens(ctx context.Context, named stackenv.Env) error {
	token, err := s.accessToken(ctx, named["CLIENT_ID"], account.ScopeDispatch, s.Now().Add(-2*accesstoken.Lifetime))
	if err != nil {
		return err
	}
	refresh := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(refresh))
	err = s.auth().PutRefreshToken(ctx, authrow.RefreshToken{
		Hash:     hex.EncodeToString(sum[:]),
		Family:   rand.Text(),
		ClientID: named["CLIENT_ID"],
		Scope:    account.ScopeDispatch,
		Expires:  s.Now().Add(-time.Hour),
	})
	maps.Copy(named, stackenv.Env{"EXPIRED_ACCESS_TOKEN": token, "EXPIRED_REFRESH_TOKEN": refresh})
	return err
}

// RegisterWebhooks registers the webhooks of the stack's agents at the provider
// simulator: the seeded agents and those created later.
func (s Seeder) RegisterWebhooks(ctx context.Context) error {
	agents, err := s.store().Agents(ctx)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if a.KeyParameter != "/campaign-dispatch/"+s.Env["STACK_NAME"]+"/agents/"+a.ID {
			continue // an agent of a test, without a key document in this stack
		}
		if err := s.RegisterWebhook(ctx, a.ID); err != nil {
			return fmt.Errorf("register the webhook of agent %s: %w", a.ID, err)
		}
	}
	return nil
}

// RegisterWebhook registers the webhook of an agent at the provider simulator.
func (s Seeder) RegisterWebhook(ctx context.Context, agentID string) error {
	agent, err := s.store().Agent(ctx, agentID) // includes the webhook token
	if err != nil {
		return err
	}
	return s.registerWebhook(ctx, agent)
}

func (s Seeder) registerWebhook(ctx context.Context, agent campaign.Agent) error {
	var answer json.RawMessage
	status, err := httpjson.Call(ctx, http.DefaultClient, http.MethodPut, s.Env["RCS_URL"]+"/_sim/webhook", "", map[string]string{
		"agentId": agent.ID, "url": s.Env["EVENTS_URL"] + "/" + agent.ID, "clientToken": agent.WebhookToken,
	}, &answer)
	switch status {
	case 0:
		return err
	case http.StatusNoContent:
		return nil
	default:
		return fmt.Errorf("the simulator returned status %d: %s", status, answer)
	}
}

// Renew replaces the entries of stack.env that expire: the access token without scope.
func (s Seeder) Renew(ctx context.Context, named stackenv.Env) error {
	token, err := s.accessToken(ctx, named["CLIENT_ID"], "", s.Now())
	named["NO_SCOPE_ACCESS_TOKEN"] = token
	return err
}

// accessToken returns a token of the demo tenant, signed with the stack's key and issued at the given time.
func (s Seeder) accessToken(ctx context.Context, clientID, scope string, at time.Time) (string, error) {
	issuer := accesstoken.Issuer{
		Signer: kms.New(s.Env.AWS(), s.Env["SIGNING_KEY_ID"], "", time.Time{}, time.Now),
		Now:    func() time.Time { return at },
	}
	return issuer.Issue(ctx, s.Env["BASE_URL"], accesstoken.Claims{Tenant: tenant, ClientID: clientID, Scope: scope})
}

// service returns the service of the admin command.
func (s Seeder) service() *settings.Service {
	return &settings.Service{
		Store: settingsstore.New(s.store()), Auth: s.auth(), Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(s.Env.AWS())},
		Now: s.Now, Stack: s.Env["STACK_NAME"], LocalWebhooks: true,
	}
}

func (s Seeder) tables() dynamo.Tables {
	return dynamo.FromEnv(dynamodb.NewFromConfig(s.Env.AWS()), s.Env.Get, s.Now)
}

func (s Seeder) store() *dynamo.Stores { return dynamo.New(s.tables()) }

func (s Seeder) auth() *dynamo.AuthStore { return dynamo.NewAuthStore(s.tables()) }
