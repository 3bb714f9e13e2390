package stacktemplate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deployed runs the deployment of an environment of samconfig.toml with a sam that
// only says what it is called with.
func deployed(t *testing.T, samconfig string) (arguments []string) {
	t.Helper()
	out, err := deploy(t, samconfig)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(out), "\n")
}

// deploy runs it with more variables of the environment. The check of signing keys says
// what it is called with too, and allows key A alone.
func deploy(t *testing.T, samconfig string, env ...string) (out string, err error) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import tomllib").Run(); err != nil {
		t.Fatal("this needs Python 3.11 or later on the PATH")
	}
	folder := t.TempDir()
	for path, content := range map[string]string{
		"samconfig.toml":               samconfig,
		".aws-sam/build/template.yaml": "Parameters: {Release: {Default: \"0000000000\"}}\n",
		"sam":                          "#!/bin/sh\nprintf '%s\\n' \"$@\"\n",
		"bin/admin":                    "#!/bin/sh\necho \"checked: $*\"\ntest \"$5\" = A\n",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs(root + "localstack/tools/deploy.py")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "python3", script, filepath.Join(folder, "sam"), "production")
	command.Dir, command.Env = folder, append(os.Environ(), env...)
	said, err := command.CombinedOutput()
	return string(said), err
}

// A key that is not published yet must not sign, and one whose tokens are valid must
// not go.
func TestChangesOfSigningKeysAreCheckedBeforeADeployment(t *testing.T) {
	t.Parallel()
	const change = `"SigningKeys=AtoB", "SigningKeysSwitchAt=2026-11-20T15:00:00Z"`
	const checked = "checked: rotate-signing-keys --stack campaign-dispatch --keys "
	for name, c := range map[string]struct {
		parameters, env string
		checked         string
		deployed        bool
	}{
		"no key is named":      {"", "", "", true},
		"one that is allowed":  {`"SigningKeys=A"`, "", checked + "A --switch-at", true},
		"one that is not":      {change, "", checked + "AtoB --switch-at 2026-11-20T15:00:00Z", false},
		"in quotes":            {`"SigningKeys=\"B\""`, "", checked + "B --switch-at", false},
		"tokens are to end":    {change, "END_TOKENS=1", "", true},
		"END_TOKENS is not 1":  {change, "END_TOKENS=", checked + "AtoB", false},
		"the instant is alone": {`"SigningKeysSwitchAt=2026-11-20T15:00:00Z"`, "", checked + " --switch-at 2026", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			samconfig := "[production.deploy.parameters]\nstack_name = \"campaign-dispatch\"\nparameter_overrides = [" + c.parameters + "]\n"
			out, err := deploy(t, samconfig, strings.Fields(c.env)...)
			if (err == nil) != c.deployed || strings.Contains(out, "--parameter-overrides\n") != c.deployed {
				t.Errorf("deployed %v, want %v:\n%s", err == nil, c.deployed, out)
			}
			if !strings.Contains(out, c.checked) || strings.Contains(out, "checked") != (c.checked != "") {
				t.Errorf("checked otherwise than %q:\n%s", c.checked, out)
			}
		})
	}
}

// What samconfig.toml does not name is told as well: CloudFormation would keep it, and
// the service would stay on restored tables.
func TestSamconfigAloneTellsWhichTablesStandIn(t *testing.T) {
	t.Parallel()
	samconfig, err := os.ReadFile(root + "samconfig.toml")
	if err != nil {
		t.Fatal(err)
	}
	own := deployed(t, string(samconfig))
	for _, want := range []string{`RestoredAuthTable=""`, `RestoredCampaignsTable=""`, "Environment=production"} {
		if !slices.Contains(own, want) {
			t.Errorf("%s is missing in %v", want, own)
		}
	}
	restored := deployed(t, "[production.deploy.parameters]\nparameter_overrides = [\"RestoredAuthTable=t-at-1\"]\n")
	if !slices.Contains(restored, "RestoredAuthTable=t-at-1") || slices.Contains(restored, `RestoredAuthTable=""`) {
		t.Errorf("a table that is named is not taken: %v", restored)
	}
}

// A deployment that was taken back leaves its versions behind. Lambda makes no second
// version of the same, so each deployment has to differ, in its functions too.
func TestTheSameIsDeployedAgain(t *testing.T) {
	t.Parallel()
	const samconfig = "[production.deploy.parameters]\nparameter_overrides = []\n"
	once, again := deployed(t, samconfig), deployed(t, samconfig)
	if release := once[len(once)-1]; !strings.HasPrefix(release, "Release=") || release == again[len(again)-1] {
		t.Errorf("both are deployed as %s", release)
	}
	variables := member(member(section(t, "Globals")["Function"], "Environment"), "Variables")
	if got := value(member(variables, "RELEASE")); got != "!Ref Release" {
		t.Errorf("functions know their release as %q, want !Ref Release: Lambda makes no new version of one that did not change", got)
	}
}
