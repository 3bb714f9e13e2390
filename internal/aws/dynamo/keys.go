package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// TTL is the expiry attribute of all tables, in seconds since 1970. DynamoDB deletes
// expired rows with a delay of days. Reads of the Campaigns table omit expired rows, see
// table.unexpiredRows.
const TTL = "expiresAt"

// DueIndex is a sparse index of the Campaigns table: partition key "due" (shard number),
// sort key "nextCheck" (milliseconds since 1970). It contains unfinished batches, circuits,
// and each campaign's META row with its expiry.
//
// The shard number modulo DueParts selects the part of sweep that reads it; all rows of a
// tenant are in one part.
const (
	DueIndex  = "due"
	DueShards = 128
	DueParts  = 4
)

// CampaignsIndex is a sparse index of META rows that lists the campaigns of a tenant:
// partition key "listOf" (tenant), sort key "listAs" (the time for which the campaign was first
// scheduled or else its creation time, and its ID), the name, the creation time, and "test" of a
// test message. Its attributes are immutable, so further batches cause no index writes.
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

// resultsKey is the row with a campaign's results.
func resultsKey(id campaign.ID) Item { return campaignKey(id, "RESULTS") }

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

// identityKey is the key of the row that identifies the batch of a message ID.
func identityKey(key campaign.BatchKey) Item {
	return Item{"pk": text("B#" + key.String()), "sk": text(headSK)}
}

func credentialKey(clientID string) Item { return Item{"pk": text("CRED#" + clientID)} }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number[T ~int | ~int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// bytesOf converts nil to an empty value, because DynamoDB rejects nil.
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

// millis converts a time to milliseconds since 1970. The zero time is 0.
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

// templateGuardKey is a row that every template created by the API changes, so that
// concurrent calls cannot exceed the maximum.
func templateGuardKey(tenant string) Item {
	return Item{"pk": tenantKey(tenant)["pk"], "sk": text("TEMPLATES")}
}

// endpointGuardKey is a row that every addition of an endpoint changes, so that concurrent
// additions cannot exceed the limit.
func endpointGuardKey(tenant string) Item {
	return Item{"pk": text("TEN#" + tenant), "sk": text("ENDPOINTS")}
}

func agentKey(id string) Item { return Item{"pk": text("A#" + id), "sk": text("AGENT")} }

// ownerKey is the row with the owner of an agent. It does not expire, so that a released
// agent keeps its history.
func ownerKey(agentID string) Item { return Item{"pk": text("A#" + agentID), "sk": text("OWNER")} }

// optOutKey is the row of a shard of a tenant's opt-outs.
func optOutKey(tenant string, shard int) Item {
	return Item{"pk": text("OPT#" + tenant), "sk": text(fmt.Sprintf("%02d", shard))}
}

// optOutPartKey is the row of a part of a shard. Each shard has its own partition for
// parts, so that reading the shards does not read the parts.
func optOutPartKey(tenant string, shard int, id string) Item {
	return Item{"pk": text(fmt.Sprintf("OPT#%s#%02d", tenant, shard)), "sk": text(id)}
}

// rateLimitKey is the row with the shared rate limit of an agent.
func rateLimitKey(agentID string) Item { return Item{"pk": text("A#" + agentID), "sk": text("RATE")} }

// pauseKey is the row that pauses sending for "all", "tenant#id" or "agent#id".
func pauseKey(subject string) Item { return Item{"pk": text("PAUSE#" + subject), "sk": text("PAUSE")} }
