// Package settings changes what a tenant has beside its campaigns: agents, templates, credentials,
// webhook endpoints, dashboard users, prices and pauses. The operator's commands and the dashboard
// call it.
package settings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// Service changes settings. Its errors are one line, name the remedy, and contain no secret.
type Service struct {
	Store  Store
	Auth   Auth
	Keys   Keys
	People People
	Now    func() time.Time
	// Stack is the name of the CloudFormation stack. It is part of the names of the SSM
	// parameters with the agents' keys.
	Stack string
	// AgentRate is the rate of a new agent whose form has KeepRate, in messages a second, 0 for no limit. If it is KeepRate
	// itself, a new agent needs a rate.
	AgentRate int
	// SendRate is the most that the rates of all agents may come to, in messages a second, 0 for no maximum.
	SendRate int
	// Simulator creates an agent for a tenant whose form names none. It is nil except
	// on a local stack.
	Simulator Simulator
	// LocalWebhooks permits webhook endpoints on this machine and over HTTP. It is for
	// local stacks only.
	LocalWebhooks bool
	// LocalPasswords returns a new person's temporary password instead of mailing it.
	// It is for local stacks only.
	LocalPasswords bool
}

// Keys stores the key documents of agents.
type Keys interface {
	// PutKeyDocument writes or replaces a document. The error does not contain it.
	PutKeyDocument(ctx context.Context, parameter string, document []byte) error
}

// Simulator is a local provider that creates agents on request.
type Simulator interface {
	// KeyDocument returns the key document of an agent's service account.
	KeyDocument(ctx context.Context, agentID string) ([]byte, error)
	// RegisterWebhook registers the webhook of an agent.
	RegisterWebhook(ctx context.Context, a campaign.Agent) error
}

// Store has the rows of tenants, by subject.
type Store struct {
	Tenants  TenantStore
	Webhooks WebhookStore
}

// Auth writes credentials and ends the sessions of people.
type Auth interface {
	// CreateCredential returns an error that wraps campaign.ErrLostRace if the client ID exists.
	CreateCredential(ctx context.Context, c account.Credential) error
	// RotateCredential returns an error that wraps campaign.ErrNotFound if there is no valid credential.
	RotateCredential(ctx context.Context, clientID string, secretHash []byte, previousUntil time.Time) error
	// RevokeCredential returns an error that wraps campaign.ErrNotFound if there is no credential. It can be repeated.
	RevokeCredential(ctx context.Context, clientID string) error
	// EndSessions makes all sessions of a person void that began at or before the time.
	EndSessions(ctx context.Context, tenant, email string, until time.Time) error
}

// TenantStore reads and writes tenants with their agents, prices, pauses and templates, and
// reads their campaigns.
type TenantStore interface {
	// SaveTenant creates or replaces a tenant. The error is an *account.AgentTakenError if another tenant has the agent.
	SaveTenant(ctx context.Context, t campaign.Tenant, use account.AgentUse) error
	// SaveTenantAndAgent is SaveTenant that also saves the agent, both or none.
	SaveTenantAndAgent(ctx context.Context, t campaign.Tenant, a campaign.Agent, use account.AgentUse) error
	// ListCampaigns returns up to limit campaigns after a cursor, "" for the beginning, those that go last first.
	ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error)
	// BatchAgents returns a campaign whose batches have only their agent and when they were closed. The error wraps
	// campaign.ErrNotFound if there is none.
	BatchAgents(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// Tenant returns a tenant. The error wraps campaign.ErrNotFound if there is none.
	Tenant(ctx context.Context, id string) (campaign.Tenant, error)
	// SaveAgent creates or replaces an agent.
	SaveAgent(ctx context.Context, a campaign.Agent) error
	// Agents returns all agents, removed ones included.
	Agents(ctx context.Context) ([]campaign.Agent, error)
	// Agent returns an agent. The error wraps campaign.ErrNotFound if there is none.
	Agent(ctx context.Context, id string) (campaign.Agent, error)
	// RemoveAgent sets when an agent was removed. The error wraps campaign.ErrLostRace if its owner
	// is not the one that was read.
	RemoveAgent(ctx context.Context, read account.Owner, at time.Time) error
	// Owner returns the zero Owner for an agent that no tenant has used.
	Owner(ctx context.Context, agentID string) (account.Owner, error)
	// Pause stops sending for a subject: "all", "tenant#id" or "agent#id". It can be repeated.
	Pause(ctx context.Context, subject string) error
	// Resume ends a pause. It can be repeated.
	Resume(ctx context.Context, subject string) error
	// Billing returns the prices and limits of a tenant, zero for none.
	Billing(ctx context.Context, tenant string) (campaign.Billing, error)
	// SaveBilling returns an error that wraps campaign.ErrLostRace if the prices and limits are not was.
	SaveBilling(ctx context.Context, tenant string, was, b campaign.Billing, audit ...account.AuditEntry) error
	// PutTemplate returns the next version. The error wraps campaign.ErrNotFound if t is of another tenant, or ErrNoMedia.
	PutTemplate(ctx context.Context, t campaign.Template) (campaign.Template, error)
	// Template returns the current version. The error wraps campaign.ErrNotFound if there is no such template.
	Template(ctx context.Context, id string) (campaign.Template, error)
}

