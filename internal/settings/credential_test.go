package settings_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/settings"
)

func sum(secret string) []byte {
	s := sha256.Sum256([]byte(secret))
	return s[:]
}

func TestCredential_Lifecycle(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	issued, err := b.CreateCredential(ctx, b.tenant, "crm", "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(issued.ClientID, "rcs_") || len(issued.ClientID) != 36 || len(issued.Secret) != 43 {
		t.Errorf("client id %q, secret of %d characters", issued.ClientID, len(issued.Secret))
	}
	want := account.Credential{
		ClientID: issued.ClientID, Tenant: b.tenant, Name: "crm", SecretHash: sum(issued.Secret), Scope: account.ScopeDispatch, CreatedAt: now,
	}
	b.holds(t, want)

	rotated, err := b.RotateCredential(ctx, issued.ClientID, time.Hour)
	if err != nil || rotated.Secret == issued.Secret || !rotated.PreviousUntil.Equal(now.Add(time.Hour)) {
		t.Fatalf("rotated %+v, %v", rotated, err)
	}
	want.PreviousSecretHash, want.SecretHash, want.PreviousUntil = want.SecretHash, sum(rotated.Secret), now.Add(time.Hour)
	b.holds(t, want)

	for range 2 { // revoking again changes nothing
		if err := b.RevokeCredential(ctx, issued.ClientID); err != nil {
			t.Fatal(err)
		}
	}
	want.RevokedAt = now
	b.holds(t, want)

	_, err = b.RotateCredential(ctx, issued.ClientID, 0)
	refused(t, err, "active credential")
	b.holds(t, want)
}

func (b bench) holds(t *testing.T, want account.Credential) {
	t.Helper()
	got, err := b.auth.Credentials(t.Context(), b.tenant)
	if diff := cmp.Diff([]account.Credential{want}, got); diff != "" || err != nil {
		t.Errorf("credentials %v (-want +got):\n%s", err, diff)
	}
}

func TestCreateCredential_Unique(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, err := b.CreateCredential(t.Context(), b.tenant, "a", "")
	if err != nil {
		t.Fatal(err)
	}
	second, err := b.CreateCredential(t.Context(), b.tenant, "a", "")
	if err != nil || first.ClientID == second.ClientID || first.Secret == second.Secret {
		t.Errorf("two credentials share something: %s, %s, %v", first.ClientID, second.ClientID, err)
	}
}

func TestCreateCredential_Scopes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for want, scopes := range map[string][]string{
		"campaigns:dispatch":           nil,
		"templates":                    {"templates"},
		"campaigns:dispatch templates": {"templates", "campaigns:dispatch", "templates"},
	} {
		issued, err := b.CreateCredential(t.Context(), b.tenant, "a", "", scopes...)
		if err != nil || issued.Scope != want {
			t.Errorf("%q: scope %q, %v; want %q", scopes, issued.Scope, err, want)
		}
	}
	_, err := b.CreateCredential(t.Context(), b.tenant, "a", "", "templates", "everything")
	refused(t, err, `unknown scope "everything": use campaigns:dispatch or templates`)
}

func TestCredential_Refused(t *testing.T) {
	t.Parallel()
	b, ctx := newBench(t), t.Context()
	issued, err := b.CreateCredential(ctx, b.tenant, "crm", "")
	if err != nil {
		t.Fatal(err)
	}
	create := func(tenant, name string) func() error {
		return func() error { _, err := b.CreateCredential(ctx, tenant, name, ""); return err }
	}
	rotate := func(id string, keep time.Duration) func() error {
		return func() error { _, err := b.RotateCredential(ctx, id, keep); return err }
	}
	for name, test := range map[string]struct {
		act  func() error
		says string
	}{
		"tenant":          {create(randomID(), "n"), "does not exist"},
		"no name":         {create(b.tenant, ""), "blank"},
		"rotate nobody":   {rotate("rcs_"+randomID(), 0), "active credential"},
		"rotate no id":    {rotate("CRED#x", 0), "rcs_"},
		"keep below zero": {rotate(issued.ClientID, -time.Second), "cannot stay valid"},
		"keep too long":   {rotate(issued.ClientID, settings.MaxKeep+time.Second), "cannot stay valid"},
		"revoke nobody":   {func() error { return b.RevokeCredential(ctx, "rcs_"+randomID()) }, "active credential"},
		"revoke no id":    {func() error { return b.RevokeCredential(ctx, "") }, "rcs_"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, test.act(), test.says, issued.Secret)
		})
	}
}
