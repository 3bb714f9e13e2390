// Package signer signs access tokens with keys that never leave KMS.
package signer

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"campaign-dispatch/internal/accesstoken"
)

// Signer signs with the first of its keys; the public keys of all of them
// verify. To rotate, put the new key last, then first, then drop the old one an
// hour later.
type Signer struct {
	Client *kms.Client
	KeyIDs []string // KMS key ids or ARNs, of P-256 keys

	mu     sync.Mutex
	public []accesstoken.Key
}

// New returns a signer with a comma-separated list of KMS key ids or ARNs.
func New(client *kms.Client, list string) *Signer {
	s := &Signer{Client: client}
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id != "" {
			s.KeyIDs = append(s.KeyIDs, id)
		}
	}
	return s
}

// Keys returns the public keys in the order of KeyIDs. They are fetched once;
// callers that come meanwhile wait for the one that fetches.
func (s *Signer) Keys(ctx context.Context) ([]accesstoken.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.public != nil {
		return s.public, nil
	}
	if len(s.KeyIDs) == 0 {
		return nil, errors.New("get public keys: no signing key is configured")
	}
	keys := make([]accesstoken.Key, 0, len(s.KeyIDs))
	for _, id := range s.KeyIDs {
		key, err := s.fetch(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("get public key %s: %w", id, err)
		}
		keys = append(keys, key)
	}
	s.public = keys
	return keys, nil
}

func (s *Signer) fetch(ctx context.Context, id string) (accesstoken.Key, error) {
	out, err := s.Client.GetPublicKey(ctx, &kms.GetPublicKeyInput{KeyId: &id})
	if err != nil {
		return accesstoken.Key{}, err
	}
	public, err := x509.ParsePKIXPublicKey(out.PublicKey)
	if err != nil {
		return accesstoken.Key{}, err
	}
	key, ok := public.(*ecdsa.PublicKey)
	if !ok {
		return accesstoken.Key{}, errors.New("it is not an elliptic curve key")
	}
	return accesstoken.NewKey(key)
}

// Sign returns the ES256 signature of input by the first key.
func (s *Signer) Sign(ctx context.Context, input []byte) ([]byte, error) {
	if len(s.KeyIDs) == 0 {
		return nil, errors.New("sign: no signing key is configured")
	}
	digest := sha256.Sum256(input)
	out, err := s.Client.Sign(ctx, &kms.SignInput{
		KeyId:            &s.KeyIDs[0],
		Message:          digest[:],
		MessageType:      types.MessageTypeDigest,
		SigningAlgorithm: types.SigningAlgorithmSpecEcdsaSha256,
	})
	if err != nil {
		return nil, fmt.Errorf("sign with key %s: %w", s.KeyIDs[0], err)
	}
	return raw(out.Signature)
}

// raw turns the ASN.1 signature of KMS into the fixed form of JWTs: r and s, 32
// bytes each (RFC 7518 §3.4).
func raw(der []byte) ([]byte, error) {
	var signature struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &signature)
	if err != nil || len(rest) > 0 {
		return nil, errors.New("read signature: it is not an ASN.1 signature")
	}
	r, s := signature.R, signature.S
	if r.Sign() <= 0 || s.Sign() <= 0 || r.BitLen() > 256 || s.BitLen() > 256 {
		return nil, errors.New("read signature: it is not one of a P-256 key")
	}
	b := make([]byte, 64)
	r.FillBytes(b[:32])
	s.FillBytes(b[32:])
	return b, nil
}
