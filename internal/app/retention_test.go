package app_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/rollout"
)

const day = 24 * time.Hour

// objectLives are the lives of what is on S3.
var objectLives = map[string]time.Duration{
	"payloads/": campaign.Retention, "errors/": campaign.ErrorFileLife, "events/": campaign.EventLife,
	"answers/": campaign.AnswerFileLife,
	"exports/": export.Life, submission.WorkPrefix: submission.DraftLife, submission.PartsPrefix: campaign.Retention,
}

func TestTemplate_BucketLifecycle(t *testing.T) {
	t.Parallel()
	lives := map[string]time.Duration{}
	for _, rule := range resources(t)["Bucket"].Properties.Lifecycle.Rules {
		if rule.Days > 0 {
			lives[rule.Prefix] = time.Duration(rule.Days) * day
		}
	}
	if diff := cmp.Diff(objectLives, lives); diff != "" {
		t.Errorf("the code and template.yaml differ (-code +template):\n%s", diff)
	}
}

func TestTemplate_MediaLifecycle(t *testing.T) {
	t.Parallel()
	lives := map[string]time.Duration{}
	for _, rule := range resources(t)["MediaBucket"].Properties.Lifecycle.Rules {
		lives[rule.Prefix] = max(lives[rule.Prefix], time.Duration(max(rule.Days, rule.Abort.Days))*day)
	}
	want := map[string]time.Duration{"uploads/": campaign.UploadLife, "": day} // "" is for parts that were not completed
	if diff := cmp.Diff(want, lives); diff != "" {
		t.Errorf("the code and template.yaml differ (-code +template):\n%s", diff)
	}
}

func TestTemplate_TableTTL(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"AuthTable", "CampaignsTable", "OutcomesTable", "WebhooksTable"} {
		ttl := resources(t)[table].Properties.TTL
		if ttl.Attribute != dynamo.TTL || !ttl.Enabled {
			t.Errorf("%s: %+v, want %s enabled", table, ttl, dynamo.TTL)
		}
	}
}

// The table of docs/privacy.md lists the retention of all data.
func TestPrivacyPage_Retention(t *testing.T) {
	t.Parallel()
	pool := resources(t)["UserPoolClient"].Properties
	want := []string{
		period(campaign.Retention) + " from its acceptance",                   // payloads
		period(campaign.Retention) + " from its acceptance",                   // rows
		period(campaign.Retention) + " from the acceptance of its last batch", // a campaign
		period(campaign.Retention) + " from the acceptance of its last batch", // its results
		period(campaign.ErrorFileLife), period(campaign.EventLife), period(campaign.EventLife) + " from the reply",
		"until an admin decides, or the number opts out or in; " + period(campaign.EventLife) + " from the reply at most", period(campaign.OptOutLogLife) + " from the opt-out", period(campaign.EventLife),
		period(campaign.AnswerLife), period(campaign.AnswerFileLife),
		period(submission.ClosedLife) + " after the file's " + period(submission.Life) + ", the draft's " + period(submission.DraftLife) + " or the waves' " + period(rollout.MaxDuration) + ", and after the campaign's time; 60 days after it with a request for approval",
		period(submission.Life) + "; a draft, " + period(submission.DraftLife) + " from the last change; in waves, " + period(rollout.MaxDuration) + " from the first; with a request for approval, until " + period(submission.RequestLife) + " after its campaign's time, but the uploaded file in `work/` never longer than 30 days",
		period(campaign.Retention) + " from the check of the file", // parts that are not accepted any more
		period(export.Life) + " from its completion",
		period(campaign.UploadLife), "until an admin deletes them",
		period(campaign.Retention) + " from the first failure", period(campaign.FailureLife), period(campaign.KeptPostLife), period(campaign.PostsLife), period(campaign.BudgetLife) + " from the first day of the month", period(campaign.DayLife) + " from the day", period(campaign.AuditLife),
		"until they are resumed, cancelled or expire; the end of a pause, 5 minutes", period(campaign.FormLife),
		period(campaign.RefreshLife), period(campaign.LastUseLife) + " from then", period(campaign.SessionEndLife), period(campaign.RateLife) + " from the last call",
		period(time.Duration(pool.RefreshTokenValidity) * time.Minute), period(web.NoticeLife),
		period(longestQueue(t)),
		logLife(t, "production") + " days in production, " + logLife(t, "staging") + " in staging (`LogRetentionDays` in `samconfig.toml`)",
		"35 days",         // what AWS keeps for restoring a table to a point in time
		"at most 30 days", // files for lists, by the lifecycle of work/
		period(book.UnusedLife) + " after they are removed, the list is deleted, or the change failed",
		"as long as the tenant exists", // names of lists
		"as long as the tenant exists",
	}
	if diff := cmp.Diff(want, retentionTable(t)); diff != "" {
		t.Errorf("docs/privacy.md differs (-code +page):\n%s", diff)
	}
}

// The end of a person's sessions is remembered until no session that it makes void is
// left: the last renewal comes when the sign-in may just still be renewed.
func TestSessionEndLife(t *testing.T) {
	t.Parallel()
	renewed := time.Duration(resources(t)["UserPoolClient"].Properties.RefreshTokenValidity) * time.Minute
	if renewed != web.RenewalLife {
		t.Errorf("a session is renewed for %v by the template, and for %v by the code", renewed, web.RenewalLife)
	}
	if last := renewed + web.SessionLife; campaign.SessionEndLife < last+time.Hour {
		t.Errorf("the end of sessions is remembered for %v, and they last %v", campaign.SessionEndLife, last)
	}
}

