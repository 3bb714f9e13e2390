package dynamo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/webhook/delivery"
)

// builtKeys returns keys of every kind of row, by the function of keys.go that builds them.
func builtKeys() map[string][]Item {
	id, at := campaign.ID{Tenant: "tenant", CampaignID: "campaign"}, time.Unix(1_800_000_000, 0)
	key, hash := campaign.BatchKey{0xab}, campaign.Digest("some")
	return map[string][]Item{
		"credentialKey":      {credentialKey("client")},
		"refreshKey":         {refreshKey(hash)},
		"familyKey":          {familyKey("family")},
		"rateKey":            {rateKey("client")},
		"callsKey":           {callsKey("tenant")},
		"personKey":          {personKey("tenant", "a@example.com")},
		"metaKey":            {metaKey(id)},
		"batchKey":           {batchKey(campaign.BatchRef{ID: id, BatchID: "batch"})},
		"setKey":             {setKey(id, 1)},
		"progressKey":        {progressKey(id)},
		"resultsKey":         {resultsKey(id)},
		"nameKey":            {nameKey("tenant", "name")},
		"idempotencyKey":     {idempotencyKey("tenant", "client", "key")},
		"identityKey":        {identityKey(key)},
		"tenantKey":          {tenantKey("tenant")},
		"billingKey":         {billingKey("tenant")},
		"brandKey":           {brandKey("tenant")},
		"tenantHoursKey":     {tenantHoursKey("tenant")},
		"approvalRuleKey":    {approvalRuleKey("tenant")},
		"testNumbersKey":     {testNumbersKey("tenant")},
		"templateGuardKey":   {templateGuardKey("tenant")},
		"endpointGuardKey":   {endpointGuardKey("tenant")},
		"templateEntryKey":   {templateEntryKey("tenant", "template")},
		"archivedKey":        {archivedKey("tenant", "template")},
		"credentialEntryKey": {credentialEntryKey("tenant", "client")},
		"mediaKey":           {mediaKey("tenant", hash)},
		"endpointKey":        {endpointKey("tenant", "endpoint")},
		"circuitKey":         {circuitKey("tenant", "endpoint")},
		"budgetKey":          {budgetKey("tenant", "2026-11")},
		"dayKey":             {dayKey("tenant", "2026-11-26")},
		"recountKey":         {recountKey()},
		"templateKey":        {templateKey("template")},
		"templateVersionKey": {templateVersionKey("template", 1)},
		"agentKey":           {agentKey("agent")},
		"ownerKey":           {ownerKey("agent")},
		"rateLimitKey":       {rateLimitKey("agent")},
		"pauseKey":           {pauseKey("all")},
		"directoryKey":       {directoryKey(tenantEntry, "tenant"), directoryKey(agentEntry, "agent"), directoryKey(pauseEntry, "all")},
		"pausedCampaignsKey": {pausedCampaignsKey("tenant")},
		"resumedKey":         {resumedKey("all")},
		"optOutKey":          {optOutKey("tenant", 1)},
		"optOutPartKey":      {optOutPartKey("tenant", 1, "part")},
		"listKey":            {listKey("tenant", "name")},
		"listAdditionsKey":   {listAdditionsKey("tenant")},
		"listGuardKey":       {listGuardKey("tenant")},
		"replyKey":           {replyKey("tenant", "20261126#"+hash)},
		"doubtKey":           {doubtKey("tenant", "+5511987654321")},
		"doubtedKey":         {doubtedKey("tenant", hash)},
		"optOutLogKey":       {optOutLogKey("tenant", "20261126#"+hash)},
		"auditKey":           {auditKey("tenant", "1800000000000000000")},
		"formKey":            {formKey("tenant", "token")},
		"submissionKey":      {submissionKey(id)},
		"columnsKey":         {columnsKey("tenant")},
		"exportKey":          {exportKey("export")},
		"snapshotKey":        {snapshotKey("export")},
		"exportEntryKey":     {exportEntryKey(export.Export{ID: id, ExportID: "export"})},
		"exportSlotKey":      {exportSlotKey("tenant", 1)},
		"ledgerKey": {
			ledgerKey(key, headSK), ledgerKey(key, pageSK(headSK, 1)), ledgerKey(key, tapsSK), ledgerKey(key, pageSK(tapsSK, 1)),
			ledgerKey(key, clicksSK), ledgerKey(key, pageSK(clicksSK, 1)),
		},
		"deliveryKey": {deliveryKey(delivery.NotifyTask{DeliveryID: "id", Tenant: "tenant", EndpointID: "endpoint"})},
		"failureKey":  {failureKey(delivery.Failure{Tenant: "tenant", EndpointID: "endpoint", WebhookID: "id", At: at})},
		"keptPostKey": {keptPostKey(delivery.KeptPost{Tenant: "tenant", EndpointID: "endpoint", WebhookID: "id", At: at})},
		"hourKey":     {hourKey("tenant", at.Format(hourForm))},
	}
}