// WebhookStore reads and writes webhook endpoints, their circuits and their deliveries, and reads
// the failures of deliveries.
type WebhookStore interface {
	// AddEndpoint writes a new endpoint unless its tenant has most endpoints. It
	// returns the tenant's previous number of endpoints.
	AddEndpoint(ctx context.Context, e delivery.Endpoint, most int) (has int, err error)
	// Endpoint returns an endpoint. The error wraps campaign.ErrNotFound if there is none.
	Endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error)
	// Endpoints returns the endpoints of a tenant, disabled ones included.
	Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error)
	// SetKinds sets the kinds of events of an endpoint, and reports whether there is one.
	SetKinds(ctx context.Context, tenant, id string, kinds []string) (bool, error)
	// RotateEndpoint returns an error that wraps campaign.ErrNotFound if there is no endpoint.
	RotateEndpoint(ctx context.Context, tenant, id, secret string, previousUntil time.Time) error
	// SwitchEndpoint disables an endpoint, or enables it if offReason is "". It reports whether there is one.
	SwitchEndpoint(ctx context.Context, tenant, id, offReason string) (bool, error)
	// Circuit returns the circuit of an endpoint. Without one, only Tenant and EndpointID are set.
	Circuit(ctx context.Context, tenant, endpointID string) (delivery.Circuit, error)
	// SaveCircuit writes a circuit that has not changed, and reports whether it did.
	SaveCircuit(ctx context.Context, c delivery.Circuit) (bool, error)
	// DeadDeliveries returns up to limit deliveries that were abandoned since an instant, oldest first.
	DeadDeliveries(ctx context.Context, tenant, endpointID string, since time.Time, limit int) ([]delivery.NotifyTask, error)
	// ParkedDeliveries returns up to limit parked deliveries, oldest first.
	ParkedDeliveries(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.NotifyTask, error)
	// Failure returns the failure of a webhook at a time. The error wraps campaign.ErrNotFound if there is none.
	Failure(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.Failure, error)
	// Failures returns up to limit failures, newest first.
	Failures(ctx context.Context, tenant, endpointID string, limit int) ([]delivery.Failure, error)
	// KeptPost returns the kept post of a webhook at a time. The error wraps campaign.ErrNotFound if there is none.
	KeptPost(ctx context.Context, tenant, endpointID, webhookID string, at time.Time) (delivery.KeptPost, error)
	// Delivery returns a delivery. The error wraps campaign.ErrNotFound if there is none.
	Delivery(ctx context.Context, t delivery.NotifyTask) (delivery.Delivery, error)
	// SaveDelivery replaces a delivery that has not changed, and reports whether it did: perhaps false after a lost answer.
	SaveDelivery(ctx context.Context, read, n delivery.Delivery) (bool, error)
	// PostponeDelivery sets the next check of a delivery that has not changed, and reports whether it did.
	PostponeDelivery(ctx context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error)
	// AddDeliveries writes deliveries. Existing ones are unchanged, which is not an error.
	AddDeliveries(ctx context.Context, deliveries []delivery.Delivery) error
}

// missing is an error about something that does not exist. It is campaign.ErrNotFound.
type missing string

func (m missing) Error() string { return string(m) }

func (m missing) Unwrap() error { return campaign.ErrNotFound }

// orMissing returns err, or if it is campaign.ErrNotFound, an error that says what is missing.
func orMissing(err error, format string, args ...any) error {
	if errors.Is(err, campaign.ErrNotFound) {
		return missing(fmt.Sprintf(format, args...))
	}
	return err
}

const maxName = 200

func checkName(what, name string) error {
	switch {
	case campaign.Blank(name):
		return input("name_blank", "the %s's name is blank", what)
	case !utf8.ValidString(name):
		return input("name_not_text", "the %s's name is not valid UTF-8", what)
	case strings.ContainsFunc(name, unicode.IsControl):
		return input("name_not_text", "the %s's name contains a control character: remove it", what)
	case utf8.RuneCountInString(name) > maxName:
		return input("name_long", "the %s's name has %d characters: %d at most", what, utf8.RuneCountInString(name), maxName)
	}
	return nil
}

func input(code, format string, args ...any) error {
	return &inputerr.Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (d *Service) requireTenant(ctx context.Context, id string) error {
	if err := checkTenantID(id); err != nil {
		return err
	}
	_, err := d.Store.Tenants.Tenant(ctx, id)
	return orMissing(err, "tenant %s does not exist: create it first", id)
}

// newSecret returns 256 random bits, URL-safe.
func newSecret() string { return random.Token(32) }

// shorten shortens an input for a one-line error.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// Subject is the scope of a pause: everything, a tenant or an agent. Exactly one field
// is set.
type Subject struct {
	All    bool
	Tenant string
	Agent  string
}

// Pause pauses sending for the subject. Messages accepted during the pause wait.
func (d *Service) Pause(ctx context.Context, s Subject) error {
	key, err := d.subjectKey(ctx, s)
	if err != nil {
		return err
	}
	return d.Store.Tenants.Pause(ctx, key)
}

// Resume ends a pause. Other pauses of the same messages remain.
func (d *Service) Resume(ctx context.Context, s Subject) error {
	key, err := d.subjectKey(ctx, s)
	if err != nil {
		return err
	}
	return d.Store.Tenants.Resume(ctx, key)
}

// subjectKey checks that the subject exists, so that a misspelt pause is not silently
// ignored.
func (d *Service) subjectKey(ctx context.Context, s Subject) (string, error) {
	switch s {
	case Subject{All: true}:
		return "all", nil
	case Subject{Tenant: s.Tenant}:
		if s.Tenant != "" {
			return "tenant#" + s.Tenant, d.requireTenant(ctx, s.Tenant)
		}
	case Subject{Agent: s.Agent}:
		return "agent#" + s.Agent, d.requireAgent(ctx, s.Agent)
	}
	return "", errors.New("give exactly one of: all, a tenant, an agent")
}

func (d *Service) requireAgent(ctx context.Context, id string) error {
	if err := checkAgentID(id); err != nil {
		return err
	}
	_, err := d.Store.Tenants.Agent(ctx, id)
	return orMissing(err, "agent %s does not exist: list the agents", id)
}
