package dynamo

import (
	"context"
	"time"

	"campaign-dispatch/internal/send/outgoing"
)

// Route reads a tenant's route for an agent. Without an existing agent, it is paused.
func (s *TenantStore) Route(ctx context.Context, tenantID, agentID string) (outgoing.Route, error) {
	return s.route(ctx, tenantID, agentID, routeKeys(tenantID, agentID))
}

// OwnRoute is Route without the pause of all sending. All processes that send for any tenant read that row, so they do not
// read it for each tenant.
func (s *TenantStore) OwnRoute(ctx context.Context, tenantID, agentID string) (outgoing.Route, error) {
	keys := routeKeys(tenantID, agentID)
	delete(keys, "all")
	return s.route(ctx, tenantID, agentID, keys)
}

func (s *TenantStore) route(ctx context.Context, tenantID, agentID string, keys map[string]Item) (outgoing.Route, error) {
	rows, err := s.rows(ctx, "read agent "+agentID+" of tenant "+tenantID, keys)
	if err != nil {
		return outgoing.Route{}, err
	}
	return readRoute(agentID, rows)
}

// AllPaused reports whether all sending is paused.
func (s *TenantStore) AllPaused(ctx context.Context) (bool, error) {
	row, err := s.find(ctx, "read the pause of all sending", pauseKey("all"))
	return row != nil, err
}

func routeKeys(tenantID, agentID string) map[string]Item {
	keys := map[string]Item{
		"all": pauseKey("all"), "tenant": pauseKey("tenant#" + tenantID),
		"campaigns": pausedCampaignsKey(tenantID), "policy": tenantHoursKey(tenantID),
	}
	if agentID != "" {
		keys["row"], keys["rate"], keys["agent"] = agentKey(agentID), rateLimitKey(agentID), pauseKey("agent#"+agentID)
	}
	return keys
}

// readRoute reads the rows of routeKeys.
func readRoute(agentID string, rows map[string]Item) (outgoing.Route, error) {
	route := outgoing.Route{
		Agent: readAgent(agentID, rows["row"]), RateLimit: readRateLimit(rows["rate"]),
		Paused: getTexts(rows["campaigns"], "campaigns"),
	}
	for _, subject := range []string{"agent", "tenant", "all"} {
		if rows[subject] != nil {
			route.Pause = subject
		}
	}
	if route.Pause == "" && rows["row"] == nil {
		route.Pause = "no_agent"
	}
	var err error
	route.Hours, err = readTenantHours(rows["policy"])
	return route, err
}

// resumedFor is how long Resumed returns a pause that ended: a few runs of sweep.
const resumedFor = 5 * time.Minute

// Resumed returns the subjects of the pauses that ended at most 5 minutes ago.
func (s *TenantStore) Resumed(ctx context.Context) ([]string, error) {
	rows, err := s.query(ctx, "list the ended pauses", "pk = :pk", Item{":pk": text(resumedPK)})
	return readAll(rows, func(row Item) string { return getText(row, "sk") }), err
}

// RateLimit reads an agent's rate limit consistently.
func (s *TenantStore) RateLimit(ctx context.Context, agentID string) (outgoing.RateLimit, error) {
	row, err := s.find(ctx, "read rate limit of agent "+agentID, rateLimitKey(agentID))
	return readRateLimit(row), err
}

// SwapRateLimit replaces an agent's rate limit if it is unchanged since it was read, and
// reports whether it did. After a lost response, it can report false although it succeeded.
func (s *TenantStore) SwapRateLimit(ctx context.Context, agentID string, old, rateLimit outgoing.RateLimit) (bool, error) {
	condition := "everyMicros = :every AND nextAt = :next AND "
	values := Item{":every": number(old.Every.Microseconds()), ":next": millis(old.Next)}
	if old.Lanes == "" {
		condition += "attribute_not_exists(lanes)"
	} else {
		condition, values[":lanes"] = condition+"lanes = :lanes", bytesOf([]byte(old.Lanes))
	}
	if old == (outgoing.RateLimit{}) {
		condition += " OR " + absent
	}
	return s.write(ctx, "write rate limit of agent "+agentID, s.putIf(rateLimitRow(agentID, rateLimit), condition, values))
}

func rateLimitRow(agentID string, p outgoing.RateLimit) Item {
	row := with(rateLimitKey(agentID), Item{
		"everyMicros": number(p.Every.Microseconds()), "nextAt": millis(p.Next), "slowedAt": millis(p.SlowedAt),
	})
	return with(row, some(Item{"lanes": bytesOf([]byte(p.Lanes))}))
}

func readRateLimit(row Item) outgoing.RateLimit {
	return outgoing.RateLimit{
		Every: time.Duration(getNumber(row, "everyMicros")) * time.Microsecond,
		Next:  getMillis(row, "nextAt"), SlowedAt: getMillis(row, "slowedAt"), Lanes: outgoing.Lanes(getBinary(row, "lanes")),
	}
}
