package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"

	"campaign-dispatch/internal/campaign"
)

// KeepRate leaves an agent's rate as it is; a new agent has no limit then.
const KeepRate = -1

// maxKeyDocument is the size of the largest SSM parameter.
const maxKeyDocument = 8 << 10

const maxRate = 100_000

var (
	tenantID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	agentID  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)
)

const (
	tenantIDRule = "use 1 to 63 lower-case letters, digits and hyphens, a letter or digit first"
	agentIDRule  = "use 1 to 100 letters, digits and . _ -, a letter or digit first"
)

// AgentForm describes an agent as an operator enters it.
type AgentForm struct {
	ID string
	// KeyDocument is the JSON key of the agent's service account. It may be
	// empty for an agent that exists: its key stays.
	KeyDocument []byte
	// WebhookToken signs the provider's webhooks. Where it is empty, an agent
	// that exists keeps its token and a new one gets a random one.
	WebhookToken string
	Rate         int // messages a second at most, 0 for no limit, or KeepRate
}

// SavedAgent is an agent as it was saved.
type SavedAgent struct {
	campaign.Agent
	Created bool
	// TokenMade tells that the webhook token was made here: the provider has to
	// be told of it.
	TokenMade bool
}

// TenantForm describes a tenant as an operator enters it. A tenant that exists
// keeps what the form leaves empty. An agent with an ID alone (and KeepRate) must
// exist and stays as it is.
type TenantForm struct {
	ID    string
	Name  string // a new tenant without a name is called as its ID
	Agent AgentForm
}

// SavedTenant is a tenant as it was saved, with its agent.
type SavedTenant struct {
	campaign.Tenant
	Created bool
	Agent   SavedAgent
}

// SaveTenant creates a tenant, or changes of one that exists what the form gives,
// and its agent in the same way. An agent belongs to one tenant: nothing is changed
// where the agent is another's.
func (d *Service) SaveTenant(ctx context.Context, form TenantForm) (SavedTenant, error) {
	if !tenantID.MatchString(form.ID) {
		return SavedTenant{}, fmt.Errorf("tenant id %q: %s", shorten(form.ID), tenantIDRule)
	}
	old, err := d.Store.Tenant(ctx, form.ID)
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
		return SavedTenant{}, errors.New("a new tenant needs an agent to send through: give its id")
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
		return saved, d.Store.SaveTenant(ctx, saved.Tenant)
	}
	if err := d.Store.SaveTenantAndAgent(ctx, saved.Tenant, agent.Agent); err != nil {
		return SavedTenant{}, err
	}
	if err := d.putKey(ctx, agent.Agent, form.Agent.KeyDocument); err != nil {
		return SavedTenant{}, fmt.Errorf("the tenant is saved, but not its agent's key, run it again: %w", err)
	}
	return saved, nil
}

// saveSimulated is saveTenant for an agent at the simulator, which is made there where
// it is new, and whose events come from there.
func (d *Service) saveSimulated(ctx context.Context, form TenantForm, created bool) (SavedTenant, error) {
	_, err := d.Store.Agent(ctx, form.Agent.ID)
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
		return saved, fmt.Errorf("the tenant is saved, but the simulator does not send it events, run it again: %w", err)
	}
	return saved, nil
}

// SaveAgent creates an agent, or changes of one that exists what the form gives.
// The key document goes into an encrypted SSM parameter.
func (d *Service) SaveAgent(ctx context.Context, form AgentForm) (SavedAgent, error) {
	saved, changed, err := d.prepareAgent(ctx, form)
	if err != nil || !changed {
		return saved, err
	}
	if err := d.putKey(ctx, saved.Agent, form.KeyDocument); err != nil {
		return SavedAgent{}, err
	}
	return saved, d.Store.SaveAgent(ctx, saved.Agent)
}

// prepareAgent returns the agent as it is to be saved, and whether that changes it.
func (d *Service) prepareAgent(ctx context.Context, form AgentForm) (saved SavedAgent, changed bool, err error) {
	if err := d.checkAgent(form); err != nil {
		return SavedAgent{}, false, err
	}
	old, err := d.Store.Agent(ctx, form.ID)
	created := errors.Is(err, campaign.ErrNotFound)
	if err != nil && !created {
		return SavedAgent{}, false, err
	}
	if created && len(form.KeyDocument) == 0 {
		return SavedAgent{}, false, fmt.Errorf("agent %s is new here: give the key file of its service account", form.ID)
	}
	saved, err = d.merge(old, form)
	saved.Created = created
	return saved, created || saved.Agent != old || len(form.KeyDocument) > 0, err
}

func (d *Service) putKey(ctx context.Context, a campaign.Agent, document []byte) error {
	if len(document) == 0 {
		return nil
	}
	return d.Keys.PutKeyDocument(ctx, a.KeyParameter, document)
}

func (d *Service) checkAgent(form AgentForm) error {
	if !agentID.MatchString(form.ID) {
		return fmt.Errorf("agent id %q: %s", shorten(form.ID), agentIDRule)
	}
	if form.Rate < KeepRate || form.Rate > maxRate {
		return fmt.Errorf("rate %d: use 1 to %d messages a second, or 0 for no limit", form.Rate, maxRate)
	}
	if len(form.KeyDocument) == 0 {
		return nil
	}
	if d.Stack == "" {
		return errors.New("the stack has no name, so the key has no place: set STACK_NAME")
	}
	return checkKey(form.KeyDocument)
}

// merge returns the old agent, zero for a new one, with what the form gives.
func (d *Service) merge(old campaign.Agent, form AgentForm) (SavedAgent, error) {
	a := old
	a.ID = form.ID
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
		return SavedAgent{Agent: a}, nil
	}
	var err error
	a.WebhookToken, err = d.secret()
	return SavedAgent{Agent: a, TokenMade: true}, err
}

// checkKey reports whether a document is the key of a service account. The error
// holds nothing of it.
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
		return errors.New("the key file is not JSON: give the key file of a service account as Google Cloud made it")
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
