package ledger

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

// Entry is one entry of a batch's log. Sequences start at 1 and have no gaps. The sequence
// identifies the entry in the tail and in LOG rows.
type Entry struct {
	Sequence int
	campaign.Change
}

// NewEntries contains the entries that one write added to a batch's log.
type NewEntries struct {
	Key     campaign.BatchKey
	Entries []Entry
}

// UnqueuedError reports batches whose entries could not become tasks because their stored
// data is damaged. Do not retry. The entries of all other batches were queued.
type UnqueuedError struct{ Keys []campaign.BatchKey }

func (e *UnqueuedError) Error() string {
	return fmt.Sprintf("queue webhooks of batches %v: %v", e.Keys, e.Unwrap())
}

// Unwrap returns campaign.ErrDamaged.
func (e *UnqueuedError) Unwrap() error { return campaign.ErrDamaged }

// Numbered converts changes to entries. The first one gets the sequence first.
func Numbered(first int, changes []campaign.Change) []Entry {
	entries := make([]Entry, len(changes))
	for i, c := range changes {
		entries[i] = Entry{first + i, c}
	}
	return entries
}

// Pack encodes consecutive changes: message and outcome as one number, the time since the
// previous change in milliseconds, the code of undelivered messages, and the suggestion of
// taps and clicks. A change takes about 5 bytes. Taps and clicks have the outcome number 0.
func Pack(changes []campaign.Change) []byte {
	var b []byte
	var at int64
	for _, c := range changes {
		b, at = packChange(b, c, at)
	}
	return b
}

func packChange(b []byte, c campaign.Change, at int64) ([]byte, int64) {
	state := packed.Number(c.Outcome)
	b = binary.AppendUvarint(b, uint64(c.Index)<<packed.OutcomeBits|uint64(state)) //nolint:gosec // not negative
	b = binary.AppendVarint(b, c.At.UnixMilli()-at)
	switch {
	case c.Outcome == campaign.OutcomeTapped:
		b = append(b, byte(c.Suggestion)) //nolint:gosec // at most maxSuggestion
	case c.Outcome == campaign.OutcomeClicked:
		b = append(b, byte(c.Suggestion)|clickedBit) //nolint:gosec // at most maxSuggestion
	case hasCode(state):
		b = packCode(b, c.Code, c.List)
	}
	return b, c.At.UnixMilli()
}

func hasCode(state byte) bool { return state >= packed.Number(campaign.OutcomeFailed) }

// Unpack decodes the result of Pack.
func Unpack(value []byte) (changes []campaign.Change, err error) {
	r := newReader(value)
	for at := int64(0); r.More(); {
		var c campaign.Change
		c, at = r.change(at)
		changes = append(changes, c)
	}
	return changes, r.Err
}

func (r *reader) change(at int64) (campaign.Change, int64) {
	v := r.Uvarint()
	state := byte(v & (1<<packed.OutcomeBits - 1))
	if v>>packed.OutcomeBits >= campaign.MaxMessages {
		r.Fail()
		return campaign.Change{}, at
	}
	at += r.Varint()
	c := campaign.Change{Index: int(v >> packed.OutcomeBits), Outcome: packed.Outcomes[state], At: time.UnixMilli(at).UTC()}
	switch {
	case state == 0:
		c.Outcome, c.Suggestion = r.suggestion()
	case hasCode(state):
		c.Code, c.List = r.code()
	}
	return c, at
}

// PackNewEntries encodes entries of several batches: for each batch its key, the number of
// entries, and the entries in ascending order of sequence.
func PackNewEntries(fresh []NewEntries) []byte {
	var b []byte
	for _, f := range fresh {
		b = append(b, f.Key[:]...)
		b = binary.AppendUvarint(b, uint64(len(f.Entries)))
		b = packEntries(b, f.Entries)
	}
	return b
}

func packEntries(b []byte, entries []Entry) []byte {
	var at int64
	next := 0
	for _, e := range entries {
		b = binary.AppendUvarint(b, uint64(e.Sequence-next)) //nolint:gosec // they ascend
		b, at = packChange(b, e.Change, at)
		next = e.Sequence + 1
	}
	return b
}

// UnpackNewEntries decodes the result of PackNewEntries.
func UnpackNewEntries(value []byte) (fresh []NewEntries, err error) {
	r := newReader(value)
	for r.More() {
		var f NewEntries
		copy(f.Key[:], r.Text(uint64(len(f.Key))))
		f.Entries = r.entries(r.Uvarint())
		fresh = append(fresh, f)
	}
	return fresh, r.Err
}

func (r *reader) entries(count uint64) (entries []Entry) {
	next, at := 0, int64(0)
	for ; count > 0 && r.More(); count-- {
		e := Entry{Sequence: next + int(min(r.Uvarint(), 1<<32))}
		e.Change, at = r.change(at)
		entries, next = append(entries, e), e.Sequence+1
	}
	if count > 0 {
		r.Fail()
	}
	return entries
}

// codes maps stored numbers to codes. Codes without a number are stored as text.
var codes = campaign.StoredCodes()

// spelled marks a code stored as text.
const spelled = 255

// packCode appends a code. The code of a message on a list has the number of the list as one more character.
func packCode(b []byte, code string, list int) []byte {
	if code == campaign.CodeSuppressed {
		code += string([]byte{byte(list)}) //nolint:gosec // at most 255
	}
	if i := slices.Index(codes, code); i >= 0 {
		return append(b, byte(i)) //nolint:gosec // fewer than 255
	}
	b = binary.AppendUvarint(append(b, spelled), uint64(len(code)))
	return append(b, code...)
}

func (r *reader) code() (code string, list int) {
	i := r.Byte()
	if i == spelled {
		return cutList(r.Text(r.Uvarint()))
	}
	if int(i) >= len(codes) {
		r.Fail()
		return "", 0
	}
	return codes[i], 0
}

func cutList(code string) (string, int) {
	number, onList := strings.CutPrefix(code, campaign.CodeSuppressed)
	if !onList || len(number) != 1 {
		return code, 0
	}
	return campaign.CodeSuppressed, int(number[0])
}

type reader struct{ packed.Reader }

func newReader(b []byte) reader { return reader{packed.Reader{Rest: b}} }
