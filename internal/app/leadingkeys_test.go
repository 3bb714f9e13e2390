package app_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rowActions are the actions on rows. DynamoDB checks the prefixes of their partition keys; of a transaction it checks each
// item, with the action of the item.
var rowActions = []string{
	"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem",
	"dynamodb:ConditionCheckItem", "dynamodb:BatchWriteItem", "dynamodb:Scan", "dynamodb:Partiql*", "dynamodb:*",
}

// Reasons for statements without prefixes.
const (
	digests = "the key of a batch's results is a digest, without a prefix"
	shards  = "the partition keys of the index are numbers of shards"
	tenants = "the partition keys of the index are tenants, and tenants with a prefix for the batches that wait"
)

// withoutPrefixes are the statements on rows that no prefix can limit.
var withoutPrefixes = map[string]string{
	"SendRole.RecordNewOutcomes":          digests,
	"OutcomesRole.RecordNewOutcomes":      digests,
	"RevokeRole.ReadAndRecordNewOutcomes": digests,
	"SweepRole.RecordNewOutcomes":         digests,
	"CampaignsRole.ReadOutcomes":          digests,
	"ExportsRole.ReadOutcomes":            digests,
	"DashboardRole.ReadOutcomes":          digests,
	"SweepRole.FindUnfinished":            shards + "; " + tenants,
	"SweepRole.FindNotices":               shards,
	"DashboardRole.ListCampaigns":         tenants,
}

func TestTemplate_RowsByPrefix(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, r := range resources(t) {
		if r.Type != "AWS::IAM::Role" || name == "ScheduleRole" || name == "BackupRole" {
			continue
		}
		for _, g := range grants(t, name) {
			if !slices.ContainsFunc(texts(g.Actions), func(action string) bool { return slices.Contains(rowActions, action) }) {
				continue
			}
			statement := name + "." + g.Sid
			found[statement] = true
			if excepted := withoutPrefixes[statement] != ""; excepted == (len(g.Condition.Keys.Leading) > 0) {
				t.Errorf("%s has the prefixes %q, and is an exception: %v", statement, g.Condition.Keys.Leading, excepted)
			}
			for _, prefix := range g.Condition.Keys.Leading {
				if !keyPrefixes(t)[prefix] {
					t.Errorf("%s has the prefix %s, which no row of internal/aws/dynamo/doc.go has", statement, prefix)
				}
			}
		}
	}
	for statement := range withoutPrefixes {
		if !found[statement] {
			t.Errorf("%s is an exception, and no statement on rows", statement)
		}
	}
	if len(found) < len(withoutPrefixes)+10 {
		t.Errorf("%d statements on rows, want more", len(found))
	}
}

// No two prefixes of a role's statement overlap: the narrower one would have no effect.
func TestTemplate_PrefixesOverlap(t *testing.T) {
	t.Parallel()
	for name, r := range resources(t) {
		if r.Type != "AWS::IAM::Role" || name == "ScheduleRole" || name == "BackupRole" {
			continue
		}
		for _, g := range grants(t, name) {
			for i, one := range g.Condition.Keys.Leading {
				for j, other := range g.Condition.Keys.Leading {
					if i != j && strings.HasPrefix(one, strings.TrimSuffix(other, "*")) {
						t.Errorf("%s.%s has the prefix %s within %s", name, g.Sid, one, other)
					}
				}
			}
		}
	}
}

// keyPrefixes are the prefixes of partition keys: the keys of doc.go up to their first value, with a star, and those without a
// value. "DEAD#*" and "PARKED#*" are those of an index.
func keyPrefixes(t *testing.T) map[string]bool {
	t.Helper()
	prefixes := map[string]bool{"DEAD#*": true, "PARKED#*": true, "PAUSE#campaigns#*": true}
	for _, row := range regexp.MustCompile(`(?m)^//\t([A-Z]+)(#?)`).FindAllStringSubmatch(read(t, "internal/aws/dynamo/doc.go"), -1) {
		prefixes[row[1]+row[2]+strings.Repeat("*", len(row[2]))] = true
	}
	if len(prefixes) < 30 {
		t.Fatalf("doc.go has the prefixes %q, want more", slices.Sorted(maps.Keys(prefixes)))
	}
	return prefixes
}

// docs/architecture.md names the functions that could read the secrets of webhook endpoints, which are below TEN#tenant, and
// have no use for them. notify signs with them, and dashboard shows a new one.
func TestArchitecturePage_ReadersOfSecrets(t *testing.T) {
	t.Parallel()
	var readers []string
	for name := range functions(t) {
		reads := slices.ContainsFunc(grants(t, roleOf(name)), func(g grant) bool {
			read := slices.ContainsFunc(texts(g.Actions), func(action string) bool {
				return slices.Contains([]string{"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"}, action)
			})
			return read && slices.Contains(g.Condition.Keys.Leading, "TEN#*")
		})
		if reads && name != "notify" && name != "dashboard" {
			readers = append(readers, name)
		}
	}
	row := regexp.MustCompile(`(?m)^\| (.+) \| reads the tenant, .* \| read the secrets`).FindStringSubmatch(read(t, "docs/architecture.md"))
	if row == nil {
		t.Fatal("docs/architecture.md has no row of these functions")
	}
	named := strings.Split(row[1], ", ")
	slices.Sort(named)
	slices.Sort(readers)
	if !slices.Equal(named, readers) {
		t.Errorf("docs/architecture.md names %q, the roles of %q read such rows", named, readers)
	}
}
