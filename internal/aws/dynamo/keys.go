package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/webhook/delivery"
)

// DueIndex is a sparse index of the Campaigns table: partition key "due" (shard number),
// sort key "nextCheck" (milliseconds since 1970). It contains unfinished batches, circuits,
// and each campaign's META row with its expiry.
//
// The shard number modulo DueSections selects the section of sweep that reads it; all rows of a
// tenant are in one section.
const (
	DueIndex    = "due"
	DueShards   = 128
	DueSections = 4
)

// CampaignsIndex is a sparse index that lists the campaigns of a tenant, and those of its batches that wait. A META row
// has the partition key "listOf" (tenant), the sort key "listAs" (the time for which the campaign was first scheduled or
// else its creation time, and its ID), the name, the creation time, and "test" of a test message. These do not change, so
// further batches cause no index writes. A BATCH row is in the index while it waits, with waitsPrefix before the tenant:
// to begin and to end the wait are index writes. Its sort key has the campaign's ID, after neverPrefix if some of its
// messages never go.
const CampaignsIndex = "campaigns"

// Sort keys, and prefixes of keys that are also read back.
const (
	metaSK            = "META"
	headSK            = "HEAD"
	batchPrefix       = "BATCH#"
	setPrefix         = "SET#"
	versionPrefix     = "V#"
	templatePrefix    = "TEMPLATE#"
	archivePrefix     = "ARCHIVED#"
	credentialPrefix  = "CREDENTIAL#" //nolint:gosec // the start of a key
	mediaPrefix       = "MEDIA#"
	endpointPrefix    = "ENDPOINT#"
	circuitPrefix     = "CIRCUIT#"
	tenantPrefix      = "TEN#"
	templatesPrefix   = "TEMPLATES#"
	campaignPrefix    = "C#"
	answerPrefix      = "I#"
	exportPrefix      = "EXPORT#"
	exportsPrefix     = "EXPORTS#"
	submissionsPrefix = "SUBMISSIONS#"
	submissionPrefix  = "SUBMISSION#"
	deliveryIDPrefix  = "W#"
	deliveryPrefix    = "DELIVERY#"
	waitsPrefix       = "WAITS#"
	neverPrefix       = "!" // before every campaign's ID
)

// listPK is the partition key of the rows that list tenants, agents and pauses. Without
// it, listing would need a table scan.
const listPK = "DIRECTORY"

// resumedPK is the partition key of the rows that list the pauses that ended lately. It is not listPK, so that
// the campaigns function may write them and not the others.
const resumedPK = "RESUMED"

// Prefixes of its sort keys.
const (
	tenantEntry = "TENANT#"
	agentEntry  = "AGENT#"
	pauseEntry  = "PAUSE#"
)

// Sortable time formats.
const (
	hourForm    = "2006-01-02T15"
	instantForm = "2006-01-02T15:04:05.000Z"
)

func keyOf(pk, sk string) Item { return Item{"pk": text(pk), "sk": text(sk)} }

// The Auth table has no sort keys.

func credentialKey(clientID string) Item { return Item{"pk": text("CRED#" + clientID)} }

func refreshKey(hash string) Item { return Item{"pk": text("RT#" + hash)} }

// familyKey is the row that revokes a family of refresh tokens.
func familyKey(family string) Item { return Item{"pk": text("FAM#" + family)} }

func rateKey(key string) Item { return Item{"pk": text("RATE#" + campaign.Digest(key))} }

// callsKey is the row of a tenant's call bucket. Its only attribute beside the TTL is named
// after the bucket's period and contains Next, in microseconds since 1970.
func callsKey(tenant string) Item { return Item{"pk": text("CALLS#" + tenant)} }

// personKey is the row of a dashboard user. It contains no email address and ignores case,
// like the user pool.
func personKey(tenant, email string) Item {
	return Item{"pk": text("PERSON#" + tenant + "#" + campaign.Digest(strings.ToLower(email)))}
}

// The Campaigns table.

func ofCampaign(id campaign.ID, sk string) Item {
	return keyOf(campaignPrefix+id.Tenant+"#"+id.CampaignID, sk)
}

func metaKey(id campaign.ID) Item { return ofCampaign(id, metaSK) }

