package runner

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"

	"campaign-dispatch/localstack/sim"
	"campaign-dispatch/localstack/sink"
)

// The background process and the seeder share two generated secrets: the key of the
// agents' service accounts and the signing secret of the webhooks.
const (
	providerKeyFile   = "provider-key.pem"
	webhookSecretFile = "webhook-secret"
)

func (s Stack) generateSecrets() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("generate the provider's key: %w", err)
	}
	block := pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	if err := writeFile(s.state(providerKeyFile), string(pem.EncodeToMemory(&block))); err != nil {
		return err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	return writeFile(s.state(webhookSecretFile), "whsec_"+base64.StdEncoding.EncodeToString(secret))
}

// simulator returns the RCS provider simulator.
func (s Stack) simulator() (*sim.Sim, error) {
	text, err := os.ReadFile(s.state(providerKeyFile))
	if err != nil {
		return nil, fmt.Errorf("read the provider's key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("read the provider's key: not in PEM format")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the provider's key: %w", err)
	}
	return sim.New(sim.Options{URL: url(s.Ports.RCS), Key: key, Now: s.Now, Random: mathrand.Float64}), nil
}

// sink returns the receiver of the demo tenant's webhooks.
func (s Stack) sink() (http.Handler, error) {
	secret, err := s.webhookSecret()
	if err != nil {
		return nil, err
	}
	return sink.New(secret, s.Now)
}

func (s Stack) webhookSecret() (string, error) {
	secret, err := os.ReadFile(s.state(webhookSecretFile))
	if err != nil {
		return "", fmt.Errorf("read the webhook secret: %w", err)
	}
	return string(secret), nil
}
