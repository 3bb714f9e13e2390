package campaign

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AgentRest is how long an agent that a tenant gave up stays the tenant's: the time for
// which the provider may deliver a message, and for which it repeats an event of it.
const AgentRest = 30*day + EventsRepeated

// Owner is the tenant that an agent belongs to.
type Owner struct {
	Tenant    string
	Since     time.Time
	GivenUpAt time.Time // when the tenant went on to another agent, zero if it has not
}

// Holder is a tenant that gets the replies to an agent.
type Holder struct {
	Tenant    string
	GivenUpAt time.Time // as an Owner's
}

// Holders are the tenants of an agent.
type Holders struct {
	AgentID string
	// Owner is nil for an agent that tenants shared, or that one had, before agents had
	// owners, and for one that no tenant ever had.
	Owner   *Owner
	Holders []Holder // with the owner
}

// OwnedBy reports whether the agent belongs to the tenant, given up or not.
func (h Holders) OwnedBy(tenant string) bool { return h.Owner != nil && h.Owner.Tenant == tenant }

// Others returns the holders other than the tenant.
func (h Holders) Others(tenant string) []Holder {
	return slices.DeleteFunc(slices.Clone(h.Holders), func(o Holder) bool { return o.Tenant == tenant })
}

// Tenants returns those that get what comes to the agent and names no message of ours:
// all holders, less those of a shared agent that gave it up AgentRest ago.
func (h Holders) Tenants(now time.Time) []string {
	tenants := []string{}
	for _, o := range h.Holders {
		if len(h.Holders) == 1 || o.GivenUpAt.IsZero() || now.Before(o.GivenUpAt.Add(AgentRest)) {
			tenants = append(tenants, o.Tenant)
		}
	}
	return tenants
}

// Shared reports whether several tenants have the agent.
func (h Holders) Shared() bool { return len(h.Holders) > 1 }

// Use is what a tenant's batches that were sent by an agent say of its use.
type Use struct {
	Open     int       // batches that are not closed
	ClosedAt time.Time // when the last of the others was closed, zero for none
}

// Refuse returns why the agent does not go to another tenant while others have it, or
// nil. use looks up what a former holder's batches say.
func (h Holders) Refuse(others []Holder, now time.Time, use func(tenant string) (Use, error)) error {
	present, former := []string{}, []Holder{}
	for _, o := range others {
		if o.GivenUpAt.IsZero() {
			present = append(present, o.Tenant)
		} else {
			former = append(former, o)
		}
	}
	switch {
	case len(present) == 1 && len(others) == 1:
		return taken("agent %s belongs to tenant %s: give another agent", h.AgentID, present[0])
	case len(present) > 0:
		return taken("agent %s is shared by several tenants (%s), and takes no further one: give another agent", h.AgentID, strings.Join(present, ", "))
	}
	for _, o := range former {
		if err := h.refuseFormer(o, now, use); err != nil {
			return err
		}
	}
	return nil
}

func (h Holders) refuseFormer(o Holder, now time.Time, use func(tenant string) (Use, error)) error {
	free := o.GivenUpAt.Add(AgentRest)
	if !now.Before(free) {
		used, err := use(o.Tenant)
		if err != nil {
			return err
		}
		if used.Open > 0 {
			return taken("agent %s was given up by tenant %s, which has %d batches with it that are not closed: give another agent, or cancel them and come back %d days after the last is closed",
				h.AgentID, o.Tenant, used.Open, AgentRest/day)
		}
		if closed := used.ClosedAt; !closed.IsZero() {
			free = closed.Add(AgentRest)
		}
	}
	if now.Before(free) {
		return taken("agent %s was given up by tenant %s, and events of its messages may come until %s: give another agent, or come back then",
			h.AgentID, o.Tenant, free.UTC().Format(time.RFC3339))
	}
	return nil
}

func taken(format string, args ...any) error {
	return &InputError{Code: "agent_taken", Detail: fmt.Sprintf(format, args...)}
}
