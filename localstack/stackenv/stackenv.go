// Package stackenv tells tests and local commands where the running stack is.
package stackenv

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/config"
)

// Variable is the environment variable that names the stack's file.
const Variable = "STACK_ENV"

// Env holds the KEY=value lines of a stack.env file.
type Env map[string]string

// Get returns a value, "" where there is none.
func (e Env) Get(key string) string { return e[key] }

// Load returns the stack that the environment variable STACK_ENV names, and
// skips the test where none is named. `make test` names one, and fails where a
// test is skipped.
func Load(tb testing.TB) Env {
	tb.Helper()
	path := os.Getenv(Variable)
	if path == "" {
		tb.Skip("this test needs the local stack: run `make test`, or set STACK_ENV to the stack.env of a running stack")
	}
	env, err := Read(path)
	if err != nil {
		tb.Fatalf("read the stack's addresses: %v", err)
	}
	return env
}

// Read reads a stack.env file.
func Read(path string) (Env, error) {
	f, err := os.Open(path) //nolint:gosec // the path is the developer's own
	if err != nil {
		return nil, fmt.Errorf("open stack.env: %w", err)
	}
	defer func() { _ = f.Close() }()
	env := Env{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), "=")
		if ok && !strings.HasPrefix(key, "#") {
			env[key] = strings.Trim(value, `'"`)
		}
	}
	return env, lines.Err()
}

// String returns the environment as Read and the shell read it.
func (e Env) String() string {
	var b strings.Builder
	b.WriteString("# Where everything of the local stack is. It goes with the stack.\n")
	for _, key := range slices.Sorted(maps.Keys(e)) {
		value := e[key]
		if strings.ContainsAny(value, " $&;|<>*?#'\"\\`()~") {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(&b, "%s=%s\n", key, value)
	}
	return b.String()
}

// longestCall is longer than any function runs, for a call may wait for one.
const longestCall = 70 * time.Second

// AWS returns the configuration of AWS clients that talk to the stack.
func (e Env) AWS() aws.Config {
	return aws.Config{
		Region:       e["AWS_REGION"],
		BaseEndpoint: aws.String(e["AWS_ENDPOINT_URL"]),
		Credentials: credentials.NewStaticCredentialsProvider(
			e["AWS_ACCESS_KEY_ID"], e["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient: config.HTTPClientFor(longestCall),
	}
}
