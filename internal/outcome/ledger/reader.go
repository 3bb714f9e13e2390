package ledger

import "campaign-dispatch/internal/campaign/packed"

// reader decodes a packed value.
type reader struct{ packed.Reader }

func newReader(b []byte) reader { return reader{packed.Reader{Rest: b}} }
