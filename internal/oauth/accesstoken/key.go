package accesstoken

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

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
