package restore_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/operator/restore"
)

// The emulator restores a table to its current state and has no restore window. These
// answers follow the API references of DynamoDB and Lambda.

// answering imitates AWS with one answer per operation or path, and records the
// requested changes.
type answering struct {
	*httptest.Server

	mu      sync.Mutex
	changes []string
}

func answers(t *testing.T, known map[string]string) *answering {
	t.Helper()
	a := &answering{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := strings.TrimSuffix(r.Method+" "+r.URL.Path+"?"+r.URL.Query().Get("FunctionName"), "?")
		if target := r.Header.Get("X-Amz-Target"); target != "" {
			asked = strings.TrimPrefix(target, "DynamoDB_20120810.")
		}
		if r.Method == http.MethodPut || r.Method == http.MethodDelete {
			body, _ := io.ReadAll(r.Body)
			a.mu.Lock()
			a.changes = append(a.changes, strings.TrimSpace(asked+" "+string(body)))
			a.mu.Unlock()
			fmt.Fprint(w, "{}")
			return
		}
		answer, ok := known[asked]
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no such thing"}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *answering) tables() restore.Tables {
	return restore.Tables{Tick: time.Millisecond, Client: dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(a.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})}
}

func (a *answering) gate(callers, takers []string) restore.Maintenance {
	return restore.Maintenance{HTTPFunctions: callers, Consumers: takers, Client: lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(a.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})}
}

func TestCheck_Window(t *testing.T) {
	t.Parallel()
	first, last := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	backups := fmt.Sprintf(`{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":
		{"PointInTimeRecoveryStatus":"ENABLED","EarliestRestorableDateTime":%d,"LatestRestorableDateTime":%d}}}`, first.Unix(), last.Unix())
	const off = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`
	for name, c := range map[string]struct {
		at      time.Time
		answers map[string]string
		want    string // part of the message, "" for no error
	}{
		"the first instant":         {first, map[string]string{"DescribeContinuousBackups": backups}, ""},
		"the last instant":          {last, map[string]string{"DescribeContinuousBackups": backups}, ""},
		"before it":                 {first.Add(-time.Second), map[string]string{"DescribeContinuousBackups": backups}, "2026-11-01T00:00:00Z to 2026-11-20T00:00:00Z"},
		"after it":                  {last.Add(time.Second), map[string]string{"DescribeContinuousBackups": backups}, "2026-11-01T00:00:00Z to 2026-11-20T00:00:00Z"},
		"recovery is off":           {last, map[string]string{"DescribeContinuousBackups": off}, "is disabled"},
		"it was restored to before": {first.Add(-time.Second), map[string]string{"DescribeContinuousBackups": backups, "DescribeTable": `{"Table":{}}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := answers(t, c.answers).tables().Check(t.Context(), "t", c.at)
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

const mappings = "GET /2015-03-31/event-source-mappings?"

func TestMaintenance_EnterAndExit(t *testing.T) {
	t.Parallel()
	aws := answers(t, map[string]string{mappings + "send:live": `{"EventSourceMappings":[{"UUID":"m1"}]}`})
	if err := aws.gate([]string{"token"}, []string{"send"}).Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`PUT /2017-10-31/functions/token/concurrency {"ReservedConcurrentExecutions":0}`,
		`PUT /2015-03-31/event-source-mappings/m1 {"Enabled":false}`,
	}
	if diff := cmp.Diff(want, aws.changes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A partial hold would let the service write to tables that are about to be replaced.
func TestMaintenance_AllOrNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ callers, takers []string }{
		"a caller without a name":       {[]string{"token", ""}, []string{"send"}},
		"a taker without a name":        {[]string{"token"}, []string{"send", ""}},
		"a taker that no queue calls":   {[]string{"token"}, []string{"send", "notify"}},
		"a taker that two queues call":  {[]string{"token"}, []string{"send", "release"}},
		"a taker that is not there any": {[]string{"token"}, []string{"send", "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			aws := answers(t, map[string]string{
				mappings + "send:live":    `{"EventSourceMappings":[{"UUID":"m1"}]}`,
				mappings + "notify:live":  `{"EventSourceMappings":[]}`,
				mappings + "release:live": `{"EventSourceMappings":[{"UUID":"m2"},{"UUID":"m3"}]}`,
			})
			gate := aws.gate(c.callers, c.takers)
			if gate.Enter(t.Context()) == nil || gate.Exit(t.Context()) == nil || len(aws.changes) > 0 {
				t.Errorf("changes %v, want none", aws.changes)
			}
		})
	}
}
