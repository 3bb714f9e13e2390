package ledger

import (
	"encoding/binary"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
)

// codes maps stored numbers to codes. Codes not listed here are stored as text, which every
// version reads. Append a code only in a later deployment than the first one that uses it:
// the previous version reads an unknown number as damage. Never remove a code.
var codes = []string{
	"", campaign.CodeSuperseded, "failed", "ttl_passed", "revoked", "cancelled", "no_answer",
	"unreachable", "unsupported", "agent_not_launched", "rejected", "opted_out", "not_after_passed",
	"payload_missing", "not_sent_in_time", content.CodeTextTooLong, "erased",
}

// spelled marks a code stored as text.
const spelled = 255

func packCode(b []byte, code string) []byte {
	if i := slices.Index(codes, code); i >= 0 {
		return append(b, byte(i)) //nolint:gosec // fewer than 255
	}
	b = binary.AppendUvarint(append(b, spelled), uint64(len(code)))
	return append(b, code...)
}

func (r *reader) code() string {
	i := r.Byte()
	if i == spelled {
		return r.Text(r.Uvarint())
	}
	if int(i) >= len(codes) {
		r.Fail()
		return ""
	}
	return codes[i]
}
