package ledger

// An encoder and a decoder of bits: each bit takes as few bits of the output as it
// is likely, by how often it was seen before in its context. This is arithmetic
// coding with 32-bit bounds, whose equal leading bytes are written as they arise.

// odds counts the zeros and ones of one context. Both sides count the same, so
// that nothing of it is stored.
type odds [2]uint32

// share returns which part of 2^16 the ones take: more than 0 and less than all, for
// fewer than 2^15 bits.
func (o *odds) share() uint32 { return (2*o[1] + 1) << 16 / (2*(o[0]+o[1]) + 2) }

// bounds are the part of the code that is still possible, both ends included.
type bounds struct{ low, high uint32 }

func (b *bounds) split(o *odds) uint32 {
	return b.low + uint32(uint64(b.high-b.low)*uint64(o.share())>>16) //nolint:gosec // below high
}

func (b *bounds) take(bit byte, o *odds) {
	if split := b.split(o); bit == 1 {
		b.high = split
	} else {
		b.low = split + 1
	}
	o[bit]++
}

// settled reports whether the leading byte is known.
func (b *bounds) settled() bool { return b.low>>24 == b.high>>24 }

func (b *bounds) shift() { b.low, b.high = b.low<<8, b.high<<8|0xff }

type encoder struct {
	bounds

	out []byte
}

func newEncoder(out []byte) *encoder { return &encoder{bounds{0, 1<<32 - 1}, out} }

func (e *encoder) put(bit byte, o *odds) {
	e.take(bit, o)
	for e.settled() {
		e.out = append(e.out, byte(e.high>>24))
		e.shift()
	}
}

// end returns the code. A decoder takes what it reads behind it for zeros, and the
// leading bytes of the bounds differ: the next one above the lower bound's is enough.
func (e *encoder) end() []byte {
	if e.low == 0 {
		return e.out
	}
	return append(e.out, byte(e.low>>24)+1)
}

type decoder struct {
	bounds

	code uint32
	rest []byte
}

func newDecoder(code []byte) *decoder {
	d := &decoder{bounds: bounds{0, 1<<32 - 1}, rest: code}
	for range 4 {
		d.next()
	}
	return d
}

func (d *decoder) next() {
	d.code <<= 8
	if len(d.rest) > 0 {
		d.code |= uint32(d.rest[0])
		d.rest = d.rest[1:]
	}
}

func (d *decoder) get(o *odds) (bit byte) {
	if d.code <= d.split(o) {
		bit = 1
	}
	d.take(bit, o)
	for d.settled() {
		d.shift()
		d.next()
	}
	return bit
}
