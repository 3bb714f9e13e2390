// Package accesstoken issues and verifies the service's access tokens: RFC 9068 JWTs,
// signed with ES256. The private key stays in KMS.
package accesstoken

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"campaign-dispatch/internal/base/random"
)

// Lifetime is how long an access token is valid.
const Lifetime = time.Hour

// mediaType is the token's typ, RFC 9068 §2.1.
const mediaType = "at+jwt"

// Claims are the claims of an access token.
type Claims struct {
	Tenant   string
	ClientID string
	Scope    string // space-separated
}

// Keys returns the current public keys. The first one belongs to the signing key.
type Keys interface {
	Keys(ctx context.Context) ([]Key, error)
}

// Signer signs with the service's keys.
type Signer interface {
	Keys
	// Sign returns the ES256 signature of input by the key: r and s, 32 bytes each.
	Sign(ctx context.Context, keyID string, input []byte) ([]byte, error)
}

// Audience returns the audience of tokens issued at baseURL.
func Audience(baseURL string) string { return baseURL + "/api/v1" }

// Issuer issues access tokens.
type Issuer struct {
	Signer Signer
	Now    func() time.Time
}

type wireClaims struct {
	jwt.RegisteredClaims
	ClientID string `json:"client_id"`
	Scope    string `json:"scope"`
	Tenant   string `json:"tenant"`
}

// Issue returns a token issued at baseURL, valid for Lifetime from now.
func (i *Issuer) Issue(ctx context.Context, baseURL string, c Claims) (string, error) {
	keys, err := i.Signer.Keys(ctx)
	if err != nil {
		return "", fmt.Errorf("issue access token: %w", err)
	}
	if len(keys) == 0 {
		return "", errors.New("issue access token: no signing key")
	}
	input, err := i.signingInput(keys[0].ID, baseURL, c)
	if err != nil {
		return "", fmt.Errorf("issue access token: %w", err)
	}
	signature, err := i.Signer.Sign(ctx, keys[0].ID, []byte(input))
	if err != nil {
		return "", fmt.Errorf("issue access token: %w", err)
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func (i *Issuer) signingInput(kid, baseURL string, c Claims) (string, error) {
	now := i.Now()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, wireClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    baseURL,
			Subject:   c.ClientID,
			Audience:  jwt.ClaimStrings{Audience(baseURL)},
			ExpiresAt: jwt.NewNumericDate(now.Add(Lifetime)),
			IssuedAt:  jwt.NewNumericDate(now),
			ID:        random.Hex(16),
		},
		ClientID: c.ClientID,
		Scope:    c.Scope,
		Tenant:   c.Tenant,
	})
	token.Header["typ"] = mediaType
	token.Header["kid"] = kid
	return token.SigningString()
}
