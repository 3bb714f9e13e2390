package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deploy runs the deployment of production with a sam that notes what it is called
// with, and ends with the status. It returns the arguments of each call of sam.
func (a *account) deploy(t *testing.T, samconfig string, status string) (calls [][]string, ok bool) {
	t.Helper()
	folder := t.TempDir()
	for path, content := range map[string]string{
		"samconfig.toml":               samconfig,
		".aws-sam/build/template.yaml": "Parameters: {Release: {Default: \"0000000000\"}}\n",
		"sam":                          "#!/bin/sh\n{ printf '%s\\n' \"$@\"; echo; } >>calls\nexit " + status + "\n",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := a.command(t, "deploy.py", filepath.Join(folder, "sam"), "production")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	noted, readErr := os.ReadFile(filepath.Join(folder, "calls"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	for call := range strings.SplitSeq(strings.TrimSpace(string(noted)), "\n\n") {
		calls = append(calls, strings.Split(call, "\n"))
	}
	return calls, err == nil
}

const production = "[production.deploy.parameters]\nstack_name = \"s\"\nregion = \"us-east-1\"\nparameter_overrides = "

// CloudFormation keeps the value of a parameter that is not named: the service
// would stay on restored tables.
func TestDeploy_NamesTheTables(t *testing.T) {
	t.Parallel()
	samconfig, err := os.ReadFile(filepath.Join("..", "..", "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	existing := &account{stack: "UPDATE_COMPLETE"}
	calls, _ := existing.deploy(t, string(samconfig), "0")
	for _, want := range []string{`RestoredAuthTable=""`, `RestoredCampaignsTable=""`, "DeletionProtection=true", "Environment=production"} {
		if len(calls) != 1 || !slices.Contains(calls[0], want) {
			t.Errorf("%s is missing in %v", want, calls)
		}
	}
	calls, _ = existing.deploy(t, production+`["RestoredAuthTable=t-at-1"]`, "0")
	if !slices.Contains(calls[0], "RestoredAuthTable=t-at-1") || slices.Contains(calls[0], `RestoredAuthTable=""`) {
		t.Errorf("a table that is named is not taken: %v", calls)
	}
}

// A deployment that was taken back leaves its versions behind, and Lambda makes no
// second version of the same.
func TestDeploy_MakesAReleaseOfTheSame(t *testing.T) {
	t.Parallel()
	existing := &account{stack: "UPDATE_COMPLETE"}
	release := func() string {
		calls, _ := existing.deploy(t, production+"[]", "0")
		i := slices.IndexFunc(calls[0], func(argument string) bool { return strings.HasPrefix(argument, "Release=") })
		if i < 0 {
			t.Fatalf("no release in %v", calls)
		}
		return calls[0][i]
	}
	if once, again := release(), release(); once == again {
		t.Errorf("both are deployed as %s", once)
	}
}

// A first creation that fails has to leave nothing that CloudFormation cannot delete.
func TestDeploy_ForTheFirstTime(t *testing.T) {
	t.Parallel()
	fresh := &account{}
	calls, ok := fresh.deploy(t, production+"[]", "0")
	if len(calls) != 2 || !ok {
		t.Fatalf("sam was called with %v, want two calls", calls)
	}
	if first := calls[0]; !slices.Contains(first, "DeletionProtection=false") || slices.Contains(first, "DeletionProtection=true") || !slices.Contains(first, "DELETE") {
		t.Errorf("the first call is protected, or leaves a failed stack: %v", first)
	}
	if second := calls[1]; !slices.Contains(second, "DeletionProtection=true") || slices.Contains(second, "DeletionProtection=false") {
		t.Errorf("the second call does not protect: %v", second)
	}
	calls, ok = fresh.deploy(t, production+"[]", "1")
	if len(calls) != 1 || ok {
		t.Errorf("after a failure sam was called with %v, and the deployment succeeded: %v", calls, ok)
	}
}

// command runs a program of this folder with the account in AWS's place.
func (a *account) command(t *testing.T, script string, arguments ...string) *exec.Cmd {
	t.Helper()
	python, err := filepath.Abs("../../.local/venv/bin/python")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		t.Skip("this test needs the Python of the local stack: run it by `make test`")
	}
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{path}, arguments...)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+a.serve(t), "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true")
	return cmd
}
