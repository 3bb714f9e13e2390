package dynamo

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// maxPage is the maximum number of changes on a log page. A change takes about 4 bytes, at
// most 14.
const maxPage = campaign.PageSize

// minChange is the minimum size of a change in bytes.
const minChange = 3

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
	r := pageReader{packed.Reader{Rest: page}}
	kinds := make([]campaign.Change, r.count())
	for i := range kinds {
		outcome, code, _ := strings.Cut(r.Text(r.Uvarint()), " ")
		kinds[i] = campaign.Change{Outcome: campaign.Outcome(outcome), Code: code}
	}
	var index, at int64
	for n := 0; r.More(); n++ {
		kind := r.Uvarint()
		index += r.Varint()
		at += r.Varint()
		if kind >= uint64(len(kinds)) || index < 0 || index >= campaign.MaxMessages {
			return fmt.Errorf("read change %d: %w", n, packed.ErrDamaged)
		}
		c := kinds[kind]
		c.Index, c.At = int(index), time.UnixMilli(at).UTC()
		take(c)
	}
	return r.Err
}

// pageReader decodes a page.
type pageReader struct{ packed.Reader }

// count reads the number of elements that follow, of at least one byte each.
func (r *pageReader) count() uint64 {
	n := r.Uvarint()
	if n > uint64(len(r.Rest)) {
		r.Fail()
		return 0
	}
	return n
}
