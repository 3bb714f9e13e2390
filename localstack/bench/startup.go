package main

import (
	"context"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	{"feed", 2.5},
	{"dashboard", 12},
}

// startRounds is how often every binary is started, in turn.
const startRounds = 15

// startFigures measures every function's cold start as far as it is ours.
func startFigures(ctx context.Context, _ benchKey, _ *mathrand.Rand) ([]figure, error) {
	dir, err := os.MkdirTemp("", "campaign-dispatch-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bare, err := build(ctx, dir, "./localstack/bench/bare")
	if err != nil {
		return nil, err
	}
	var figures []figure
	for _, s := range startLimits {
		binary, err := build(ctx, dir, "./functions/"+s.function)
		if err != nil {
			return nil, err
		}
		f, err := startFigure(ctx, s.function, binary, bare, s.limit)
		if err != nil {
			return nil, err
		}
		figures = append(figures, f)
	}
	return figures, nil
}

func build(ctx context.Context, dir, pkg string) (string, error) {
	binary := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", "lambda.norpc", "-o", binary, pkg) //nolint:gosec // our own packages
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

func startFigure(ctx context.Context, name, binary, bare string, limit float64) (figure, error) {
	var ours, theirs []time.Duration
	var ratios []float64
	for range startRounds {
		o, err := firstPoll(ctx, binary)
		if err != nil {
			return figure{}, fmt.Errorf("start %s: %w", name, err)
		}
		t, err := firstPoll(ctx, bare)
		if err != nil {
			return figure{}, fmt.Errorf("start the bare function: %w", err)
		}
		ours, theirs = append(ours, o), append(theirs, t)
		ratios = append(ratios, float64(o)/float64(t))
	}
	return compared("start of "+name, pair{median(ours), median(theirs), median(ratios)}, limit,
		"process start to the first poll of the Runtime API, against a bare aws-lambda-go binary"), nil
}

// firstPoll starts a function and returns how long it took to ask the Runtime
// API for its first event.
func firstPoll(ctx context.Context, binary string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	polled := make(chan time.Time, 1)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case polled <- time.Now():
		default:
		}
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String(), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "SIGNING_KEY_ID=x", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024",
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	select {
	case at := <-polled:
		return at.Sub(start), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("no poll: %w", ctx.Err())
	}
}
