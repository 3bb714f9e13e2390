package keyvault_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/keyvault"
	"campaign-dispatch/localstack/stackenv"
)

func TestVaultKeepsTheLastDocument(t *testing.T) {
	t.Parallel()
	vault := &keyvault.Vault{Client: ssm.NewFromConfig(stackenv.Load(t).AWS())}
	name := "/campaign-dispatch/test/agents/" + strings.ToLower(rand.Text())
	if _, err := vault.Get(t.Context(), name); !errors.Is(err, campaign.ErrNotFound) {
		t.Fatalf("before it is put: %v, want campaign.ErrNotFound", err)
	}
	large := `{"private_key":"` + strings.Repeat("k", 5000) + `"}`
	for _, document := range []string{`{"a":"ção"}`, large} {
		if err := vault.Put(t.Context(), name, []byte(document)); err != nil {
			t.Fatal(err)
		}
		got, err := vault.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != document {
			t.Errorf("got %d bytes, want the %d that were put", len(got), len(document))
		}
	}
}
