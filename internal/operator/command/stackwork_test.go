package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/operator/drift"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/localstack/stackenv"
)

// cloud imitates DynamoDB and Lambda as their API references describe them, for a table
// that can be restored to the last day at most. The emulator has no such limit, and its
// functions are in use by other tests.
type cloud struct {
	*httptest.Server

	tables http.Handler      // nil without tables
	env    map[string]string // additional environment of commands
	mu     sync.Mutex
	asked  []string
	stdout string // output of the last command
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	a := &cloud{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810.")
	if operation == "" {
		operation = r.Method + " " + strings.Split(r.URL.Path, "/")[2]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, operation)
	switch {
	case a.tables != nil && r.Header.Get("X-Amz-Target") != "":
		a.tables.ServeHTTP(w, r)
	case operation == "DescribeTable":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no such table"}`)
	case operation == "DescribeContinuousBackups":
		fmt.Fprintf(w, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":
			{"PointInTimeRecoveryStatus":"ENABLED","EarliestRestorableDateTime":%d,"LatestRestorableDateTime":%d}}}`,
			time.Now().Add(-24*time.Hour).Unix(), time.Now().Unix())
	case operation == "RestoreTableToPointInTime":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"too many restores at once"}`)
	case operation == "GET event-source-mappings":
		fmt.Fprint(w, `{"EventSourceMappings":[{"UUID":"m"}]}`)
	default:
		fmt.Fprint(w, "{}")
	}
}

// run runs a command on a stack without one of its functions, or with all if without is
// "".
func (a *cloud) run(t *testing.T, without string, arguments ...string) (code int, stderr string) {
	t.Helper()
	env := map[string]string{
		"AWS_ENDPOINT_URL": a.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AUTH_TABLE": "auth", "CAMPAIGNS_TABLE": "campaigns", "OUTCOMES_TABLE": "outcomes", "WEBHOOKS_TABLE": "webhooks", calledByMake: "make",
	}
	maps.Copy(env, a.env)
	for _, name := range []string{"TOKEN", "DISPATCH", "CAMPAIGNS", "DASHBOARD", "RELEASE", "SEND", "OUTCOMES", "NOTIFY", "REVOKE", "EXPORTS", "INTAKE"} {
		if name != without {
			env[name+"_FUNCTION"] = strings.ToLower(name)
		}
	}
	var out, errors bytes.Buffer
	code = run(t.Context(), arguments, func(key string) string { return env[key] }, &out, &errors)
	a.stdout = out.String()
	return code, errors.String()
}

