package demo

import (
	"crypto/rand"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
)

// demoEnv is the stack with a credential of the test's own: the seeded one may
// get only so many tokens a minute.
func demoEnv(t *testing.T) stackenv.Env {
	t.Helper()
	env := maps.Clone(stackenv.Load(t))
	secret := rand.Text()
	sum := sha256.Sum256([]byte(secret))
	c := campaign.Credential{
		ClientID: "rcs_" + rand.Text(), Tenant: env["TENANT"], Name: "demo", SecretHash: sum[:],
		Scope: campaign.ScopeDispatch, CreatedAt: time.Now(),
	}
	auth := dynamo.NewAuthStore(newWatcher(env, time.Now).store.Tables)
	if err := auth.SaveCredential(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	env["CLIENT_ID"], env["CLIENT_SECRET"] = c.ClientID, secret
	return env
}

func TestRunSaysWhereARefusedFileIsWrong(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "a.csv", "phone,uid,nome\n11987650001,1,Ana\n11987650002,2,Bia\n")
	c, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := Demo{Env: demoEnv(t), File: file, Now: time.Now, Log: progress.New(out, time.Now)}
	const want = "line 2 has no pedido, which the template needs: add a column or variable pedido (and 1 more)"
	if err := d.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestRunFollowsACampaignToItsEnd(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "a.csv", strings.Join([]string{
		"phone,uid,nome,pedido",
		"+5511987650001,1,Ana,BR-1",
		"11987650002,2,Bia,BR-2",
		"+5511900000001,3,Cid,BR-3", // never reached
		"12345,4,Davi,BR-4",
	}, "\n"))
	d := Demo{Env: demoEnv(t), File: file, Now: time.Now, Log: progress.New(out, time.Now)}
	c, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`rejected "12345"`, "3 accepted, 1 rejected", "the provider accepted 2 messages, 1 failed", "failed: 1 × ",
		"  balance: 3 accepted = 1 failed + 2 ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing in what it wrote:\n%s", want, text)
		}
	}
	told := regexp.MustCompile(`(\d+) changes, (\d+) webhooks received`).FindStringSubmatch(string(text))
	if len(told) == 0 || told[1] != told[2] {
		t.Errorf("no line says that there came a webhook for each change:\n%s", text)
	}
}
