package dynamo

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// maxPage is the maximum number of changes on a log page. A change takes about 4 bytes, at
// most 14.
const maxPage = campaign.PageSize

// minChange is the minimum size of a change in bytes.
const minChange = 3

var errDamagedPage = fmt.Errorf("page of a log: %w", campaign.ErrDamaged)

// packChanges encodes a log page: the distinct outcomes with codes, then for each change
// the index of its outcome, and the differences of its message index and its time (in
// milliseconds) from the previous change.
func packChanges(changes []campaign.Change) []byte {
	kinds := kindsOf(changes)
	b := binary.AppendUvarint(nil, uint64(len(kinds)))
	for _, k := range kinds {
		b = binary.AppendUvarint(b, uint64(len(k)))
		b = append(b, k...)
	}
	var index, at int64
	for _, c := range changes {
		kind, _ := slices.BinarySearch(kinds, kindOf(c))
		b = binary.AppendUvarint(b, uint64(kind)) //nolint:gosec // a position is not negative
		b = binary.AppendVarint(b, int64(c.Index)-index)
		b = binary.AppendVarint(b, c.At.UnixMilli()-at)
		index, at = int64(c.Index), c.At.UnixMilli()
	}
	return b
}

// kindOf returns a change's outcome and code.
func kindOf(c campaign.Change) string { return string(c.Outcome) + " " + c.Code }

func kindsOf(changes []campaign.Change) []string {
	kinds := make([]string, len(changes))
	for i, c := range changes {
		kinds[i] = kindOf(c)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// unpackChanges decodes the result of packChanges. Truncated or invalid input is an error.
func unpackChanges(page []byte) ([]campaign.Change, error) {
	changes := make([]campaign.Change, 0, min(len(page)/minChange, maxPage))
	err := eachChange(page, func(c campaign.Change) { changes = append(changes, c) })
	return changes, err
}

// eachChange is unpackChanges with a callback.
func eachChange(page []byte, take func(campaign.Change)) error {
	r := pageReader{rest: page}
	kinds := make([]campaign.Change, r.count())
	for i := range kinds {
		outcome, code, _ := strings.Cut(string(r.bytes()), " ")
		kinds[i] = campaign.Change{Outcome: campaign.Outcome(outcome), Code: code}
	}
	var index, at int64
	for n := 0; r.err == nil && len(r.rest) > 0; n++ {
		kind := r.uvarint()
		index += r.varint()
		at += r.varint()
		if kind >= uint64(len(kinds)) || index < 0 || index >= campaign.MaxMessages {
			return fmt.Errorf("read change %d: %w", n, errDamagedPage)
		}
		c := kinds[kind]
		c.Index, c.At = int(index), time.UnixMilli(at).UTC()
		take(c)
	}
	return r.err
}

// pageReader decodes a page. After an error, it returns zeros.
type pageReader struct {
	rest []byte
	err  error
}

func (r *pageReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.advance(n)
	return v
}

func (r *pageReader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.advance(n)
	return v
}

// count reads the number of elements that follow, of at least one byte each.
func (r *pageReader) count() uint64 {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return n
}

func (r *pageReader) bytes() []byte {
	n := r.count()
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *pageReader) advance(n int) {
	if n <= 0 {
		r.fail()
		return
	}
	r.rest = r.rest[n:]
}

func (r *pageReader) fail() { r.rest, r.err = nil, errDamagedPage }