// period returns a duration in the words of the documentation.
func period(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}} {
		switch n := d / unit.is; {
		case n == 1 && d%unit.is == 0:
			return "1 " + unit.name
		case n > 1 && d%unit.is == 0:
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}

// retentionTable returns the third column of the table in docs/privacy.md.
func retentionTable(t *testing.T) (column []string) {
	t.Helper()
	_, section, _ := strings.Cut(read(t, "docs/privacy.md"), "\n## How long data is kept\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range strings.Lines(section) {
		if cells := strings.Split(strings.Trim(line, "|\n"), "|"); len(cells) == 4 {
			column = append(column, strings.TrimSpace(cells[2]))
		}
	}
	if len(column) < 2 {
		t.Fatal("docs/privacy.md has no table of how long data is kept")
	}
	return column[2:] // the head and its rule
}

func longestQueue(t *testing.T) (longest time.Duration) {
	t.Helper()
	for _, r := range resources(t) {
		longest = max(longest, time.Duration(r.Properties.MessageRetentionPeriod)*time.Second)
	}
	return longest
}

// logLife returns how long an environment keeps its logs, by samconfig.toml.
func logLife(t *testing.T, environment string) string {
	t.Helper()
	_, own, _ := strings.Cut(read(t, "samconfig.toml"), "\n["+environment+".deploy.parameters]")
	days := regexp.MustCompile(`"LogRetentionDays=(\d+)"`).FindStringSubmatch(own)
	if days == nil {
		t.Fatalf("samconfig.toml has no LogRetentionDays of %s", environment)
	}
	return days[1]
}

// The API's document and the pages state the actual retention.
func TestTexts_Retention(t *testing.T) {
	t.Parallel()
	for path, sayings := range map[string]map[string]time.Duration{
		"internal/httpapi/openapi/openapi.json": {
			`uids of this batch were deleted: they are kept for (\d+ days)`: campaign.Retention,
			`were deleted after (\d+ days)`:                                 campaign.Retention, `batch is older than (\d+ days)`: campaign.Retention, `is deleted (\d+ days) after`: campaign.Retention,
			`[Ff]iles are kept for (\d+ days)`: campaign.ErrorFileLife, `or is older than (\d+ days)`: campaign.ErrorFileLife,
			`For (\d+ hours), the same key`: campaign.AnswerLife, `[Vv]alid (?:for )?(\d+ days)`: campaign.RefreshLife,
		},
		"internal/query/contents.go":   {`kept for (\d+ days)`: campaign.Retention},
		"internal/query/error_file.go": {`kept for (\d+ days)`: campaign.ErrorFileLife},
		"internal/dashboard/campaigns/texts.json": {
			`kept for (\d+ days)`: campaign.Retention, `por (\d+ dias)`: campaign.Retention,
			`shown for (\d+ days)`: campaign.EventLife, `respostas ficam (\d+ dias)`: campaign.EventLife,
		},
		"internal/dashboard/people/texts.json": {`last (\d+ days)`: campaign.EventLife, `últimos (\d+ dias)`: campaign.EventLife},
		"internal/dashboard/audit/texts.json":  {`last (\d+ days)`: campaign.AuditLife, `últimos (\d+ dias)`: campaign.AuditLife},
		"internal/dashboard/webhooks/texts.json": {
			`failed attempt for (\d+ days)`: campaign.FailureLife, `failures for (\d+ days)`: campaign.FailureLife,
			`com falha por (\d+ dias)`: campaign.FailureLife, `as falhas por (\d+ dias)`: campaign.FailureLife,
			`sample for (\d+ days)`: campaign.KeptPostLife, `amostra por (\d+ dias)`: campaign.KeptPostLife,
		},
		"internal/privacy/expiry/expiry.go": {`deletes campaigns (\d+ days)`: campaign.Retention},
		"docs/api.md": {
			`file of rejected numbers, for (\d+ days)`: campaign.ErrorFileLife, `first answer again, for (\d+ hours)`: campaign.AnswerLife,
			`Refresh tokens are valid for (\d+ days)`: campaign.RefreshLife,
		},
		"internal/dashboard/apidocs/portuguese.json": {
			`depois de (\d+ dias)\.`: campaign.Retention, `apagad[oa] (\d+ dias) depois`: campaign.Retention, `tem mais de (\d+ dias)"`: campaign.Retention,
			`mantidos por (\d+ dias)`: campaign.ErrorFileLife, `ou tem mais de (\d+ dias)`: campaign.ErrorFileLife,
			`Por (\d+ horas), a mesma chave`: campaign.AnswerLife, `vale (\d+ dias)`: campaign.RefreshLife,
		},
		"docs/privacy.md": {`on S3, for (\d+ days)`: campaign.Retention},
	} {
		for saying, life := range sayings {
			checkSaying(t, path, saying, life)
		}
	}
}

func checkSaying(t *testing.T, path, saying string, life time.Duration) {
	t.Helper()
	found := regexp.MustCompile(saying).FindAllStringSubmatch(read(t, path), -1)
	if len(found) == 0 {
		t.Errorf("%s does not say %q", path, saying)
	}
	for _, match := range found {
		said := strings.NewReplacer("dias", "days", "24 hours", "1 day", "24 horas", "1 day", "horas", "hours").Replace(match[1])
		if said != period(life) {
			t.Errorf("%s: %q, but it is %s", path, match[0], period(life))
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
