package stackenv_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/localstack/stackenv"
)

func TestRead_ShellSyntax(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stack.env")
	text := "# where it is\n\nA=1\nB='two words'\nC=\"3\"\nD=x=y\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := stackenv.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want := stackenv.Env{"A": "1", "B": "two words", "C": "3", "D": "x=y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
}

func TestStackEnv_Keys(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	for _, key := range []string{
		"BASE_URL", "TENANT", "OTHER_TENANT", "CLIENT_ID", "CLIENT_SECRET", "REVOKED_CLIENT_ID", "REVOKED_CLIENT_SECRET",
		"EXPIRED_ACCESS_TOKEN", "NO_SCOPE_ACCESS_TOKEN", "EXPIRED_REFRESH_TOKEN", "TEMPLATE_ID", "TEMPLATE_ID_PLAIN", "TEMPLATE_ID_CAROUSEL",
		"OTHER_CLIENT_ID", "OTHER_CLIENT_SECRET", "OTHER_TEMPLATE_ID", "RCS_URL", "WEBHOOK_SINK_URL", "WEBHOOK_SECRET",
		"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "STACK_NAME",
		"AUTH_TABLE", "CAMPAIGNS_TABLE", "BUCKET", "RELEASE_QUEUE_URL", "SEND_QUEUE_URL", "RELEASE_DEAD_LETTERS_URL",
		"SEND_DEAD_LETTERS_URL", "SIGNING_KEY_ID", "SCHEDULE_GROUP", "TOKEN_FUNCTION", "DISPATCH_FUNCTION",
		"CAMPAIGNS_FUNCTION", "RELEASE_FUNCTION", "SEND_FUNCTION", "SWEEP_FUNCTION", "FEED_FUNCTION",
		"OUTCOMES_TABLE", "WEBHOOKS_TABLE", "FEED_DEAD_LETTERS_URL",
	} {
		if env[key] == "" {
			t.Errorf("%s is missing", key)
		}
	}
}

// The stack is not reachable from other machines.
func TestStackEnv_LoopbackOnly(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"BASE_URL", "RCS_URL", "WEBHOOK_SINK_URL", "AWS_ENDPOINT_URL"} {
		at, err := url.Parse(env[key])
		if err != nil {
			t.Fatal(err)
		}
		if at.Hostname() != "127.0.0.1" {
			t.Errorf("%s has host %s, want 127.0.0.1", key, at.Hostname())
		}
		for _, address := range addresses {
			network, ok := address.(*net.IPNet)
			if !ok || network.IP.IsLoopback() || network.IP.IsLinkLocalUnicast() {
				continue
			}
			dialer := net.Dialer{Timeout: time.Second}
			connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(network.IP.String(), at.Port()))
			if err == nil {
				_ = connection.Close()
				t.Errorf("%s also listens on %s", key, network.IP)
			}
		}
	}
}
