package tools_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deployment is a run of deploy.py, for production unless environment says otherwise, with fakes of sam and bin/admin that
// record their arguments.
type deployment struct {
	samconfig   string
	environment string
	env         []string
	samFails    bool
	declined    bool       // declines the changeset: sam succeeds and nothing changes
	sam         [][]string // arguments of each call
	check       string     // region and arguments of the signing-key check, which allows key A only
	output      string
}

// run runs deploy.py and reports whether it succeeded.
func (d *deployment) run(t *testing.T, a *account) bool {
	t.Helper()
	status := "0"
	if d.samFails {
		status = "1"
	}
	folder := t.TempDir()
	for path, content := range map[string]string{
		"samconfig.toml":               d.samconfig,
		".aws-sam/build/template.yaml": "Parameters: {Release: {Default: \"0000000000\"}}\n",
		"sam":                          "#!/bin/sh\n{ printf '%s\\n' \"$@\"; echo; } >>calls\nexit " + status + "\n",
		"bin/admin":                    "#!/bin/sh\necho \"$AWS_REGION $AWS_ACCESS_KEY_ID $*\" >checked\ntest \"$5\" = A\n",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if !d.declined {
		a.mu.Lock()
		a.deployedBy = filepath.Join(folder, "calls")
		a.mu.Unlock()
	}
	cmd := a.command(t, "deploy.py", filepath.Join(folder, "sam"), cmp.Or(d.environment, "production"))
	cmd.Dir, cmd.Env = folder, append(cmd.Env, d.env...)
	out, err := cmd.CombinedOutput()
	d.output = string(out)
	d.check = recorded(t, filepath.Join(folder, "checked"))
	if calls := recorded(t, filepath.Join(folder, "calls")); calls != "" {
		for call := range strings.SplitSeq(calls, "\n\n") {
			d.sam = append(d.sam, strings.Split(call, "\n"))
		}
	}
	return err == nil
}

// recorded returns the file that a fake wrote, or "" if it did not run.
func recorded(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

const production = "[production.deploy.parameters]\nstack_name = \"s\"\nregion = \"us-east-1\"\nparameter_overrides = "

// CloudFormation keeps the deployed value of an omitted parameter: the service would
// keep using restored tables.
func TestDeploy_RestoredTables(t *testing.T) {
	t.Parallel()
	samconfig, err := os.ReadFile(filepath.Join("..", "..", "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	existing, own := &account{stack: "UPDATE_COMPLETE"}, deployment{samconfig: string(samconfig)}
	own.run(t, existing)
	for _, want := range []string{`RestoredAuthTable=""`, `RestoredCampaignsTable=""`, `RestoredOutcomesTable=""`, `RestoredOutcomesStream=""`, `RestoredWebhooksTable=""`, "DeletionProtection=true", "Environment=production"} {
		if len(own.sam) != 1 || !slices.Contains(own.sam[0], want) {
			t.Errorf("sam was called with %v, want %s in it", own.sam, want)
		}
	}
	restored := deployment{samconfig: production + `["RestoredAuthTable=t-at-1"]`}
	if !restored.run(t, existing) || !slices.Contains(restored.sam[0], "RestoredAuthTable=t-at-1") || slices.Contains(restored.sam[0], `RestoredAuthTable=""`) {
		t.Errorf("sam was called with %v, want the table of samconfig.toml", restored.sam)
	}
}

// A rolled-back deployment leaves its versions, and Lambda publishes no second version
// of the same code.
func TestDeploy_NewRelease(t *testing.T) {
	t.Parallel()
	existing := &account{stack: "UPDATE_COMPLETE"}
	release := func() string {
		d := deployment{samconfig: production + "[]"}
		if !d.run(t, existing) {
			t.Fatal("the deployment failed")
		}
		i := slices.IndexFunc(d.sam[0], func(argument string) bool { return strings.HasPrefix(argument, "Release=") })
		if i < 0 {
			t.Fatalf("sam was called with %v, want a Release", d.sam)
		}
		return d.sam[0][i]
	}
	if once, again := release(), release(); once == again {
		t.Errorf("both deployments have Release %s", once)
	}
}

// A failed creation must leave no resource that CloudFormation cannot delete.
func TestDeploy_NewStack(t *testing.T) {
	t.Parallel()
	fresh := &account{stackAfter: 2, stack: "CREATE_COMPLETE"}
	twice := deployment{samconfig: production + "[]"}
	if !twice.run(t, fresh) || len(twice.sam) != 2 {
		t.Fatalf("sam was called with %v, want two calls", twice.sam)
	}
	if first := twice.sam[0]; !slices.Contains(first, "DeletionProtection=false") || slices.Contains(first, "DeletionProtection=true") || !slices.Contains(first, "DELETE") {
		t.Errorf("the first call enables the protection or keeps a failed stack: %v", first)
	}
	if second := twice.sam[1]; !slices.Contains(second, "DeletionProtection=true") || slices.Contains(second, "DeletionProtection=false") ||
		!slices.Contains(second, "--no-confirm-changeset") {
		t.Errorf("the second call does not enable the protection: %v", second)
	}
	declined := deployment{samconfig: production + `["SigningKeys=B"]`}
	if declined.run(t, &account{stack: "REVIEW_IN_PROGRESS"}) || len(declined.sam) != 1 || declined.check != "" {
		t.Errorf("after a declined changeset: sam was called with %v, signing keys checked with %q, want one call and no check", declined.sam, declined.check)
	}
	failed := deployment{samconfig: production + "[]", samFails: true}
	if failed.run(t, &account{}) || len(failed.sam) != 1 {
		t.Errorf("after a failure sam was called with %v, want one call", failed.sam)
	}
}

// An unpublished key must not sign, and a key with valid tokens must not be removed.
func TestDeploy_SigningKeys(t *testing.T) {
	t.Parallel()
	const change = `"SigningKeys=AtoB", "SigningKeysSwitchAt=2026-11-20T15:00:00Z"`
	const checked = "us-east-1 of-a-profile rotate-signing-keys --stack s --keys "
	for name, c := range map[string]struct {
		parameters, env string
		check           string
		deployed        bool
	}{
		"no key is named":     {"", "", "", true},
		"allowed":             {`"SigningKeys=A"`, "", checked + "A --switch-at", true},
		"not allowed":         {change, "", checked + "AtoB --switch-at 2026-11-20T15:00:00Z", false},
		"in quotes":           {`"SigningKeys=\"B\""`, "", checked + "B --switch-at", false},
		"tokens are to end":   {change, "END_TOKENS=1", "", true},
		"END_TOKENS is not 1": {change, "END_TOKENS=", checked + "AtoB", false},
		"switch time only":    {`"SigningKeysSwitchAt=2026-11-20T15:00:00Z"`, "", checked + " --switch-at 2026", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment{samconfig: production + "[" + c.parameters + "]", env: append(profile(t), strings.Fields(c.env)...)}
			if ok := d.run(t, &account{stack: "UPDATE_COMPLETE"}); ok != c.deployed || (len(d.sam) > 0) != c.deployed {
				t.Errorf("deployed %v, want %v: %v", ok, c.deployed, d.sam)
			}
			if !strings.HasPrefix(d.check, c.check) || (d.check != "") != (c.check != "") {
				t.Errorf("checked by %q, want %q", d.check, c.check)
			}
		})
	}
}

// sam exits with 0 after a declined changeset.
func TestDeploy_DeclinedChangeset(t *testing.T) {
	t.Parallel()
	d := deployment{samconfig: production + "[]", declined: true}
	if d.run(t, &account{stack: "UPDATE_COMPLETE", parameters: map[string]string{"DeletionProtection": "true", "Release": "0123456789"}}) ||
		!strings.Contains(d.output, "declined") {
		t.Errorf("the deployment succeeded or printed another error: %s", d.output)
	}
}

// The stack of production is protected against deletion, once, unless samconfig.toml leaves its tables unprotected too.
func TestDeploy_TerminationProtection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		environment, parameters string
		before, want            bool
		calls                   int
	}{
		"production":                  {"production", "", false, true, 1},
		"production, protected":       {"production", "", true, true, 0},
		"production, to be destroyed": {"production", `"DeletionProtection=false"`, false, false, 0},
		"staging":                     {"staging", "", false, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &account{stack: "UPDATE_COMPLETE", protected: tt.before}
			d := deployment{samconfig: strings.Replace(production, "production", tt.environment, 1) + "[" + tt.parameters + "]", environment: tt.environment}
			if !d.run(t, a) {
				t.Fatalf("the deployment failed: %s", d.output)
			}
			calls := slices.DeleteFunc(a.calls, func(call string) bool { return call != "UpdateTerminationProtection" })
			if a.protected != tt.want || len(calls) != tt.calls {
				t.Errorf("protected: %v after %d calls, want %v and %d", a.protected, len(calls), tt.want, tt.calls)
			}
		})
	}
}

// A complete stack can have routes without a function.
func TestDeploy_APIStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{200: true, 302: true, 404: true, 500: false, 503: false} {
		d := deployment{samconfig: production + "[]"}
		if ok := d.run(t, &account{stack: "UPDATE_COMPLETE", api: status}); ok != want {
			t.Errorf("API status %d: succeeded %v, want %v: %s", status, ok, want, d.output)
		}
	}
}

// profile returns environment variables with credentials of a profile only.
func profile(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(path, []byte("[ana]\naws_access_key_id = of-a-profile\naws_secret_access_key = test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"AWS_PROFILE=ana", "AWS_SHARED_CREDENTIALS_FILE=" + path, "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="}
}

// command returns a command that runs a script of this folder against the account.
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
