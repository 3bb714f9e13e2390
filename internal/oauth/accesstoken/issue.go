// Package accesstoken issues and verifies the service's access tokens: RFC 9068 JWTs,
// signed with ES256. The private key stays in KMS.
package accesstoken

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
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

// Keys has the public keys.
type Keys interface {
	// Keys returns the public keys that verify tokens now. The first one signs.
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
	now := i.Now()
	token, err := formAt(baseURL).Sign(ctx, i.Signer, wireClaims{
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
	if err != nil {
		return "", fmt.Errorf("issue access token: %w", err)
	}
	return token, nil
}

// Form is what all JWTs of one use have in common.
type Form struct {
	Type     string // the header typ
	Issuer   string
	Audience string
}

func formAt(baseURL string) Form { return Form{mediaType, baseURL, Audience(baseURL)} }

// Sign returns a JWT with the claims, signed with the first key.
func (f Form) Sign(ctx context.Context, signer Signer, claims jwt.Claims) (string, error) {
	keys, err := signer.Keys(ctx)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 {
		return "", errors.New("no signing key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["typ"], token.Header["kid"] = f.Type, keys[0].ID
	input, err := token.SigningString()
	if err != nil {
		return "", err
	}
	signature, err := signer.Sign(ctx, keys[0].ID, []byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// Key is a public key for verifying access tokens.
type Key struct {
	ID     string // RFC 7638 thumbprint
	Public *ecdsa.PublicKey
	// Until is the time at which another key replaces this one; zero if none does.
	Until time.Time
}

// MaySign reports whether the key signs tokens issued at the time.
func (k Key) MaySign(issued time.Time) bool { return k.Until.IsZero() || issued.Before(k.Until) }

// JWK is a key in the format of RFC 7517.
type JWK struct {
	Type      string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	Y         string `json:"y"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// coordinate is the length of a P-256 coordinate in bytes.
const coordinate = 32

// NewKey returns the Key of a P-256 public key. Other curves are an error.
func NewKey(public *ecdsa.PublicKey) (Key, error) {
	x, y, err := point(public)
	if err != nil {
		return Key{}, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"P-256","kty":"EC","x":"%s","y":"%s"}`, x, y))
	return Key{ID: base64.RawURLEncoding.EncodeToString(sum[:]), Public: public}, nil
}

// JWK returns the key for publication.
func (k Key) JWK() (JWK, error) {
	x, y, err := point(k.Public)
	if err != nil {
		return JWK{}, err
	}
	return JWK{Type: "EC", Curve: "P-256", X: x, Y: y, ID: k.ID, Use: "sig", Algorithm: "ES256"}, nil
}

func point(public *ecdsa.PublicKey) (x, y string, err error) {
	b, err := public.Bytes()
	if err != nil {
		return "", "", fmt.Errorf("encode public key: %w", err)
	}
	if len(b) != 1+2*coordinate {
		return "", "", errors.New("encode public key: not on P-256")
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode(b[1 : 1+coordinate]), encode(b[1+coordinate:]), nil
}
