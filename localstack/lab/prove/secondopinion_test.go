package prove

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/localstack/lab/ephemeralstack"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// storage are the packages whose tests read and write tables themselves.
func storage() []string {
	names := []string{
		"aws/dynamo", "control", "dashboard/...", "dispatch", "oauth", "outcome", "reach/optout", "query", "send", "send/release", "send/simulation",
		"settings", "sweep", "webhook",
	}
	for i, name := range names {
		names[i] = "./internal/" + name
	}
	return names
}

// A package that was moved would end the proof.
func TestStorage_Packages(t *testing.T) {
	t.Parallel()
	for _, name := range storage() {
		folder := "../../../" + strings.TrimSuffix(name, "/...")
		if tests, err := filepath.Glob(folder + "/*_test.go"); err != nil || len(tests) == 0 && !strings.HasSuffix(name, "/...") {
			t.Errorf("%s has no tests: %v", name, err)
		}
	}
}

// secondOpinion runs the tests of what is stored, and of all races, on Amazon's
// DynamoDB Local in the place of the emulator's tables.
func secondOpinion(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	table := dynamoDBLocal(ctx, t)
	check(t, copyTables(ctx, env, table))
	recordTests(ctx, t, withTables(t, env, table), "%d tests of storage and races on DynamoDB Local", storage())
	recordTests(ctx, t, env, "%d tests of numbers against Google's library", []string{"./internal/phone"})
	recordTests(ctx, t, env, "%d tests of a list of people: 300 races, 12 histories, and a death or a change at each call",
		[]string{"./internal/intake", "-run", "^Test.*_(Races|Histories|BetweenAnyTwoCalls|DeathAtAnyCall)$"})
	recordTests(ctx, t, env, "%d test of the figures of a file of 200,000 lines, on all pages", []string{"./internal/app/dashboard", "-run", "^TestPeopleAddUp$"})
}

// recordTests runs the tests of packages, with flags after them, and adds a line with their number.
func recordTests(ctx context.Context, t *testing.T, env stackenv.Env, what string, packagesAndFlags []string) {
	t.Helper()
	passed, failed, err := goTest(ctx, env, packagesAndFlags)
	check(t, err)
	record(t, len(failed) == 0 && passed > 0, fmt.Sprintf(what, passed+len(failed)),
		fmt.Sprintf("%d passed, %d failed\n%s", passed, len(failed), strings.Join(failed, "\n")))
}

// dynamoDBLocal starts DynamoDB Local, which Maven fetches once, and returns its
// address.
func dynamoDBLocal(ctx context.Context, t *testing.T) (address string) {
	t.Helper()
	const folder = "localstack/lab/prove/dynamodb"
	jars, err := filepath.Abs(".local/dynamodb-local")
	check(t, err)
	if _, err := os.Stat(filepath.Join(jars, "complete")); err != nil {
		if out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", folder+"/pom.xml", "dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput(); err != nil {
			t.Fatalf("fetch DynamoDB Local (Java 17 and Maven are needed): %v\n%s", err, out)
		}
		check(t, os.WriteFile(filepath.Join(jars, "complete"), nil, 0o600))
	}
	ports, err := ephemeralstack.Ports(ctx, 1)
	check(t, err)
	port := ports[0]
	cmd := exec.CommandContext(ctx, "java", "-Djava.library.path="+jars, "-cp", jars+"/*", folder+"/Loopback.java",
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port)
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	check(t, eventually(ctx, time.Minute, func() (bool, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		if err != nil {
			return false, err
		}
		return true, connection.Close()
	}))
	return "http://127.0.0.1:" + port
}

