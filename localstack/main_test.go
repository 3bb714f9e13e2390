package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/runner"
	"campaign-dispatch/localstack/stackenv"
)

func TestSummary_Dashboard(t *testing.T) {
	t.Parallel()
	env := stackenv.Env{
		"DASHBOARD_URL": "http://127.0.0.1:3000/dashboard", "DASHBOARD_EMAIL": "ana@shop.example",
		"DASHBOARD_VIEWER_EMAIL": "vera@shop.example", "DASHBOARD_PASSWORD": "open-sesame", "BASE_URL": "http://127.0.0.1:3000",
	}
	text := strings.Join(strings.Fields(summaryOf(t, env)), " ")
	for _, want := range []string{
		"dashboard http://127.0.0.1:3000/dashboard ", "sign in as ana@shop.example ", "or vera@shop.example ", "password open-sesame ",
		"service http://127.0.0.1:3000 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary does not contain %q:\n%s", want, text)
		}
	}
}

// summaryOf returns the printed summary of a stack.
func summaryOf(t *testing.T, env stackenv.Env) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC) }
	summary(runner.Stack{Log: progress.New(out, now), Dir: ".local"}, env)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParse_SamHost(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{
		"host.docker.internal": true, "172.17.0.1": true, "[::1]": true,
		"": false, "two words": false, "a:3000": false, "a/b": false, "http://a": false,
	} {
		o, err := parse([]string{"--sam-host", host, "sam-env"})
		if (err == nil) != ok || ok && o.samHost != host {
			t.Errorf("parse --sam-host %q: got %q, %v", host, o.samHost, err)
		}
	}
}
