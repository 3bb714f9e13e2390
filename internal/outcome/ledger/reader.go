package ledger

import (
	"encoding/binary"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

var errDamaged = fmt.Errorf("outcomes of a batch: %w", campaign.ErrDamaged)

// reader decodes a packed value. After an error, it returns zeros.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) more() bool { return r.err == nil && len(r.rest) > 0 }

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.advance(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.advance(n)
	return v
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) text(length int) string {
	if length > len(r.rest) {
		r.fail()
		return ""
	}
	s := string(r.rest[:length])
	r.rest = r.rest[length:]
	return s
}

func (r *reader) advance(n int) {
	if n <= 0 {
		r.fail()
		return
	}
	r.rest = r.rest[n:]
}

func (r *reader) fail() { r.rest, r.err = nil, errDamaged }
