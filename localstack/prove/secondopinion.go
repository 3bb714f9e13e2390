package main

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
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/localstack/ownstack"
	"campaign-dispatch/localstack/stackenv"
)

// storage are the packages whose tests read and write tables themselves.
func storage() []string {
	names := []string{
		"admin", "aws/dynamo", "control", "dashboard/...", "dispatch", "oauth", "outcome", "privacy/optout", "query", "reconcile", "release",
		"send", "webhook",
	}
	for i, name := range names {
		names[i] = "./internal/" + name
	}
	return names
}

// secondOpinion runs the tests of what is stored, and of all races, on Amazon's
// DynamoDB Local in the place of the emulator's tables.
func secondOpinion(ctx context.Context, env stackenv.Env) ([]result, error) {
	table, stop, err := dynamoDBLocal(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := copyTables(ctx, env, table); err != nil {
		return nil, err
	}
	there, closeProxy, err := withTables(ctx, env, table)
	if err != nil {
		return nil, err
	}
	defer closeProxy()
	passed, failed, err := goTest(ctx, there, storage())
	return []result{{
		Part: "second-opinion", What: fmt.Sprintf("%d tests of storage and races on DynamoDB Local", passed+len(failed)),
		Figure: fmt.Sprintf("%d passed, %d failed\n%s", passed, len(failed), strings.Join(failed, "\n")), Kept: err == nil && len(failed) == 0 && passed > 0,
	}}, err
}

// dynamoDBLocal starts DynamoDB Local, which Maven fetches once, and returns its
// address and what stops it.
func dynamoDBLocal(ctx context.Context) (address string, stop func(), err error) {
	const folder = "localstack/prove/dynamodb"
	jars, err := filepath.Abs(".local/dynamodb-local")
	if err != nil {
		return "", nil, err
	}
	if _, err := os.Stat(filepath.Join(jars, "complete")); err != nil {
		if out, err := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", folder+"/pom.xml", "dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput(); err != nil { //nolint:gosec // our own file
			return "", nil, fmt.Errorf("fetch DynamoDB Local (Java 17 and Maven are needed): %w\n%s", err, out)
		}
		if err := os.WriteFile(filepath.Join(jars, "complete"), nil, 0o600); err != nil {
			return "", nil, err
		}
	}
	ports, err := ownstack.Ports(ctx, 1)
	if err != nil {
		return "", nil, err
	}
	port := ports[0]
	cmd := exec.CommandContext(ctx, "java", "-Djava.library.path="+jars, "-cp", jars+"/*", folder+"/Loopback.java", //nolint:gosec // our own file
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port)
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start DynamoDB Local (Java 17 is needed): %w", err)
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	address = "http://127.0.0.1:" + port
	if err := listens(ctx, "127.0.0.1:"+port); err != nil {
		stop()
		return "", nil, fmt.Errorf("wait for DynamoDB Local: %w", err)
	}
	return address, stop, nil
}

// listens waits until somebody listens at the address.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// copyTables makes the stack's tables, with what is in them, at another address.
func copyTables(ctx context.Context, env stackenv.Env, address string) error {
	from := dynamodb.NewFromConfig(env.AWS())
	to := dynamodb.NewFromConfig(env.AWS(), func(o *dynamodb.Options) { o.BaseEndpoint = &address })
	for _, name := range []string{env["AUTH_TABLE"], env["CAMPAIGNS_TABLE"]} {
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

// withTables returns a stack whose calls of DynamoDB go to another address.
func withTables(ctx context.Context, env stackenv.Env, address string) (stackenv.Env, func(), error) {
	tables, err := url.Parse(address)
	if err != nil {
		return nil, nil, err
	}
	rest, err := url.Parse(env["AWS_ENDPOINT_URL"])
	if err != nil {
		return nil, nil, err
	}
	toTables, toRest := httputil.NewSingleHostReverseProxy(tables), httputil.NewSingleHostReverseProxy(rest) //nolint:gosec // the local stack
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
			toTables.ServeHTTP(w, r)
			return
		}
		toRest.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(l) }()
	there := maps.Clone(env)
	there["AWS_ENDPOINT_URL"] = "http://" + l.Addr().String()
	return there, func() { _ = server.Close() }, nil
}

// goTest runs the tests of packages on a stack, and returns how many passed and the
// names of those that failed.
func goTest(ctx context.Context, env stackenv.Env, packages []string) (passed int, failed []string, err error) {
	path := filepath.Join(".local", "prove-stack.env")
	if err := os.WriteFile(path, []byte(env.String()), 0o600); err != nil { //nolint:gosec // always the same file
		return 0, nil, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-json", "-count", "1", "-timeout", "30m"}, packages)...) //nolint:gosec // our own packages
	cmd.Env = append(os.Environ(), stackenv.Variable+"="+path)
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	ran := cmd.Run()
	passed, failed, err = countTests(&out)
	if ran != nil && len(failed) == 0 && err == nil {
		err = fmt.Errorf("run the tests: %w\n%s", ran, trouble.String())
	}
	return passed, failed, err
}

// countTests reads the events of `go test -json`.
func countTests(events io.Reader) (passed int, failed []string, err error) {
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test string }
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		switch event.Action {
		case "pass":
			passed++
		case "fail", "skip":
			failed = append(failed, event.Package+" "+event.Test)
		}
	}
	return passed, failed, lines.Err()
}
