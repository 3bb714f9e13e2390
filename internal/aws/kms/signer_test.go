package kms

import (
	"bytes"
	"encoding/asn1"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRaw(t *testing.T) {
	t.Parallel()
	full := new(big.Int).SetBytes(bytes.Repeat([]byte{0xff}, 32))
	tests := map[string]struct {
		r, s *big.Int
		want []byte
	}{
		"small numbers": {big.NewInt(1), big.NewInt(0x0203), append(append(make([]byte, 31), 1), append(make([]byte, 30), 2, 3)...)},
		"full length":   {full, full, bytes.Repeat([]byte{0xff}, 64)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := raw(der(t, test.r, test.s))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("signature (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRaw_Invalid(t *testing.T) {
	t.Parallel()
	long := new(big.Int).Lsh(big.NewInt(1), 256)
	tests := map[string][]byte{
		"nothing":        nil,
		"no ASN.1":       []byte("signature"),
		"something more": append(der(t, big.NewInt(1), big.NewInt(1)), 0),
		"too long":       der(t, long, big.NewInt(1)),
		"negative":       der(t, big.NewInt(1), big.NewInt(-1)),
		"zero":           der(t, big.NewInt(0), big.NewInt(1)),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := raw(in); err == nil {
				t.Errorf("got %x, want an error", got)
			}
		})
	}
}

func der(t *testing.T, r, s *big.Int) []byte {
	t.Helper()
	b, err := asn1.Marshal(struct{ R, S *big.Int }{r, s})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
