package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/drift"
)

// cloud answers as the API references of DynamoDB and Lambda say where a table goes back
// at most a day: the emulator knows no such window, and others use its functions.
type cloud struct {
	*httptest.Server

	mu    sync.Mutex
	asked []string
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
	switch operation {
	case "DescribeTable":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no such table"}`)
	case "DescribeContinuousBackups":
		fmt.Fprintf(w, `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":
			{"PointInTimeRecoveryStatus":"ENABLED","EarliestRestorableDateTime":%d,"LatestRestorableDateTime":%d}}}`,
			time.Now().Add(-24*time.Hour).Unix(), time.Now().Unix())
	case "RestoreTableToPointInTime":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"too many restores at once"}`)
	case "GET event-source-mappings":
		fmt.Fprint(w, `{"EventSourceMappings":[{"UUID":"m"}]}`)
	default:
		fmt.Fprint(w, "{}")
	}
}

func (a *cloud) run(t *testing.T, without string, arguments ...string) (code int, stderr string) {
	t.Helper()
	env := map[string]string{
		"AWS_ENDPOINT_URL": a.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AUTH_TABLE": "auth", "CAMPAIGNS_TABLE": "campaigns", calledByMake: "make",
	}
	for _, name := range []string{"TOKEN", "DISPATCH", "CAMPAIGNS", "DASHBOARD", "RELEASE", "SEND", "OUTCOMES", "NOTIFY", "REVOKE"} {
		if name != without {
			env[name+"_FUNCTION"] = strings.ToLower(name)
		}
	}
	var out, errors bytes.Buffer
	code = run(t.Context(), arguments, func(key string) string { return env[key] }, &out, &errors)
	return code, errors.String()
}

func TestARestoreThatCannotBeHoldsNothing(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	code, stderr := a.run(t, "", "restore", "--at", time.Now().Add(-48*time.Hour).Format(time.RFC3339))
	if code != exitFailed || !strings.Contains(stderr, "the table auth goes back to an instant from") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if diff := cmp.Diff([]string{"DescribeTable", "DescribeContinuousBackups"}, a.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARestoreThatFailsTellsThatTheServiceIsHeld(t *testing.T) {
	t.Parallel()
	code, stderr := newCloud(t).run(t, "", "restore", "--at", time.Now().Add(-time.Hour).Format(time.RFC3339))
	if code != exitFailed || !strings.Contains(stderr, "the service is held") || !strings.Contains(stderr, "`make reopen` and `make resume ALL=1`") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestAFunctionThatTheStackDoesNotTellIsNotPassedOver(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	for _, name := range []string{"TOKEN", "REVOKE"} {
		for _, command := range []string{"hold", "reopen"} {
			if code, stderr := a.run(t, name, command); code != exitFailed || !strings.Contains(stderr, "does not tell the names of all its functions") {
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

func TestHoldAndReopen(t *testing.T) {
	t.Parallel()
	a := newCloud(t)
	for command, want := range map[string]string{"hold": "PUT functions", "reopen": "DELETE functions"} {
		a.asked = nil
		code, stderr := a.run(t, "", command)
		counts := map[string]int{}
		for _, asked := range a.asked {
			counts[asked]++
		}
		if code != 0 || counts[want] != 4 || counts["PUT event-source-mappings"] != 5 {
			t.Errorf("%s: exit %d, %s, %v", command, code, stderr, counts)
		}
	}
}

func TestDriftThatIsKnownInPartIsToldAndFails(t *testing.T) {
	t.Parallel()
	gone := []drift.Difference{{Resource: "Queue", Expected: "a resource", Actual: "it is deleted"}}
	for name, c := range map[string]struct {
		found drift.Report
		want  string // the failure
		lines int
	}{
		"all is known":          {drift.Report{Checked: 2}, "<nil>", 1},
		"one is gone":           {drift.Report{Checked: 2, Differences: gone}, "1 resources are not as the template says", 2},
		"one could not be seen": {drift.Report{Checked: 1, Failed: "denied"}, "CloudFormation could not compare all resources: denied", 1},
		"both":                  {drift.Report{Checked: 1, Differences: gone, Failed: "denied"}, "1 resources are not as the template says\nCloudFormation could not compare all resources: denied", 2},
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
