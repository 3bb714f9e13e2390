package account

import (
	"context"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
)

const day = 24 * time.Hour

// AgentRest is how long a released agent stays reserved for its former tenant: the time in
// which the provider can deliver messages and repeat their events.
const AgentRest = 30*day + campaign.EventsRepeated

// Owner is the tenant that owns an agent. Its Tenant is "" for an agent that no tenant has
// had.
type Owner struct {
	AgentID    string
	Tenant     string
	Since      time.Time
	ReleasedAt time.Time // when the tenant changed to another agent, zero if it has not
}

// Use summarizes the batches that a tenant sent with an agent.
type Use struct {
	Open     int       // batches that are not closed
	ClosedAt time.Time // when the last closed batch was closed, zero if none was
}

// UseOf summarizes the batches that were sent with an agent.
func UseOf(batches []campaign.BatchProgress, agentID string) (u Use) {
	for _, b := range batches {
		switch {
		case b.AgentID != agentID:
		case b.ClosedAt.IsZero():
			u.Open++
		case b.ClosedAt.After(u.ClosedAt):
			u.ClosedAt = b.ClosedAt
		}
	}
	return u
}

// Add returns the summary of two sets of batches.
func (u Use) Add(other Use) Use {
	return Use{Open: u.Open + other.Open, ClosedAt: campaign.Later(u.ClosedAt, other.ClosedAt)}
}

// AgentUse returns how a tenant's batches use an agent.
type AgentUse func(ctx context.Context, tenant, agentID string) (Use, error)

// AgentTakenError means that an agent cannot be assigned because of its owner.
type AgentTakenError struct{ detail string }

func (e *AgentTakenError) Error() string { return e.detail }

// Refuse returns an *AgentTakenError if the agent cannot be assigned to the tenant because
// of its owner, else nil. use looks up the batches that a former owner sent.
func (o Owner) Refuse(tenant string, now time.Time, use func(tenant string) (Use, error)) error {
	switch {
	case o.Tenant == "" || o.Tenant == tenant:
		return nil
	case o.ReleasedAt.IsZero():
		return taken("agent %s belongs to tenant %s: use another agent", o.AgentID, o.Tenant)
	}
	free := o.ReleasedAt.Add(AgentRest)
	if !now.Before(free) {
		used, err := use(o.Tenant)
		if err != nil {
			return err
		}
		if used.Open > 0 {
			return taken("agent %s was released by tenant %s, which has %d open batches with it: use another agent, "+
				"or cancel the batches and retry %d days after the last one is closed", o.AgentID, o.Tenant, used.Open, AgentRest/day)
		}
		if closed := used.ClosedAt; !closed.IsZero() {
			free = closed.Add(AgentRest)
		}
	}
	if now.Before(free) {
		return taken("agent %s was released by tenant %s, and events of its messages can arrive until %s: use another agent, or retry then",
			o.AgentID, o.Tenant, localtime.FormatUTC(free))
	}
	return nil
}

func taken(format string, args ...any) error {
	return &AgentTakenError{fmt.Sprintf(format, args...)}
}
