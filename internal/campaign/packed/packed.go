// Package packed reads the packed values of a batch's outcomes.
package packed

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"campaign-dispatch/internal/campaign"
)

// ErrDamaged is the error of a value that is truncated or invalid. It wraps campaign.ErrDamaged.
var ErrDamaged = fmt.Errorf("outcomes of a batch: %w", campaign.ErrDamaged)

// Outcomes maps stored numbers to outcomes. 0 means no outcome.
var Outcomes = [8]campaign.Outcome{
	"", campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead,
	campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
}

// OutcomeBits is the number of bits of a stored outcome.
const OutcomeBits = 3

// Number returns the stored number of an outcome.
func Number(outcome campaign.Outcome) byte {
	return byte(max(0, slices.Index(Outcomes[:], outcome))) //nolint:gosec // there are eight
}

// Reasons returns the reasons in the order in which they are stored.
func Reasons(counts map[campaign.Reason]int) []campaign.Reason {
	return slices.SortedFunc(maps.Keys(counts), func(a, b campaign.Reason) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Code, b.Code), cmp.Compare(a.List, b.List))
	})
}

// Reader decodes the packed value Rest. After an error, it returns zeros.
type Reader struct {
	Rest []byte // unread bytes
	Err  error
}

// More reports whether there are unread bytes and no error.
func (r *Reader) More() bool { return r.Err == nil && len(r.Rest) > 0 }

// Uvarint reads an unsigned varint.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.Rest)
	r.advance(n)
	return v
}

// Varint reads a varint.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.Rest)
	r.advance(n)
	return v
}

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Fail()
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

// Text reads a text of length bytes.
func (r *Reader) Text(length uint64) string {
	if length > uint64(len(r.Rest)) {
		r.Fail()
		return ""
	}
	s := string(r.Rest[:length])
	r.Rest = r.Rest[length:]
	return s
}

// Fail ends the reading with ErrDamaged.
func (r *Reader) Fail() { r.Rest, r.Err = nil, ErrDamaged }

func (r *Reader) advance(n int) {
	if n <= 0 {
		r.Fail()
		return
	}
	r.Rest = r.Rest[n:]
}
