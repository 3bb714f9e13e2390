// Package dynamo keeps the service's state in four DynamoDB tables: Auth
// (credentials, refresh tokens, rate limits), Outcomes (what became of messages, by
// batch), Webhooks (what endpoints are still owed) and Campaigns (all else). The
// failures of the SDK become the service's own errors here and nowhere else.
package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// Store reads and writes the rows of all tables.
type Store struct {
	Client    *dynamodb.Client
	Auth      string // name of the Auth table: hash key pk
	Campaigns string // name of the Campaigns table: hash key pk, range key sk
	Outcomes  string // name of the Outcomes table: hash key pk, range key sk, a stream of new images
	Webhooks  string // name of the Webhooks table: hash key pk, range key sk
	// Split says that new batches keep their outcomes in Outcomes and that new deliveries
	// stand in Webhooks. Otherwise both are written to Campaigns, as before there were
	// these tables. All of it is read either way.
	Split bool
	Now   func() time.Time
}

type attribute = types.AttributeValue

// Item is a row, or the key of one.
type Item = map[string]types.AttributeValue

// TTL is the attribute of both tables after whose instant (seconds since 1970)
// DynamoDB deletes a row, some days late. What Store reads of the Campaigns table
// is gone at that instant, see Store.live.
const TTL = "expiresAt"

// DueIndex is the sparse index of the Campaigns table that holds a batch from
// its acceptance until every message was given to the provider or failed: hash
// key "due" (the number of a shard), range key "nextCheck" (milliseconds since 1970).
// Rows of Split stand in SplitDueShards behind the first DueShards, which are those of
// the other rows; all are read. The remainder of a shard's number by DueParts is the
// part of sweep that reads it. A tenant's rows of Split are all in one part. It holds the deliveries too that endpoints are owed, and the META row
// of each campaign, whose check is the time at which it may be forgotten.
const (
	DueIndex       = "due"
	DueShards      = 4
	SplitDueShards = 128
	AllDueShards   = DueShards + SplitDueShards
	DueParts       = 4
)

// CampaignsIndex is the sparse index of the Campaigns table that lists tenants'
// campaigns, their META rows: hash key "listOf" (the tenant), range key "listAs"
// (when the campaign was created, and its id), with the campaign's name. Nothing
// of it changes once it is written, so further batches of a campaign cost nothing
// here.
const CampaignsIndex = "campaigns"

func campaignKey(id campaign.ID, sk string) Item {
	return Item{"pk": text("C#" + id.Tenant + "#" + id.CampaignID), "sk": text(sk)}
}

func metaKey(id campaign.ID) Item { return campaignKey(id, "META") }

func batchKey(ref campaign.BatchRef) Item { return campaignKey(ref.ID, "BATCH#"+ref.BatchID) }

func setKey(id campaign.ID, ordinal int) Item { return campaignKey(id, setSK(ordinal)) }

func setSK(ordinal int) string { return fmt.Sprintf("SET#%08d", ordinal) }

// progressKey is the row that counts a campaign's completed batches.
func progressKey(id campaign.ID) Item { return campaignKey(id, "PROGRESS") }

func nameKey(tenant, name string) Item {
	return Item{"pk": text("N#" + tenant + "#" + campaign.Digest(name)), "sk": text("NAME")}
}

func idempotencyKey(tenant, clientID, key string) Item {
	return Item{"pk": text("I#" + tenant + "#" + clientID + "#" + campaign.Digest(key)), "sk": text("IDEM")}
}

func templateKey(id string) Item { return Item{"pk": text("T#" + id), "sk": text("CURRENT")} }

func templateVersionKey(id string, version int) Item {
	return Item{"pk": text("T#" + id), "sk": text(fmt.Sprintf("V#%06d", version))}
}

// outcomeKey is the key of a row of a batch's outcomes: HEAD or LOG#ordinal.
func outcomeKey(key campaign.BatchKey, sk string) Item {
	return Item{"pk": text("B#" + key.String()), "sk": text(sk)}
}

func credentialKey(clientID string) Item { return Item{"pk": text("CRED#" + clientID)} }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number[T ~int | ~int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// bytesOf returns an attribute that is empty for nil, which DynamoDB refuses.
func bytesOf(b []byte) types.AttributeValue {
	if b == nil {
		b = []byte{}
	}
	return &types.AttributeValueMemberB{Value: b}
}

func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func getText(item Item, name string) string {
	if v, ok := item[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func getNumber(item Item, name string) int64 {
	if v, ok := item[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

func getBinary(item Item, name string) []byte {
	if v, ok := item[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func getBool(item Item, name string) bool {
	v, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

// millis writes an instant as milliseconds since 1970; the zero time is 0.
func millis(t time.Time) types.AttributeValue {
	if t.IsZero() {
		return number(0)
	}
	return number(t.UnixMilli())
}

func getMillis(item Item, name string) time.Time {
	ms := getNumber(item, name)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func tenantKey(id string) Item { return Item{"pk": text("TEN#" + id), "sk": text("TENANT")} }

func endpointKey(tenant, id string) Item {
	return Item{"pk": text("TEN#" + tenant), "sk": text("ENDPOINT#" + id)}
}

// endpointGuardKey is the row that each addition of an endpoint changes, so that
// racing additions cannot pass the limit together.
func endpointGuardKey(tenant string) Item {
	return Item{"pk": text("TEN#" + tenant), "sk": text("ENDPOINTS")}
}

func agentKey(id string) Item { return Item{"pk": text("A#" + id), "sk": text("AGENT")} }

// ownerKey is the row that says which tenant an agent belongs to. It has no end: an
// agent that was given up must not go to another tenant unseen.
func ownerKey(agentID string) Item { return Item{"pk": text("A#" + agentID), "sk": text("OWNER")} }

// agentTenantKey is the row by which an agent's tenants are found.
func agentTenantKey(agentID, tenant string) Item {
	return Item{"pk": text("A#" + agentID), "sk": text("TENANT#" + tenant)}
}

// optOutKey is the row of one shard of the numbers that opted out of a tenant's
// messages.
func optOutKey(tenant string, shard int) Item {
	return Item{"pk": text("OPT#" + tenant), "sk": text(fmt.Sprintf("%02d", shard))}
}

// optOutPartKey is the row of a part of a shard. The parts of each shard have a
// partition key of their own, so that a read of the shards does not read them.
func optOutPartKey(tenant string, shard int, id string) Item {
	return Item{"pk": text(fmt.Sprintf("OPT#%s#%02d", tenant, shard)), "sk": text(id)}
}

// rateLimitKey is the row by which all functions share an agent's rate.
func rateLimitKey(agentID string) Item { return Item{"pk": text("A#" + agentID), "sk": text("PACE")} }

// pauseKey is the row whose presence pauses sending: for everybody ("all"), a
// tenant ("tenant#id") or an agent ("agent#id").
func pauseKey(subject string) Item { return Item{"pk": text("PAUSE#" + subject), "sk": text("PAUSE")} }
