package dynamo

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// maxPage is the number of changes of one page of a log, which bounds its size:
// a change takes some 4 bytes, 14 at most.
const maxPage = campaign.PageSize

var errDamagedPage = fmt.Errorf("page of a log: %w", campaign.ErrDamaged)

// packChanges writes a page of a log: the instant of the first change in
// milliseconds, the outcomes with their codes that occur, and then for each
// change its outcome's position among those, and how far its index and its
// instant lie from those of the change before.
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

// kindOf is a change's outcome and code.
func kindOf(c campaign.Change) string { return string(c.Outcome) + " " + c.Code }

func kindsOf(changes []campaign.Change) []string {
	kinds := make([]string, len(changes))
	for i, c := range changes {
		kinds[i] = kindOf(c)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// unpackChanges reads what packChanges wrote, and refuses anything else that is
// cut or runs out of bounds.
func unpackChanges(page []byte) ([]campaign.Change, error) {
	r := pageReader{rest: page}
	var kinds []string
	for range r.count() {
		kinds = append(kinds, string(r.bytes()))
	}
	var changes []campaign.Change
	var index, at int64
	for r.err == nil && len(r.rest) > 0 {
		kind := r.uvarint()
		index += r.varint()
		at += r.varint()
		if kind >= uint64(len(kinds)) || index < 0 || index >= campaign.MaxMessages {
			return nil, fmt.Errorf("read change %d: %w", len(changes), errDamagedPage)
		}
		outcome, code, _ := strings.Cut(kinds[kind], " ")
		changes = append(changes, campaign.Change{
			Index: int(index), Outcome: campaign.Outcome(outcome), Code: code, At: time.UnixMilli(at).UTC(),
		})
	}
	return changes, r.err
}

// pageReader reads numbers and texts off the front of a page. After the first
// failure it reads zeros.
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

// count reads how many elements follow, of one byte or more each.
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
