package signer_test

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/accesstoken"
	"campaign-dispatch/internal/signer"
	"campaign-dispatch/localstack/stackenv"
)

const issuer = "https://api.example.com"

func client(t *testing.T) (*kms.Client, string) {
	t.Helper()
	env := stackenv.Load(t)
	return kms.NewFromConfig(env.AWS()), env["SIGNING_KEY_ID"]
}

func createKey(t *testing.T, client *kms.Client, spec types.KeySpec) string {
	t.Helper()
	out, err := client.CreateKey(t.Context(), &kms.CreateKeyInput{KeySpec: spec, KeyUsage: types.KeyUsageTypeSignVerify})
	if err != nil {
		t.Fatal(err)
	}
	return *out.KeyMetadata.KeyId
}

func TestTokensSignedByKMSVerify(t *testing.T) {
	t.Parallel()
	client, id := client(t)
	s := &signer.Signer{Client: client, KeyIDs: []string{id}}
	claims := accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1", Scope: "campaigns:dispatch"}
	i := accesstoken.Issuer{Signer: s, Now: time.Now, Random: rand.Reader}
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

func TestKeyRotationKeepsOldTokensValid(t *testing.T) {
	t.Parallel()
	client, old := client(t)
	fresh := createKey(t, client, types.KeySpecEccNistP256)
	issue := func(ids ...string) string {
		i := accesstoken.Issuer{Signer: &signer.Signer{Client: client, KeyIDs: ids}, Now: time.Now, Random: rand.Reader}
		token, err := i.Issue(t.Context(), issuer, accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	verify := func(token string, ids ...string) error {
		v := accesstoken.Verifier{Keys: &signer.Signer{Client: client, KeyIDs: ids}, Now: time.Now}
		_, err := v.Verify(t.Context(), token, issuer)
		return err
	}
	before, after := issue(old), issue(fresh, old)
	if err := verify(before, fresh, old); err != nil {
		t.Errorf("a token of the old key during the rotation: %v", err)
	}
	if err := verify(after, fresh); err != nil {
		t.Errorf("a token of the new key after the rotation: %v", err)
	}
	if err := verify(before, fresh); err == nil {
		t.Error("a token of the old key after the rotation was accepted")
	}
}

func TestKeysAreFetchedOnce(t *testing.T) {
	t.Parallel()
	client, id := client(t)
	s := &signer.Signer{Client: client, KeyIDs: []string{id}}
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
	s.Client = nil // whoever fetched again would fail
	again, err := s.Keys(t.Context())
	if err != nil || &first[0] != &again[0] {
		t.Errorf("the keys were not kept: %v", err)
	}
}

func TestKeysRefusesWhatCannotSignTokens(t *testing.T) {
	t.Parallel()
	client, _ := client(t)
	tests := map[string][]string{
		"no key":         nil,
		"an unknown key": {"00000000-0000-4000-8000-000000000000"},
		"an RSA key":     {createKey(t, client, types.KeySpecRsa2048)},
	}
	for name, ids := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &signer.Signer{Client: client, KeyIDs: ids}
			_, err := s.Keys(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), "get public key") {
				t.Errorf("error %v, want one that says what failed", err)
			}
		})
	}
}