func TestRestore_Impossible(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	code, stderr := a.run(t, "", "restore", "--at", time.Now().Add(-48*time.Hour).Format(time.RFC3339))
	if code != exitFailed || !strings.Contains(stderr, "the table auth can be restored only to a time from") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if diff := cmp.Diff([]string{"DescribeTable", "DescribeContinuousBackups"}, a.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRestore_Fails(t *testing.T) {
	t.Parallel()
	code, stderr := newCloud(t).run(t, "", "restore", "--at", time.Now().Add(-time.Hour).Format(time.RFC3339))
	if code != exitFailed || !strings.Contains(stderr, "the service is stopped") || !strings.Contains(stderr, "`make reopen` and `make resume ALL=1`") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestHold_UnknownFunction(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	for _, name := range []string{"TOKEN", "REVOKE", "INTAKE"} {
		for _, command := range []string{"hold", "reopen"} {
			if code, stderr := a.run(t, name, command); code != exitFailed || !strings.Contains(stderr, "outputs lack function names") {
				t.Errorf("%s without %s: exit %d, %s", command, name, code, stderr)
			}
		}
	}
	for _, asked := range a.asked {
		if strings.Contains(asked, "functions") || asked == "PUT event-source-mappings" {
			t.Errorf("it asked for %s", asked)
		}
	}
}

func TestHold_Reopen(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	for command, want := range map[string]string{"hold": "PUT functions", "reopen": "DELETE functions"} {
		a.asked = nil
		code, stderr := a.run(t, "", command)
		counts := map[string]int{}
		for _, asked := range a.asked {
			counts[asked]++
		}
		if code != 0 || counts[want] != 4 || counts["PUT event-source-mappings"] != len(queues()) {
			t.Errorf("%s: exit %d, %s, %v", command, code, stderr, counts)
		}
	}
}

// The opt-outs after the point are kept, and the lists that changed after it are named. The emulator restores a table
// to its current state, so the restore starts before the changes.
func TestRestore_OptOutsAndLists(t *testing.T) {
	t.Parallel()
	env, a := stackenv.Load(t), newCloud(t)
	emulator, err := url.Parse(env["AWS_ENDPOINT_URL"])
	if err != nil {
		t.Fatal(err)
	}
	a.tables, a.env = httputil.NewSingleHostReverseProxy(emulator), maps.Clone(env)
	own := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env.OwnTable(t, env["AUTH_TABLE"]), Campaigns: env.OwnTable(t, env["CAMPAIGNS_TABLE"]),
		Outcomes: env.OwnTable(t, env["OUTCOMES_TABLE"]), Webhooks: env.OwnTable(t, env["WEBHOOKS_TABLE"]), Now: time.Now,
	})
	maps.Copy(a.env, map[string]string{
		"AWS_ENDPOINT_URL": a.URL, "AUTH_TABLE": own.Tables().Auth, "CAMPAIGNS_TABLE": own.Tables().Campaigns, "OUTCOMES_TABLE": own.Tables().Outcomes, "WEBHOOKS_TABLE": own.Tables().Webhooks,
	})
	if err := own.SaveTenant(t.Context(), campaign.Tenant{ID: "acme", AgentID: "agent"}, nil); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Truncate(time.Second)
	restored := dynamotest.New(dynamo.Tables{Client: own.Tables().Client, Auth: restore.Name(own.Tables().Auth, at), Campaigns: restore.Name(own.Tables().Campaigns, at), Now: time.Now})
	for _, source := range []string{own.Tables().Auth, own.Tables().Campaigns, own.Tables().Outcomes, own.Tables().Webhooks} {
		target := restore.Name(source, at)
		if err := (restore.Tables{Client: own.Tables().Client}).Begin(t.Context(), source, at); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = own.Tables().Client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &target})
		})
	}
	if _, err := own.KeepOptOuts(t.Context(), "acme", campaign.OptOuts{Version: 7, Packed: []byte("since"), Recent: []byte("since")}); err != nil {
		t.Fatal(err)
	}
	if _, err := own.AddList(t.Context(), lists.List{Tenant: "acme", Name: "since", Number: 1}, 0, account.AuditEntry{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if code, stderr := a.run(t, "", "restore", "--at", at.Format(time.RFC3339)); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	kept, err := restored.OptOuts(t.Context(), "acme")
	if err != nil || len(kept) != 1 || kept[0].Version != 7 {
		t.Errorf("the restored table has the opt-outs %v, %v", kept, err)
	}
	for _, want := range []string{
		"RestoredAuthTable=" + restored.Tables().Auth, "RestoredCampaignsTable=" + restored.Tables().Campaigns,
		"RestoredOutcomesTable=" + restore.Name(own.Tables().Outcomes, at), "RestoredWebhooksTable=" + restore.Name(own.Tables().Webhooks, at),
		":table/" + restore.Name(own.Tables().Outcomes, at) + "/stream/", "make replay-webhooks SINCE=" + at.Add(-time.Hour).Format(time.RFC3339),
		"list acme/since changed after that time",
	} {
		if !strings.Contains(a.stdout, want) {
			t.Errorf("it does not say %s:\n%s", want, a.stdout)
		}
	}
	for name, store := range map[string]*dynamotest.Store{"own": own, "restored": restored} {
		if pauses, err := store.Pauses(t.Context()); err != nil || len(pauses) != 1 {
			t.Errorf("on the %s tables %v is paused, %v", name, pauses, err)
		}
	}
}

func TestDrift_Partial(t *testing.T) {
	t.Parallel()
	gone := []drift.Difference{{Resource: "Queue", Expected: "a resource", Actual: "deleted"}}
	for name, c := range map[string]struct {
		found drift.Report
		want  string // the failure
		lines int
	}{
		"all is known":          {drift.Report{Checked: 2}, "<nil>", 1},
		"one is gone":           {drift.Report{Checked: 2, Differences: gone}, "1 resources differ from the template", 2},
		"one could not be seen": {drift.Report{Checked: 1, Failed: "denied"}, "CloudFormation could not compare all resources: denied", 1},
		"both":                  {drift.Report{Checked: 1, Differences: gone, Failed: "denied"}, "1 resources differ from the template\nCloudFormation could not compare all resources: denied", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := driftAnswer(c.found)
			if fmt.Sprint(got.Failure) != c.want || len(got.Lines) != c.lines {
				t.Errorf("%d lines, %v", len(got.Lines), got.Failure)
			}
		})
	}
}