func batchKey(ref campaign.BatchRef) Item { return ofCampaign(ref.ID, batchPrefix+ref.BatchID) }

func setKey(id campaign.ID, ordinal int) Item { return ofCampaign(id, setSK(ordinal)) }

func setSK(ordinal int) string { return fmt.Sprintf("%s%08d", setPrefix, ordinal) }

func progressKey(id campaign.ID) Item { return ofCampaign(id, "PROGRESS") }

func resultsKey(id campaign.ID) Item { return ofCampaign(id, "RESULTS") }

func nameKey(tenant, name string) Item { return keyOf("N#"+tenant+"#"+campaign.Digest(name), "NAME") }

func idempotencyKey(tenant, clientID, key string) Item {
	return keyOf(answerPrefix+tenant+"#"+clientID+"#"+campaign.Digest(key), "IDEM")
}

func identityKey(key campaign.BatchKey) Item { return keyOf("B#"+key.String(), headSK) }

func ofTenant(tenant, sk string) Item { return keyOf(tenantPrefix+tenant, sk) }

// ofTemplates is a row of the list of a tenant's templates. Its partition is its own, so that the
// campaigns function may write templates and not endpoints.
func ofTemplates(tenant, sk string) Item { return keyOf(templatesPrefix+tenant, sk) }

func tenantKey(id string) Item { return ofTenant(id, "TENANT") }

func billingKey(tenant string) Item { return ofTenant(tenant, "BILLING") }

// tenantHoursKey is the row with the times at which a tenant's messages may go.
func tenantHoursKey(tenant string) Item { return ofTenant(tenant, "SENDPOLICY") }

func brandKey(tenant string) Item { return ofTenant(tenant, "BRAND") }

func approvalRuleKey(tenant string) Item { return ofTenant(tenant, "APPROVAL") }

func testNumbersKey(tenant string) Item { return ofTenant(tenant, "TESTNUMBERS") }

// templateGuardKey is a row that every template created by the API changes, so that
// concurrent calls cannot exceed the maximum.
func templateGuardKey(tenant string) Item { return ofTemplates(tenant, "GUARD") }

// endpointGuardKey is a row that every addition of an endpoint changes, so that concurrent
// additions cannot exceed the limit.
func endpointGuardKey(tenant string) Item { return ofTenant(tenant, "ENDPOINTS") }

func templateEntryKey(tenant, id string) Item { return ofTemplates(tenant, templatePrefix+id) }

// archivedKey is the row of an archived template. It is a row of its own, because saving a
// version replaces the row of a template.
func archivedKey(tenant, id string) Item { return ofTemplates(tenant, archivePrefix+id) }

func credentialEntryKey(tenant, clientID string) Item {
	return ofTenant(tenant, credentialPrefix+clientID)
}

func mediaKey(tenant, hash string) Item { return ofTenant(tenant, mediaPrefix+hash) }

func endpointKey(tenant, id string) Item { return ofTenant(tenant, endpointPrefix+id) }

func circuitKey(tenant, endpointID string) Item { return ofTenant(tenant, circuitPrefix+endpointID) }

func budgetKey(tenant, month string) Item { return keyOf("BUDGET#"+tenant, month) }

func dayKey(tenant, date string) Item { return keyOf("DAYS#"+tenant, date) }

// recountKey is the row with what the recount of days has not finished.
func recountKey() Item { return keyOf("RECOUNT", "CURSOR") }

func templateKey(id string) Item { return keyOf("T#"+id, "CURRENT") }

func templateVersionKey(id string, version int) Item {
	return keyOf("T#"+id, fmt.Sprintf("%s%06d", versionPrefix, version))
}

func agentKey(id string) Item { return keyOf("A#"+id, "AGENT") }

// ownerKey is the row with the owner of an agent. It does not expire, so that a released
// agent keeps its history.
func ownerKey(agentID string) Item { return keyOf("A#"+agentID, "OWNER") }

func rateLimitKey(agentID string) Item { return keyOf("A#"+agentID, "RATE") }

// pauseKey is the row that pauses sending for "all", "tenant#id" or "agent#id".
func pauseKey(subject string) Item { return keyOf("PAUSE#"+subject, "PAUSE") }

// pausedCampaignsKey is the row with the paused campaigns of a tenant.
func pausedCampaignsKey(tenant string) Item { return pauseKey("campaigns#" + tenant) }

