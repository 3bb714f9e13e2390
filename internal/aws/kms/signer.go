// Package kms signs access tokens with AWS KMS keys.
package kms

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"campaign-dispatch/internal/aws/awsjson"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// Signer signs with a KMS key. During a rotation, it signs with the previous key until
// SwitchAt. Tokens of both keys verify.
type Signer struct {
	Client *awsjson.Client
	KeyID  string // key ID or ARN of a P-256 key
	// PreviousID is the key that KeyID replaces at SwitchAt, "" for none. Its tokens verify until they expire.
	PreviousID string
	SwitchAt   time.Time
	Now        func() time.Time

	mu    sync.Mutex
	known map[string]accesstoken.Key // by KMS key ID
	sets  [phases][]accesstoken.Key
}

// New returns a Signer. The key replaces previous, "" for none, at switchAt.
func New(cfg aws.Config, key, previous string, switchAt time.Time, now func() time.Time) *Signer {
	client := awsjson.New(cfg, awsjson.Service{Name: "kms", Target: "TrentService", Version: "1.1"}, now)
	return &Signer{Client: client, KeyID: key, PreviousID: previous, SwitchAt: switchAt, Now: now}
}

// overlap is how long before SwitchAt the new key starts to sign. It prevents rejected tokens because of clock skew.
const overlap = time.Minute

type phase int

const (
	previousSigns phase = iota
	previousVerifies
	currentAlone // also without a rotation
	phases
)

func (s *Signer) phase() (phase, error) {
	if s.PreviousID == "" {
		return currentAlone, nil
	}
	if s.SwitchAt.IsZero() {
		return 0, errors.New("previous key without switch time")
	}
	switch now := s.Now(); {
	case now.Before(s.SwitchAt.Add(-overlap)):
		return previousSigns, nil
	case now.Before(s.SwitchAt.Add(accesstoken.Lifetime)):
		return previousVerifies, nil
	}
	return currentAlone, nil
}

// Keys returns the public keys that verify tokens now. The first one signs. Each is fetched
// once; concurrent calls share the fetch.
func (s *Signer) Keys(ctx context.Context) ([]accesstoken.Key, error) {
	now, err := s.phase()
	if err != nil {
		return nil, fmt.Errorf("get public keys: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets[now] != nil {
		return s.sets[now], nil
	}
	set, err := s.set(ctx, now)
	if err != nil && now == previousSigns {
		return s.previousAlone(ctx, err)
	}
	s.sets[now] = set // nil after an error
	return set, err
}

// previousAlone returns only the current signing key if its successor cannot be read: it
// was just created, or the rotation is being cancelled.
func (s *Signer) previousAlone(ctx context.Context, cause error) ([]accesstoken.Key, error) {
	previous, err := s.key(ctx, s.PreviousID)
	if err != nil {
		return nil, errors.Join(cause, err)
	}
	slog.WarnContext(ctx, "reading next signing key failed; using current key only", "error", cause)
	previous.Until = s.SwitchAt
	return []accesstoken.Key{previous}, nil
}

func (s *Signer) set(ctx context.Context, p phase) ([]accesstoken.Key, error) {
	current, err := s.key(ctx, s.KeyID)
	if err != nil {
		return nil, err
	}
	if p == currentAlone {
		return []accesstoken.Key{current}, nil
	}
	previous, err := s.key(ctx, s.PreviousID)
	if err != nil {
		return nil, err
	}
	previous.Until = s.SwitchAt
	if p == previousSigns {
		return []accesstoken.Key{previous, current}, nil
	}
	return []accesstoken.Key{current, previous}, nil
}

func (s *Signer) key(ctx context.Context, id string) (accesstoken.Key, error) {
	if key, ok := s.known[id]; ok {
		return key, nil
	}
	key, err := s.fetch(ctx, id)
	if err != nil {
		return accesstoken.Key{}, fmt.Errorf("get public key %s: %w", id, err)
	}
	if s.known == nil {
		s.known = map[string]accesstoken.Key{}
	}
	s.known[id] = key
	return key, nil
}

func (s *Signer) fetch(ctx context.Context, id string) (accesstoken.Key, error) {
	var out struct{ PublicKey []byte }
	if err := s.Client.Call(ctx, "GetPublicKey", map[string]string{"KeyId": id}, &out); err != nil {
		return accesstoken.Key{}, err
	}
	public, err := x509.ParsePKIXPublicKey(out.PublicKey)
	if err != nil {
		return accesstoken.Key{}, err
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return accesstoken.Key{}, errors.New("not an elliptic curve key")
	}
	return accesstoken.NewKey(key)
}

// Sign returns the ES256 signature of input. keyID is the ID of a key returned by Keys.
func (s *Signer) Sign(ctx context.Context, keyID string, input []byte) ([]byte, error) {
	id, ok := s.idAtKMS(keyID)
	if !ok {
		return nil, errors.New("sign: unknown key")
	}
	digest := sha256.Sum256(input)
	asked := map[string]any{
		"KeyId": id, "Message": digest[:], "MessageType": "DIGEST", "SigningAlgorithm": "ECDSA_SHA_256",
	}
	var out struct{ Signature []byte }
	if err := s.Client.Call(ctx, "Sign", asked, &out); err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", id, err)
	}
	return raw(out.Signature)
}

func (s *Signer) idAtKMS(keyID string) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, key := range s.known {
		if key.ID == keyID {
			return id, true
		}
	}
	return "", false
}

// raw converts an ASN.1 signature to the JWT format: r and s, 32 bytes each (RFC 7518 §3.4).
func raw(der []byte) ([]byte, error) {
	var signature struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &signature)
	if err != nil || len(rest) > 0 {
		return nil, errors.New("read signature: invalid ASN.1")
	}
	r, s := signature.R, signature.S
	if r.Sign() <= 0 || s.Sign() <= 0 || r.BitLen() > 256 || s.BitLen() > 256 {
		return nil, errors.New("read signature: not from a P-256 key")
	}
	b := make([]byte, 64)
	r.FillBytes(b[:32])
	s.FillBytes(b[32:])
	return b, nil
}
