package packed_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/packed"
)

func TestReader_ReadsInOrder(t *testing.T) {
	t.Parallel()
	value := binary.AppendVarint(binary.AppendUvarint(nil, 300), -5)
	r := packed.Reader{Rest: append(value, 7, 'o', 'k')}
	if u, v, b, text := r.Uvarint(), r.Varint(), r.Byte(), r.Text(2); u != 300 || v != -5 || b != 7 || text != "ok" {
		t.Errorf("read %d, %d, %d and %q", u, v, b, text)
	}
	if r.More() || r.Err != nil {
		t.Errorf("more %v, error %v after the last value", r.More(), r.Err)
	}
}

func TestReader_TruncatedValue(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(r *packed.Reader){
		"uvarint": func(r *packed.Reader) { r.Uvarint() },
		"varint":  func(r *packed.Reader) { r.Varint() },
		"byte":    func(r *packed.Reader) { r.Text(1); r.Byte() },
		"text":    func(r *packed.Reader) { r.Text(1 << 63) },
	} {
		r := packed.Reader{Rest: []byte{0x80}} // the first byte of a longer varint
		read(&r)
		if !errors.Is(r.Err, campaign.ErrDamaged) || r.More() || r.Uvarint() != 0 {
			t.Errorf("%s: error %v, more %v", name, r.Err, r.More())
		}
	}
}

func TestNumber_OfEveryOutcome(t *testing.T) {
	t.Parallel()
	for n, outcome := range packed.Outcomes {
		if got := packed.Number(outcome); int(got) != n {
			t.Errorf("%q is number %d, want %d", outcome, got, n)
		}
	}
}

func TestReasons_ByOutcomeThenCode(t *testing.T) {
	t.Parallel()
	want := []campaign.Reason{{Outcome: "expired", Code: "x"}, {Outcome: "failed", Code: "a"}, {Outcome: "failed", Code: "b"}}
	got := packed.Reasons(map[campaign.Reason]int{want[2]: 1, want[0]: 1, want[1]: 1})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
