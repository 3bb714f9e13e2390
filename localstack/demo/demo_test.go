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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/localstack/progress"
	"campaign-dispatch/localstack/stackenv"
)

// demoEnv returns the stack.env with a new credential: the seeded credential has a
// limit of tokens a minute, which other tests use up.
func demoEnv(t *testing.T) stackenv.Env {
	t.Helper()
	env := maps.Clone(stackenv.Load(t))
	secret := rand.Text()
	sum := sha256.Sum256([]byte(secret))
	c := account.Credential{
		ClientID: "rcs_" + rand.Text(), Tenant: env["TENANT"], Name: "demo", SecretHash: sum[:],
		Scope: account.ScopeDispatch, CreatedAt: time.Now(),
	}
	auth := dynamo.NewAuthStore(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now))
	if err := auth.CreateCredential(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	env["CLIENT_ID"], env["CLIENT_SECRET"] = c.ClientID, secret
	return env
}

func TestRun_InvalidFile(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "a.csv", "phone,uid,nome\n11987650001,1,Ana\n11987650002,2,Bia\n")
	c, err := ReadFile(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	d := Demo{Env: demoEnv(t), File: file, Now: time.Now, Log: progress.New(out, time.Now)}
	const want = "line 2 has no variable pedido, which the template requires: add a column or variable pedido (and 1 more)"
	if err := d.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
}

func TestRun_MixedOutcomes(t *testing.T) {
	t.Parallel()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, "a.csv", strings.Join([]string{
		"phone,uid,nome,pedido",
		"+5511987650001,1,Ana,BR-1",
		"11987650002,2,Bia,BR-2",
		"+5511900000001,3,Cid,BR-3", // unreachable
		"12345,4,Davi,BR-4",
	}, "\n"))
	d := Demo{Env: demoEnv(t), File: file, Now: time.Now, Log: progress.New(out, time.Now)}
	c, err := ReadFile(t.Context(), file)
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
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the output does not contain %q:\n%s", want, text)
		}
	}
	// The last message may be delivered and not yet read.
	if !regexp.MustCompile(`  balance: 3 accepted = (1 failed \+ 2 (delivered|read)|1 delivered \+ 1 failed \+ 1 read)\n`).Match(text) {
		t.Errorf("the output has no balance with 1 failed message and 2 delivered ones:\n%s", text)
	}
	counts := regexp.MustCompile(`(\d+) changes, (\d+) webhooks received`).FindStringSubmatch(string(text))
	if len(counts) == 0 || counts[1] != counts[2] {
		t.Errorf("the output has no line with one webhook for each change:\n%s", text)
	}
}
