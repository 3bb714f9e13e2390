package settings

import (
	"context"
	"errors"
	"fmt"
)

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
	if !agentID().MatchString(id) {
		return fmt.Errorf("agent id %q: %s", shorten(id), agentIDRule)
	}
	_, err := d.Store.Tenants.Agent(ctx, id)
	return explain(err, "agent %s does not exist: list the agents", id)
}
