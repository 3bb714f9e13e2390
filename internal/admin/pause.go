package admin

import (
	"context"
	"errors"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// Subject is whose sending is paused: everybody's, a tenant's or an agent's.
// Exactly one of its fields is set.
type Subject struct {
	All    bool
	Tenant string
	Agent  string
}

// Pause stops sending for the subject. What is accepted meanwhile waits.
func (d *Service) Pause(ctx context.Context, s Subject) error {
	key, err := d.subjectKey(ctx, s)
	if err != nil {
		return err
	}
	return d.Store.Pause(ctx, key)
}

// Resume ends a pause. The other pauses that hold the same messages stay.
func (d *Service) Resume(ctx context.Context, s Subject) error {
	key, err := d.subjectKey(ctx, s)
	if err != nil {
		return err
	}
	return d.Store.Resume(ctx, key)
}

// subjectKey makes sure that the subject exists: a pause with a misspelt name
// would stop nothing.
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
	return "", errors.New("name exactly one: everybody, a tenant or an agent")
}

func (d *Service) requireAgent(ctx context.Context, id string) error {
	if !agentID.MatchString(id) {
		return fmt.Errorf("agent id %q: %s", shorten(id), agentIDRule)
	}
	_, err := d.Store.Agent(ctx, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return missing("agent " + id + " does not exist: list the agents")
	}
	return err
}