// copyTables copies the stack's tables with their rows to another address.
func copyTables(ctx context.Context, env stackenv.Env, address string) error {
	from := dynamodb.NewFromConfig(env.AWS())
	to := dynamodb.NewFromConfig(env.AWS(), func(o *dynamodb.Options) { o.BaseEndpoint = &address })
	for key, name := range env {
		if !strings.HasSuffix(key, "_TABLE") {
			continue
		}
		if err := stackenv.CopyShape(ctx, from, to, name, name); err != nil {
			return err
		}
		rows, err := from.Scan(ctx, &dynamodb.ScanInput{TableName: &name})
		if err != nil {
			return fmt.Errorf("read table %s: %w", name, err)
		}
		for _, row := range rows.Items {
			if _, err := to.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: row}); err != nil {
				return fmt.Errorf("copy table %s: %w", name, err)
			}
		}
	}
	return nil
}

// withTables returns a stack whose calls to DynamoDB go to another address.
func withTables(t *testing.T, env stackenv.Env, address string) stackenv.Env {
	t.Helper()
	tables, err := url.Parse(address)
	check(t, err)
	rest, err := url.Parse(env["AWS_ENDPOINT_URL"])
	check(t, err)
	toTables, toRest := httputil.NewSingleHostReverseProxy(tables), httputil.NewSingleHostReverseProxy(rest)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
			toTables.ServeHTTP(w, r)
			return
		}
		toRest.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	there := maps.Clone(env)
	there["AWS_ENDPOINT_URL"] = proxy.URL
	return there
}

// goTest runs the tests of packages on a stack, in the sizes of the proofs, and returns how many passed, and the
// names and output of those that failed.
func goTest(ctx context.Context, env stackenv.Env, packagesAndFlags []string) (passed int, failed []string, err error) {
	path := filepath.Join(".local", "prove-stack.env")
	if err := os.WriteFile(path, []byte(env.String()), 0o600); err != nil {
		return 0, nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json", "-count", "1", "-timeout", "30m"}, packagesAndFlags)...)
	cmd.Env = append(os.Environ(), stackenv.Variable+"="+path, testsize.Variable+"=1")
	if slices.Contains(packagesAndFlags, raced) {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1") // the race detector needs it
	}
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	ran := cmd.Run()
	passed, failed, err = countTests(&out)
	if ran != nil && len(failed) == 0 && err == nil {
		err = fmt.Errorf("run the tests: %w\n%s", ran, trouble.String())
	}
	return passed, failed, err
}

// countTests reads the events of `go test -json`. With a test that failed are the errors that its package
// logged: Go counts what concurrent tests log as the output of any of them.
func countTests(events io.Reader) (passed int, failed []string, err error) {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<20)
	output, logged, failures := map[string]string{}, map[string]string{}, [][2]string{}
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue
		}
		if strings.Contains(event.Output, " ERROR ") {
			logged[event.Package] += event.Output
		}
		name := event.Package + " " + event.Test
		switch output[name] += event.Output; {
		case event.Test == "":
		case event.Action == "pass":
			passed++
		case event.Action == "fail", event.Action == "skip":
			failures = append(failures, [2]string{event.Package, name})
		}
	}
	for _, f := range failures {
		failed = append(failed, f[1]+"\n"+output[f[1]]+logged[f[0]])
	}
	return passed, failed, lines.Err()
}

// The output of a failed test has the error that a page logged, whichever test Go takes for its origin.
func TestCountTests_LoggedErrors(t *testing.T) {
	t.Parallel()
	passed, failed, err := countTests(strings.NewReader(`
{"Action":"output","Package":"a","Test":"TestOther","Output":"2026/11/28 ERROR serving a page failed error=cut\n"}
{"Action":"output","Package":"a","Test":"TestPage","Output":"answers 500\n"}
{"Action":"output","Package":"b","Output":"2026/11/28 ERROR of another package\n"}
{"Action":"fail","Package":"a","Test":"TestPage"}
{"Action":"pass","Package":"a","Test":"TestOther"}
{"Action":"fail","Package":"a"}
`))
	want := "a TestPage\nanswers 500\n2026/11/28 ERROR serving a page failed error=cut\n"
	if err != nil || passed != 1 || len(failed) != 1 || failed[0] != want {
		t.Errorf("%d passed, failed %q (%v); want 1, and %q", passed, failed, err, want)
	}
}
