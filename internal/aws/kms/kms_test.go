package kms_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/localstack/stackenv"
)

const issuer = "https://api.example.com"

// stack returns the configuration and the signing key of the stack.
func stack(t *testing.T) (aws.Config, string) {
	t.Helper()
	env := stackenv.Load(t)
	return env.AWS(), env["SIGNING_KEY_ID"]
}

func newSigner(cfg aws.Config, id string) *kms.Signer {
	return kms.New(cfg, id, "", time.Time{}, time.Now)
}

func createKey(t *testing.T, cfg aws.Config, spec types.KeySpec) string {
	t.Helper()
	out, err := awskms.NewFromConfig(cfg).CreateKey(t.Context(), &awskms.CreateKeyInput{KeySpec: spec, KeyUsage: types.KeyUsageTypeSignVerify})
	if err != nil {
		t.Fatal(err)
	}
	return *out.KeyMetadata.KeyId
}

func TestSign(t *testing.T) {
	t.Parallel()
	cfg, id := stack(t)
	s := newSigner(cfg, id)
	claims := accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1", Scope: "campaigns:dispatch"}
	i := accesstoken.Issuer{Signer: s, Now: time.Now}
	for range 20 { // one signature in 128 has a short number
		token, err := i.Issue(t.Context(), issuer, claims)
		if err != nil {
			t.Fatal(err)
		}
		v := accesstoken.Verifier{Keys: s, Now: time.Now}
		got, err := v.Verify(t.Context(), token, issuer)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(claims, got); diff != "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	}
}

// rotation replaces a key at noon, with a test clock.
type rotation struct {
	t      *testing.T
	signer *kms.Signer
	now    time.Time
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newRotation(t *testing.T) *rotation {
	t.Helper()
	cfg, previous := stack(t)
	r := &rotation{t: t}
	key := createKey(t, cfg, types.KeySpecEccNistP256)
	r.signer = kms.New(cfg, key, previous, noon, func() time.Time { return r.now })
	return r
}

// kids returns the IDs of the keys that verify at an instant, the signing key first.
func (r *rotation) kids(at time.Time) (ids []string) {
	r.t.Helper()
	r.now = at
	keys, err := r.signer.Keys(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return ids
}

func (r *rotation) issue(at time.Time) string {
	r.t.Helper()
	r.now = at
	return issue(r.t, r.signer, at)
}

func issue(t *testing.T, by *kms.Signer, at time.Time) string {
	t.Helper()
	i := accesstoken.Issuer{Signer: by, Now: func() time.Time { return at }}
	token, err := i.Issue(t.Context(), issuer, accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (r *rotation) verify(token string, at time.Time) error {
	r.now = at
	v := accesstoken.Verifier{Keys: r.signer, Now: r.signer.Now}
	_, err := v.Verify(r.t.Context(), token, issuer)
	return err
}

func TestKeys_Rotation(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	before := r.kids(noon.Add(-2 * time.Hour))
	if len(before) != 2 {
		t.Fatalf("keys %v before the switch, want two", before)
	}
	previous, current := before[0], before[1]
	for name, c := range map[string]struct {
		at   time.Time
		want []string
	}{
		"before the new key signs": {noon.Add(-time.Minute - 1), []string{previous, current}},
		"as the new key signs":     {noon.Add(-time.Minute), []string{current, previous}},
		"the switch":               {noon, []string{current, previous}},
		"within the hour":          {noon.Add(time.Hour - 1), []string{current, previous}},
		"after an hour":            {noon.Add(time.Hour), []string{current}},
	} {
		if diff := cmp.Diff(c.want, r.kids(c.at)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSign_RotationTokenLifetime(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	for _, at := range []time.Time{
		noon.Add(-time.Hour), noon.Add(-time.Minute - time.Second), noon.Add(-time.Minute), noon.Add(-time.Second), noon, noon.Add(time.Hour),
	} {
		token := r.issue(at)
		for _, later := range []time.Duration{0, time.Hour - time.Second} {
			if err := r.verify(token, at.Add(later)); err != nil {
				t.Errorf("a token of %s after %s: %v", at.Format(time.TimeOnly), later, err)
			}
		}
	}
}

// A token signed with the previous key after the switch is invalid.
func TestSign_PreviousKeyAfterSwitch(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	stolen := newSigner(stackenv.Load(t).AWS(), r.signer.PreviousID)
	for name, c := range map[string]struct {
		issued, at time.Time
		valid      bool
	}{
		"before the switch":    {noon.Add(-time.Second), noon.Add(time.Second), true},
		"at the switch":        {noon, noon.Add(time.Second), false},
		"after the switch":     {noon.Add(10 * time.Minute), noon.Add(10 * time.Minute), false},
		"dated back, too late": {noon.Add(-time.Second), noon.Add(time.Hour), false},
	} {
		if err := r.verify(issue(t, stolen, c.issued), c.at); (err == nil) != c.valid {
			t.Errorf("%s: %v, want valid %v", name, err, c.valid)
		}
	}
}

// A role may lose access to a key that left the stack.
func TestKeys_PreviousKeyExpired(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	r.signer.PreviousID = "00000000-0000-4000-8000-000000000000"
	if kids := r.kids(noon.Add(time.Hour)); len(kids) != 1 {
		t.Errorf("keys %v, want the current one", kids)
	}
}

// The next key may be new, or deleted because the rotation was cancelled: the previous key
// still signs and verifies.
func TestKeys_NextKeyCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	r.signer.KeyID = "00000000-0000-4000-8000-000000000000"
	early := noon.Add(-time.Hour)
	if keys := r.kids(early); len(keys) != 1 {
		t.Fatalf("keys %v, want the previous one alone", keys)
	}
	if err := r.verify(r.issue(early), early.Add(time.Minute)); err != nil {
		t.Errorf("a token of the previous key is refused: %v", err)
	}
	r.now = noon
	if keys, err := r.signer.Keys(t.Context()); err == nil {
		t.Errorf("keys %v after the switch, want an error", keys)
	}
}

func TestKeys_NoSwitchTime(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	r.signer.SwitchAt = time.Time{}
	if keys, err := r.signer.Keys(t.Context()); err == nil {
		t.Errorf("got %d keys, want an error", len(keys))
	}
}

func TestSign_UnknownKey(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	r.kids(noon)
	if _, err := r.signer.Sign(t.Context(), "unlisted", []byte("input")); err == nil {
		t.Error("signed with an unlisted key")
	}
}

func TestKeys_FetchedOnce(t *testing.T) {
	t.Parallel()
	cfg, id := stack(t)
	s := newSigner(cfg, id)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			if _, err := s.Keys(t.Context()); err != nil {
				t.Errorf("keys: %v", err)
			}
		})
	}
	callers.Wait()
	first, err := s.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Client = nil // another fetch would panic
	again, err := s.Keys(t.Context())
	if err != nil || &first[0] != &again[0] {
		t.Errorf("the keys were not kept: %v", err)
	}
}

func TestKeys_InvalidKeys(t *testing.T) {
	t.Parallel()
	cfg, _ := stack(t)
	tests := map[string]string{
		"no key":         "",
		"an unknown key": "00000000-0000-4000-8000-000000000000",
		"an RSA key":     createKey(t, cfg, types.KeySpecRsa2048),
	}
	for name, id := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSigner(cfg, id)
			_, err := s.Keys(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "get public key") {
				t.Errorf("error %v, want one that says what failed", err)
			}
		})
	}
}
