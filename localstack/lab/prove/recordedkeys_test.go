package prove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"campaign-dispatch/localstack/stackenv"
)

// unreached are prefixes that no test on the stack uses, by the reason. The code needs them: TestTemplate_RolesAllowKeys follows
// its calls, and unit tests make them.
var unreached = map[string][]string{
	"no tenant has a budget": {
		"campaigns.ReadCampaigns.BUDGET#*", "dashboard.MoveBatches.BUDGET#*", "intake.CountBatchesAndReserve.BUDGET#*",
		"revoke.ReadBatches.BUDGET#*", "revoke.RecordOutcomes.BUDGET#*", "send.RecordOutcomes.BUDGET#*",
		"sweep.MoveBatchesAndRecordOutcomes.BUDGET#*",
	},
	"no campaign ends while it is paused": {
		"outcomes.RecordOutcomes.PAUSE#campaigns#*", "outcomes.RecordOutcomes.RESUMED", "revoke.RecordOutcomes.PAUSE#campaigns#*",
		"revoke.RecordOutcomes.RESUMED", "send.RecordOutcomes.PAUSE#campaigns#*", "send.RecordOutcomes.RESUMED",
		"sweep.MoveBatchesAndRecordOutcomes.RESUMED",
	},
	"a tenant is recounted every six hours": {
		"sweep.ReadBatches.DAYS#*", "sweep.ReadBatches.OPTOUTLOG#*", "sweep.CorrectDaysAndSubmissions.DAYS#*",
		"sweep.CorrectDaysAndSubmissions.RECOUNT",
	},
	"segments of lists are looked at once a day": {"sweep.ReadBatches.LISTS#*"},
	"nobody opts out in words that a person has to read": {
		"outcomes.KeepRepliesAndOptOuts.DOUBTED#*", "outcomes.KeepRepliesAndOptOuts.DOUBTS#*", "outcomes.DivideOptOuts.DOUBTS#*",
	},
	"no campaign is cancelled before its first batch is accepted": {"campaigns.MoveAndPauseBatches.N#*", "dashboard.MoveBatches.N#*"},
	"no tenant has as many exports at once as it may":             {"campaigns.ReadCampaigns.EXPORTS#*", "dashboard.MoveBatches.EXPORTS#*"},
	"the provider verifies no address without an agent":           {"events.ReadWebhookTokens.DIRECTORY"},
	"no worker discards a wave":                                   {"intake.AcceptCampaigns.AUDIT#*"},
	"no page lists the webhooks of an endpoint that is off":       {"dashboard.FindDeadWebhooks.PARKED#*"},
	"nobody opts in again in the dashboard":                       {"dashboard.RequireAndDeleteRows.OPT#*"},
}

// isUnreached reports whether no test on the stack uses a prefix.
func isUnreached(name string) bool {
	for _, names := range unreached {
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// callByKey is a call that AWS has allowed to a caller, with the kinds of the rows whose partition keys it named. The emulator
// records each of them once.
type callByKey struct {
	Caller   string   `json:"caller"` // ARN of a session of a role
	Action   string   `json:"action"`
	Resource string   `json:"resource"`
	Keys     []string `json:"keys"`
}

// keyedPermission is a prefix of keys in a statement of a role.
type keyedPermission struct {
	role role
	permission
}

// callsOfAllTests runs all tests if prefixes are to be looked at, and returns the calls that AWS has allowed.
func callsOfAllTests(ctx context.Context, keyed []keyedPermission, binaries []string) ([]callByKey, error) {
	if len(keyed) == 0 {
		return nil, nil
	}
	for _, binary := range binaries {
		runTests(ctx, binary, ".")
	}
	return recordedCalls()
}

// recordedCalls returns the calls since the emulator was started.
func recordedCalls() (all []callByKey, err error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(absolute(os.Getenv(stackenv.Variable))), "state", "aws", "calls-by-key.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("read the recorded calls: %w", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var c callByKey
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("read a recorded call: %w", err)
		}
		all = append(all, c)
	}
	return all, nil
}

// needs reports whether the role has made a call that it could not make without a permission.
func (r role) needs(p permission, calls []callByKey) bool {
	return slices.ContainsFunc(calls, func(c callByKey) bool {
		return strings.Contains(c.Caller, "/"+r.name+"/") && r.policy.allows(c) && !p.without.allows(c)
	})
}

// allows reports whether a statement allows a call. Of the conditions it knows the one on partition keys, and statements on
// rows have no other.
func (p policy) allows(c callByKey) bool {
	for _, s := range p.Statement {
		if fits(s["Action"], c.Action) && fits(s["Resource"], c.Resource) && fitAll(leadingKeys(s), c.Keys) {
			return true
		}
	}
	return false
}

// fitAll reports whether each key fits one of the patterns. Without patterns all do.
func fitAll(patterns, keys []string) bool {
	for _, key := range keys {
		if len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p string) bool { return fits(p, key) }) {
			return false
		}
	}
	return true
}

// fits reports whether a value fits a pattern of a policy, which may be a list of them.
func fits(patterns any, value string) bool {
	switch p := patterns.(type) {
	case string:
		whole := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(p))
		return regexp.MustCompile("^" + whole + "$").MatchString(value)
	case []any:
		return slices.ContainsFunc(p, func(one any) bool { return fits(one, value) })
	}
	return false
}
