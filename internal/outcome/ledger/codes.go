package ledger

import (
	"encoding/binary"
	"slices"

	"campaign-dispatch/internal/campaign"
)

// codes maps stored numbers to codes. Codes without a number are stored as text.
var codes = campaign.StoredCodes()

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
