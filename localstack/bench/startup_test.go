package bench

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// startLimits are how many times longer than a bare aws-lambda-go binary a
// function may take from the start of its process to its first poll. dispatch
// loads libphonenumber's metadata, and dashboard reads its pages.
var startLimits = []struct {
	function string
	limit    float64
}{
	{"token", 2.5},
	{"dispatch", 10},
	{"campaigns", 2.5},
	{"release", 2.5},
	{"send", 2.5},
	{"sweep", 2.5},
	{"events", 2.5},
	{"outcomes", 2.5},
	{"notify", 2.5},
	{"revoke", 2.5},
	{"exports", 2.5},
	{"imports", 10},
	{"feed", 2.5},
	{"dashboard", 12},
}

// startRounds is how often every binary is started, in turn.
const startRounds = 15

// BenchmarkStart starts every function as far as its cold start is ours.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	bare := build(b, dir, "./localstack/bench/bare")
	for _, s := range startLimits {
		binary := build(b, dir, "./functions/"+s.function)
		var subjects, yardsticks []time.Duration
		for range startRounds {
			subjects, yardsticks = append(subjects, firstPoll(b, binary)), append(yardsticks, firstPoll(b, bare))
		}
		record(b, compared("start of "+s.function, newPair(subjects, yardsticks), s.limit,
			"process start to the first poll of the Runtime API, against a bare aws-lambda-go binary"))
	}
}

func build(b *testing.B, dir, pkg string) string {
	b.Helper()
	binary := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "lambda.norpc", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// firstPoll starts a function and returns how long it took to request its first event
// from the Runtime API.
func firstPoll(b *testing.B, binary string) time.Duration {
	b.Helper()
	polled := make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case polled <- time.Now():
		default:
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	cmd := exec.CommandContext(b.Context(), binary)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + server.Listener.Addr().String(), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "SIGNING_KEY_ID=x", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024",
	}
	start := time.Now()
	check(b, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	select {
	case at := <-polled:
		return at.Sub(start)
	case <-time.After(time.Minute):
		b.Fatalf("%s does not poll", binary)
		return 0
	}
}
