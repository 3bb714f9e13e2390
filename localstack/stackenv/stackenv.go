// Package stackenv reads and writes stack.env, the addresses and keys of a running
// local stack.
package stackenv

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/localstack/httpjson"
)

// Variable is the environment variable with the path of stack.env.
const Variable = "STACK_ENV"

// Env holds the KEY=value lines of a stack.env file.
type Env map[string]string

// Get returns the value of a key, or "".
func (e Env) Get(key string) string { return e[key] }

// Load returns the stack.env that STACK_ENV names. It skips the test if STACK_ENV is
// not set. `make test` sets it and fails if a test is skipped.
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
	f, err := os.Open(path) //nolint:gosec // the developer sets the path
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

// String returns the contents of stack.env in shell syntax.
func (e Env) String() string {
	var b strings.Builder
	b.WriteString("# Addresses and keys of the local stack. `make down` deletes this file.\n")
	for _, key := range slices.Sorted(maps.Keys(e)) {
		value := e[key]
		if strings.ContainsAny(value, " $&;|<>*?#'\"\\`()~") {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(&b, "%s=%s\n", key, value)
	}
	return b.String()
}

// longestCall is longer than every function's timeout, because an Invoke call waits
// for the function.
const longestCall = 70 * time.Second

// AWS returns the configuration of AWS clients of the stack.
func (e Env) AWS() aws.Config {
	return aws.Config{
		Region:       e["AWS_REGION"],
		BaseEndpoint: aws.String(e["AWS_ENDPOINT_URL"]),
		Credentials: credentials.NewStaticCredentialsProvider(
			e["AWS_ACCESS_KEY_ID"], e["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient: config.HTTPClientFor(longestCall),
	}
}

// Token returns an access token of the demo tenant's credential. The service issues at
// most 10 tokens a minute.
func (e Env) Token(ctx context.Context) (string, error) {
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	status, err := httpjson.Call(ctx, http.DefaultClient, http.MethodPost, e["BASE_URL"]+"/api/v1/oauth/token", "", map[string]string{
		"grant_type": "client_credentials", "client_id": e["CLIENT_ID"], "client_secret": e["CLIENT_SECRET"],
	}, &answer)
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	if answer.AccessToken == "" {
		return "", fmt.Errorf("get a token: the service returned status %d", status)
	}
	return answer.AccessToken, nil
}
