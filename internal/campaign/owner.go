package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AgentRest is how long a released agent stays reserved for its former tenant: the time in
// which the provider can deliver messages and repeat their events.
const AgentRest = 30*day + EventsRepeated

// Owner is the tenant that owns an agent.
type Owner struct {
	Tenant    string
	Since     time.Time
	GivenUpAt time.Time // when the tenant changed to another agent, zero if it has not
}

// AgentTenant is a tenant that receives the replies to an agent.
type AgentTenant struct {
	Tenant    string
	GivenUpAt time.Time // see Owner
}

// AgentTenants are the tenants of an agent.
type AgentTenants struct {
	AgentID string
	// Owner is nil for an unused agent, and for an agent assigned before ownership was
	// recorded.
	Owner *Owner
	All   []AgentTenant // including the owner
}

// OwnedBy reports whether the tenant owns the agent, released or not.
func (a AgentTenants) OwnedBy(tenant string) bool { return a.Owner != nil && a.Owner.Tenant == tenant }

// Others returns the other tenants.
func (a AgentTenants) Others(tenant string) []AgentTenant {
	return slices.DeleteFunc(slices.Clone(a.All), func(o AgentTenant) bool { return o.Tenant == tenant })
}

// Tenants returns the tenants that receive replies without a known message ID: all tenants,
// except those that released a shared agent more than AgentRest ago.
func (a AgentTenants) Tenants(now time.Time) []string {
	tenants := []string{}
	for _, o := range a.All {
		if len(a.All) == 1 || o.GivenUpAt.IsZero() || now.Before(o.GivenUpAt.Add(AgentRest)) {
			tenants = append(tenants, o.Tenant)
		}
	}
	return tenants
}

// Shared reports whether the agent has several tenants.
func (a AgentTenants) Shared() bool { return len(a.All) > 1 }

// Use summarizes the batches that a tenant sent with an agent.
type Use struct {
	Open     int       // batches that are not closed
	ClosedAt time.Time // when the last closed batch was closed, zero if none was
}

// AgentTakenError means that an agent cannot be assigned because of other tenants.
type AgentTakenError struct{ detail string }

func (e *AgentTakenError) Error() string { return e.detail }

// Refuse returns an *AgentTakenError if the agent cannot be assigned because of other tenants,
// else nil. use looks up the batches of a former tenant.
func (a AgentTenants) Refuse(others []AgentTenant, now time.Time, use func(tenant string) (Use, error)) error {
	present, former := []string{}, []AgentTenant{}
	for _, o := range others {
		if o.GivenUpAt.IsZero() {
			present = append(present, o.Tenant)
		} else {
			former = append(former, o)
		}
	}
	switch {
	case len(present) == 1 && len(others) == 1:
		return taken("agent %s belongs to tenant %s: use another agent", a.AgentID, present[0])
	case len(present) > 0:
		return taken("agent %s is shared by several tenants (%s) and cannot be assigned: use another agent", a.AgentID, strings.Join(present, ", "))
	}
	for _, o := range former {
		if err := a.refuseFormer(o, now, use); err != nil {
			return err
		}
	}
	return nil
}

func (a AgentTenants) refuseFormer(o AgentTenant, now time.Time, use func(tenant string) (Use, error)) error {
	free := o.GivenUpAt.Add(AgentRest)
	if !now.Before(free) {
		used, err := use(o.Tenant)
		if err != nil {
			return err
		}
		if used.Open > 0 {
			return taken("agent %s was released by tenant %s, which has %d open batches with it: use another agent, or cancel the batches and retry %d days after the last one is closed",
				a.AgentID, o.Tenant, used.Open, AgentRest/day)
		}
		if closed := used.ClosedAt; !closed.IsZero() {
			free = closed.Add(AgentRest)
		}
	}
	if now.Before(free) {
		return taken("agent %s was released by tenant %s, and events of its messages can arrive until %s: use another agent, or retry then",
			a.AgentID, o.Tenant, free.UTC().Format(time.RFC3339))
	}
	return nil
}

func taken(format string, args ...any) error {
	return &AgentTakenError{fmt.Sprintf(format, args...)}
}
