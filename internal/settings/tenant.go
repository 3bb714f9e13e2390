package settings

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
)

// KeepRate leaves an agent's rate unchanged. A new agent gets the service's AgentRate.
const KeepRate = -1

const maxKeyDocument = 8 << 10

const maxRate = 100_000

var (
	tenantID = pattern.AtFirstUse(`^[a-z0-9][a-z0-9-]{0,62}$`)
	agentID  = pattern.AtFirstUse(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

func checkTenantID(id string) error {
	if !tenantID().MatchString(id) {
		return fmt.Errorf("tenant id %q: use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first", shorten(id))
	}
	return nil
}

func checkAgentID(id string) error {
	if !agentID().MatchString(id) {
		return fmt.Errorf("agent id %q: use 1 to 100 letters, digits and . _ -, a letter or digit first", shorten(id))
	}
	return nil
}

// AgentForm is an agent as an operator enters it.
type AgentForm struct {
	ID string
	// KeyDocument is the JSON key of the agent's service account. If it is empty, an
	// existing agent keeps its key.
	KeyDocument []byte
	// WebhookToken signs the provider's webhooks. If it is empty, an existing agent
	// keeps its token and a new one gets a random token.
	WebhookToken string
	Rate         int // maximum messages per second, 0 for no limit, or KeepRate
}

// SavedAgent is an agent after it was saved.
type SavedAgent struct {
	campaign.Agent
	Created bool
	// TokenMade reports that the webhook token was generated and must be set at the
	// provider.
	TokenMade bool
}

// TenantForm is a tenant as an operator enters it. An existing tenant keeps the fields
// that are empty. An agent with only an ID (and KeepRate) must exist and is not
// changed.
type TenantForm struct {
	ID    string
	Name  string // default for a new tenant: its ID
	Agent AgentForm
}

// SavedTenant is a tenant after it was saved, with its agent.
type SavedTenant struct {
	campaign.Tenant
	Created bool
	Agent   SavedAgent
}

// SaveTenant creates or changes a tenant and its agent. Fields that the form leaves
// empty do not change. An agent belongs to one tenant: if another tenant owns it,
// nothing is changed.
func (d *Service) SaveTenant(ctx context.Context, form TenantForm) (SavedTenant, error) {
	if err := checkTenantID(form.ID); err != nil {
		return SavedTenant{}, err
	}
	old, err := d.Store.Tenants.Tenant(ctx, form.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return SavedTenant{}, err
	}
	form.Name = cmp.Or(form.Name, old.Name, form.ID)
	if err := checkName("tenant", form.Name); err != nil {
		return SavedTenant{}, err
	}
	form.Agent.ID = cmp.Or(form.Agent.ID, old.AgentID)
	simulated := form.ID + "-agent"
	switch {
	case d.Simulator != nil && (form.Agent.ID == "" || form.Agent.ID == simulated):
		form.Agent.ID = simulated
		return d.saveSimulated(ctx, form, created)
	case form.Agent.ID == "":
		return SavedTenant{}, errors.New("a new tenant needs an agent: give its id")
	}
	return d.saveTenant(ctx, form, created)
}

func (d *Service) saveTenant(ctx context.Context, form TenantForm, created bool) (SavedTenant, error) {
	agent, changed, err := d.prepareAgent(ctx, form.Agent)
	if err != nil {
		return SavedTenant{}, err
	}
	saved := SavedTenant{Tenant: campaign.Tenant{ID: form.ID, Name: form.Name, AgentID: agent.ID}, Created: created, Agent: agent}
	if !changed {
		return saved, d.Store.Tenants.SaveTenant(ctx, saved.Tenant, d.AgentUse)
	}
	if err := d.Store.Tenants.SaveTenantAndAgent(ctx, saved.Tenant, agent.Agent, d.AgentUse); err != nil {
		return SavedTenant{}, err
	}
	if err := d.putKey(ctx, agent.Agent, form.Agent.KeyDocument); err != nil {
		return SavedTenant{}, fmt.Errorf("the tenant was saved, but not its agent's key; run the command again: %w", err)
	}
	return saved, nil
}

// saveSimulated is saveTenant for an agent at the simulator. It creates a new agent
// there and registers its webhook.
func (d *Service) saveSimulated(ctx context.Context, form TenantForm, created bool) (SavedTenant, error) {
	_, err := d.Store.Tenants.Agent(ctx, form.Agent.ID)
	if errors.Is(err, campaign.ErrNotFound) && len(form.Agent.KeyDocument) == 0 {
		form.Agent.KeyDocument, err = d.Simulator.KeyDocument(ctx, form.Agent.ID)
	}
	if err != nil {
		return SavedTenant{}, err
	}
	saved, err := d.saveTenant(ctx, form, created)
	if err != nil {
		return saved, err
	}
	if err := d.Simulator.RegisterWebhook(ctx, saved.Agent.Agent); err != nil {
		return saved, fmt.Errorf("the tenant was saved, but its webhook was not registered at the simulator; run the command again: %w", err)
	}
	return saved, nil
}

// SaveAgent creates or changes an agent. Fields that the form leaves empty do not
// change. The key document is stored in an encrypted SSM parameter.
func (d *Service) SaveAgent(ctx context.Context, form AgentForm) (SavedAgent, error) {
	saved, changed, err := d.prepareAgent(ctx, form)
	if err != nil || !changed {
		return saved, err
	}
	if err := d.putKey(ctx, saved.Agent, form.KeyDocument); err != nil {
		return SavedAgent{}, err
	}
	return saved, d.Store.Tenants.SaveAgent(ctx, saved.Agent)
}

// RemoveAgent marks an agent as removed. Its events are answered and dropped from then on: the
// provider keeps one queue for all agents, which an error would delay. As for another tenant, the
// agent must be free: no tenant uses it, and no event of its messages can arrive any more.
// SaveAgent and SaveTenant put it back.
func (d *Service) RemoveAgent(ctx context.Context, id string) error {
	if err := d.requireAgent(ctx, id); err != nil {
		return err
	}
	owner, err := d.Store.Tenants.Owner(ctx, id)
	if err != nil {
		return err
	}
	now := d.Now()
	err = owner.Refuse("", now, func(tenant string) (account.Use, error) { return d.AgentUse(ctx, tenant, id) })
	if err != nil {
		return fmt.Errorf("the agent was not removed: %w", err)
	}
	err = d.Store.Tenants.RemoveAgent(ctx, owner, now)
	if errors.Is(err, campaign.ErrLostRace) {
		err = errors.New("the agent was not removed, because somebody changed its tenant at the same time: run the command again")
	}
	return err
}

// prepareAgent returns the agent to save, and whether it differs from the stored one.
func (d *Service) prepareAgent(ctx context.Context, form AgentForm) (saved SavedAgent, changed bool, err error) {
	if err := d.checkAgent(form); err != nil {
		return SavedAgent{}, false, err
	}
	old, err := d.Store.Tenants.Agent(ctx, form.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return SavedAgent{}, false, err
	}
	if created && len(form.KeyDocument) == 0 {
		return SavedAgent{}, false, fmt.Errorf("agent %s is new: give the key file of its service account", form.ID)
	}
	if created && form.Rate == KeepRate {
		if form.Rate = d.AgentRate; form.Rate == KeepRate {
			return SavedAgent{}, false, fmt.Errorf(
				"agent %s is new, and the stack has no rate for new agents: give a rate, or deploy this version first", form.ID)
		}
	}
	saved = d.merge(old, form)
	saved.Created = created
	added := saved.MostRate()
	if !created {
		added -= old.MostRate()
	}
	return saved, created || saved.Agent != old || len(form.KeyDocument) > 0, d.checkSum(ctx, added)
}

// checkSum refuses a change that adds to the sum of the agents' rates if the sum then exceeds SendRate. It does not see a
// change that another command makes at the same time.
func (d *Service) checkSum(ctx context.Context, added int) error {
	if d.SendRate == 0 || added <= 0 {
		return nil
	}
	agents, err := d.Store.Tenants.Agents(ctx)
	if err != nil {
		return err
	}
	if sum := campaign.MostRates(agents) + added; sum > d.SendRate {
		return fmt.Errorf("all agents could then send %d messages a second together, and the stack is for %d: give this agent a lower rate, "+
			"lower the rates of others (one without a rate counts as %d), or deploy with a larger Load", sum, d.SendRate, campaign.UnlimitedRate)
	}
	return nil
}

func (d *Service) putKey(ctx context.Context, a campaign.Agent, document []byte) error {
	if len(document) == 0 {
		return nil
	}
	return d.Keys.PutKeyDocument(ctx, a.KeyParameter, document)
}

func (d *Service) checkAgent(form AgentForm) error {
	if err := checkAgentID(form.ID); err != nil {
		return err
	}
	if form.Rate < KeepRate || form.Rate > maxRate {
		return fmt.Errorf("rate %d: use 1 to %d messages per second, or 0 for no limit", form.Rate, maxRate)
	}
	if len(form.KeyDocument) == 0 {
		return nil
	}
	if d.Stack == "" {
		return errors.New("the stack's name is unknown, so the key cannot be stored: set STACK_NAME")
	}
	return checkKey(form.KeyDocument)
}

// merge returns old, which is zero for a new agent, with the fields of the form.
func (d *Service) merge(old campaign.Agent, form AgentForm) SavedAgent {
	a := old
	a.ID, a.RemovedAt = form.ID, time.Time{}
	if len(form.KeyDocument) > 0 {
		a.KeyParameter = "/campaign-dispatch/" + d.Stack + "/agents/" + form.ID
	}
	if form.Rate != KeepRate {
		a.Rate = form.Rate
	}
	if form.WebhookToken != "" {
		a.WebhookToken = form.WebhookToken
	}
	if a.WebhookToken != "" {
		return SavedAgent{Agent: a}
	}
	a.WebhookToken = newSecret()
	return SavedAgent{Agent: a, TokenMade: true}
}

// checkKey validates a service account's key document. The error contains nothing of
// it.
func checkKey(document []byte) error {
	var key struct {
		Type       string `json:"type"`
		Email      string `json:"client_email"`
		PrivateKey string `json:"private_key"`
		TokenURI   string `json:"token_uri"`
	}
	if len(document) > maxKeyDocument {
		return fmt.Errorf("the key file has %d bytes: %d at most", len(document), maxKeyDocument)
	}
	if json.Unmarshal(document, &key) != nil {
		return errors.New("the key file is not JSON: give the key file that Google Cloud created for the service account")
	}
	if key.Type != "service_account" {
		return errors.New(`the key file's type is not "service_account": give the key file of a service account`)
	}
	if block, _ := pem.Decode([]byte(key.PrivateKey)); block == nil {
		return errors.New("the key file's private_key is not in PEM form: download the key again")
	}
	address, err := url.Parse(key.TokenURI)
	if err != nil || address.Host == "" || key.Email == "" {
		return errors.New("the key file has no client_email or token_uri: download the key again")
	}
	return nil
}

const (
	campaignsAPage  = 100
	campaignsAtOnce = 8
)

// AgentUse summarizes the batches that a tenant sent with an agent. It reads all campaigns of
// the tenant.
func (d *Service) AgentUse(ctx context.Context, tenant, agentID string) (account.Use, error) {
	var use account.Use
	for after := ""; ; {
		page, err := d.Store.Tenants.ListCampaigns(ctx, tenant, after, campaignsAPage)
		if err != nil || len(page) == 0 {
			return use, err
		}
		of, err := d.useBy(ctx, page, agentID)
		if err != nil {
			return use, err
		}
		use, after = use.Add(of), page[len(page)-1].Cursor
	}
}

func (d *Service) useBy(ctx context.Context, campaigns []campaign.Listed, agentID string) (use account.Use, err error) {
	uses := make([]account.Use, len(campaigns))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(campaignsAtOnce)
	for i, listed := range campaigns {
		group.Go(func() error {
			c, err := d.Store.Tenants.BatchAgents(groupCtx, listed.ID)
			uses[i] = account.UseOf(c.Batches, agentID)
			return campaign.IgnoreNotFound(err) // deleted concurrently
		})
	}
	err = group.Wait()
	for _, u := range uses {
		use = use.Add(u)
	}
	return use, err
}