func resumedKey(subject string) Item { return keyOf(resumedPK, subject) }

func directoryKey(prefix, id string) Item { return keyOf(listPK, prefix+id) }

func optOutKey(tenant string, shard int) Item {
	return keyOf("OPT#"+tenant, fmt.Sprintf("%02d", shard))
}

// optOutPartKey is the row of a part of a shard. Each shard has its own partition for
// parts, so that reading the shards does not read the parts.
func optOutPartKey(tenant string, shard int, id string) Item {
	return keyOf(fmt.Sprintf("OPT#%s#%02d", tenant, shard), id)
}

func listKey(tenant, name string) Item { return keyOf("LISTS#"+tenant, name) }

// listGuardKey is before all names.
func listGuardKey(tenant string) Item { return listKey(tenant, "#") }

// listAdditionsKey is before the guard, so that no list of rows has it.
func listAdditionsKey(tenant string) Item { return listKey(tenant, "!") }

func replyKey(tenant, id string) Item { return keyOf("REPLIES#"+tenant, id) }

// doubtKey is the row of a number with its newest doubtful reply. These rows have a partition of their own, so that
// counting them does not read all replies.
func doubtKey(tenant, phone string) Item { return keyOf("DOUBTS#"+tenant, campaign.Digest(phone)) }

// doubtedKey is the guard of an event whose reply is or was doubtful.
func doubtedKey(tenant, event string) Item { return keyOf("DOUBTED#"+tenant, event) }

func optOutLogKey(tenant, id string) Item { return keyOf("OPTOUTLOG#"+tenant, id) }

// auditKey is the key of an audit log entry. place is the time in nanoseconds since 1970;
// until the year 2286, all have 19 digits.
func auditKey(tenant, place string) Item { return keyOf("AUDIT#"+tenant, place) }

// formKey is the row of a form token, or of an entry of the audit log.
func formKey(tenant, token string) Item { return keyOf("FORM#"+tenant, campaign.Digest(token)) }

func submissionKey(id campaign.ID) Item {
	return keyOf(submissionsPrefix+id.Tenant, submissionPrefix+id.CampaignID)
}

func columnsKey(tenant string) Item { return keyOf(submissionsPrefix+tenant, "COLUMNS") }

func exportKey(id string) Item { return keyOf(exportPrefix+id, "EXPORT") }

func snapshotKey(id string) Item { return keyOf(exportPrefix+id, "SNAPSHOT") }

func exportEntryKey(e export.Export) Item {
	return keyOf(exportsPrefix+e.Tenant, e.CampaignID+"#"+e.ExportID)
}

func exportSlotKey(tenant string, slot int) Item {
	return keyOf(exportsPrefix+tenant, "SLOT#"+strconv.Itoa(slot))
}

// The Outcomes table.

// ledgerKey is a row of a batch: sk is headSK, tapsSK, clicksSK or a pageSK.
func ledgerKey(key campaign.BatchKey, sk string) Item { return keyOf(key.String(), sk) }

// The Webhooks table.

// deliveryKey contains all fields of the delivery's task, so that tasks can be created from
// the index.
func deliveryKey(t delivery.NotifyTask) Item {
	return keyOf(deliveryIDPrefix+t.DeliveryID, deliveryPrefix+t.Tenant+"#"+t.EndpointID)
}

func failureKey(f delivery.Failure) Item {
	return keyOf("FAILURES#"+f.Tenant+"#"+f.EndpointID, instantSK(f.At, f.WebhookID))
}

func keptPostKey(p delivery.KeptPost) Item {
	return keyOf("POSTS#"+p.Tenant+"#"+p.EndpointID, instantSK(p.At, p.WebhookID))
}

func instantSK(at time.Time, id string) string { return at.UTC().Format(instantForm) + "#" + id }

// placeSK returns the instantSK of a place. That of the zero place is after all others.
func placeSK(p delivery.Place) attribute {
	if p == (delivery.Place{}) {
		return text("~")
	}
	return text(instantSK(p.At, p.WebhookID))
}

// hourKey is the row with the counts of posts in an hour, in hourForm.
func hourKey(tenant, hour string) Item { return keyOf("STATS#"+tenant, hour) }