func TestKeys_AllAreChecked(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "keys.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var builders []string
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(f.Name.Name, "Key") {
			builders = append(builders, f.Name.Name)
		}
	}
	slices.Sort(builders)
	if diff := cmp.Diff(builders, slices.Sorted(maps.Keys(builtKeys()))); diff != "" {
		t.Errorf("functions of keys.go (-) and of this test (+):\n%s", diff)
	}
}

// rowKind is a kind of row as the documents write it: "C#tenant#campaign / META".
type rowKind string

var value = regexp.MustCompile(`[a-z]+`)

// pattern matches the keys of the kind: a word in lower case stands for a value, "hash" for a digest.
func (k rowKind) pattern() *regexp.Regexp {
	return regexp.MustCompile("^" + value.ReplaceAllStringFunc(string(k), func(word string) string {
		if word == "hash" {
			return "[A-Za-z0-9_-]{43}"
		}
		return "[a-z0-9][^#]*"
	}) + "$")
}

// documented returns the kinds of rows in doc.go.
func documented(t *testing.T) (kinds []rowKind) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^//\t(.*)$`).FindAllStringSubmatch(read(t, "doc.go"), -1) {
		fields := regexp.MustCompile(` {2,}`).Split(line[1], -1)
		kinds = append(kinds, rowKind(strings.Join(fields[:len(fields)-1], " / ")))
	}
	return kinds
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestKeys_Documented(t *testing.T) {
	t.Parallel()
	kinds := documented(t)
	built := make([]bool, len(kinds))
	patterns := make([]*regexp.Regexp, len(kinds))
	for i, kind := range kinds {
		patterns[i] = kind.pattern()
	}
	for builder, keys := range builtKeys() {
		for _, item := range keys {
			key, found := getText(item, "pk"), 0
			if sk := getText(item, "sk"); sk != "" {
				key += " / " + sk
			}
			for i, pattern := range patterns {
				if pattern.MatchString(key) {
					built[i], found = true, found+1
				}
			}
			if found != 1 {
				t.Errorf("%s builds %s, of %d kinds in doc.go", builder, key, found)
			}
		}
	}
	for i, kind := range kinds {
		if !built[i] {
			t.Errorf("no function of keys.go builds %s", kind)
		}
	}
}

func TestKeys_Diagram(t *testing.T) {
	t.Parallel()
	_, diagram, _ := strings.Cut(read(t, "../../../docs/architecture.md"), "## Tables and rows")
	diagram, _, _ = strings.Cut(diagram, "  s3[(")
	var drawn []rowKind
	for _, box := range regexp.MustCompile(`\["(.*) — .*"\]`).FindAllStringSubmatch(diagram, -1) {
		for part := range strings.SplitSeq(box[1], " and ") {
			pk, sks, sorted := strings.Cut(part, " / ")
			if !sorted {
				drawn = append(drawn, rowKind(pk))
				continue
			}
			for sk := range strings.SplitSeq(sks, ", ") {
				drawn = append(drawn, rowKind(pk+" / "+sk))
			}
		}
	}
	slices.Sort(drawn)
	if diff := cmp.Diff(slices.Sorted(slices.Values(documented(t))), drawn); diff != "" {
		t.Errorf("rows of doc.go (-) and of docs/architecture.md (+):\n%s", diff)
	}
}
