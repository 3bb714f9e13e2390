// Package payload encodes a batch's accepted messages for storage on S3. Each frame of
// campaign.FrameSize messages is compressed on its own (S2), so a sender reads only the
// frame it needs.
package payload

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
)

// maxFrame bounds the memory for a corrupt frame. No frame is larger than a dispatch call.
const maxFrame = 16 << 20

var errDamaged = fmt.Errorf("frame: %w", campaign.ErrDamaged)

// Writer builds a payload. The zero Writer is ready to use.
type Writer struct {
	payload  []byte
	offsets  []int
	frame    []byte
	inFrame  int
	expected int // number of frames, 0 if unknown
}

// mostExpected is the payload that is allocated before it is needed, in bytes: the body of a call has 4 MiB.
const mostExpected = 8 << 20

// NewWriter returns a Writer that expects about the given number of messages. It allocates their payload once.
func NewWriter(messages int) Writer {
	return Writer{expected: (messages + campaign.FrameSize - 1) / campaign.FrameSize}
}

// Add appends a message: its phone as an E.164 number without the +, its UID and its
// values, in the order of the template's variables.
func (w *Writer) Add(phone uint64, uid []byte, values [][]byte) {
	w.frame = binary.AppendUvarint(w.frame, phone)
	w.frame = appendField(w.frame, uid)
	w.frame = binary.AppendUvarint(w.frame, uint64(len(values)))
	for _, v := range values {
		w.frame = appendField(w.frame, v)
	}
	if w.inFrame++; w.inFrame == campaign.FrameSize {
		w.flush()
	}
}

// AddMessage appends a message returned by Decode.
func (w *Writer) AddMessage(m campaign.Message) {
	if m.Erased() {
		w.AddErased()
		return
	}
	values := make([][]byte, len(m.Values))
	for i, v := range m.Values {
		values[i] = []byte(v)
	}
	w.Add(uint64(m.Phone), []byte(m.UID), values)
}

// AddErased appends an empty placeholder for an erased message.
func (w *Writer) AddErased() { w.Add(0, nil, nil) }

// Finish returns the payload and the offset of each frame, followed by the payload's
// length. The Writer cannot be used afterwards.
func (w *Writer) Finish() (payload []byte, offsets []int) {
	if w.inFrame > 0 {
		w.flush()
	}
	return w.payload, append(w.offsets, len(w.payload))
}

func (w *Writer) flush() {
	start := len(w.payload)
	w.offsets = append(w.offsets, start)
	room := s2.MaxEncodedLen(len(w.frame))
	w.payload = slices.Grow(w.payload, room)
	w.payload = w.payload[:start+len(s2.Encode(w.payload[start:start+room], w.frame))]
	w.frame, w.inFrame = w.frame[:0], 0
	if start == 0 && w.expected > 1 { // the other frames have about the size of the first
		others := (w.expected - 1) * len(w.payload)
		w.payload = slices.Grow(w.payload, min(others+others/8+room, mostExpected))
	}
}

// Decode returns the messages of one frame, in order. The error wraps campaign.ErrDamaged for an invalid frame.
func Decode(frame []byte) ([]campaign.Message, error) {
	if n, err := s2.DecodedLen(frame); err != nil || n > maxFrame {
		return nil, fmt.Errorf("decode frame: %w", errDamaged)
	}
	raw, err := s2.Decode(nil, frame)
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w: %w", errDamaged, err)
	}
	messages := make([]campaign.Message, 0, campaign.FrameSize)
	r := reader{rest: raw, text: string(raw)}
	for len(r.rest) > 0 && !r.damaged {
		messages = append(messages, r.message())
	}
	if r.damaged {
		return nil, fmt.Errorf("decode frame: %w", errDamaged)
	}
	return messages, nil
}

func appendField(dst, field []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}

type reader struct {
	rest    []byte
	text    string // the frame; the messages' strings are slices of it
	damaged bool
}

func (r *reader) message() campaign.Message {
	m := campaign.Message{Phone: e164.Number(r.uvarint()), UID: r.field()}
	count := r.uvarint()
	if count > uint64(len(r.rest)) { // each value takes at least a byte
		r.damaged = true
		return m
	}
	m.Values = make([]string, count)
	for i := range m.Values {
		m.Values[i] = r.field()
	}
	return m
}

func (r *reader) field() string {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.damaged = true
		return ""
	}
	start := len(r.text) - len(r.rest)
	r.rest = r.rest[n:]
	return r.text[start : start+int(n)] //nolint:gosec // at most as long as the frame
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.damaged, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// Blobs reads objects.
type Blobs interface {
	// GetRange returns the bytes [from, to). The error wraps campaign.ErrNotFound, or ErrDamaged for an object too short.
	GetRange(ctx context.Context, key string, from, to int) ([]byte, error)
}

// ReadFrame reads one frame of a batch. The error wraps campaign.ErrDamaged if the payload
// is corrupt, or else the error of blobs.
func ReadFrame(ctx context.Context, blobs Blobs, b campaign.Batch, frame int) ([]campaign.Message, error) {
	return readFrames(ctx, blobs, b, frame, frame+1)
}

// ReadAll reads all messages of a batch with a single read, none of a batch that has none. Its errors are those of ReadFrame.
func ReadAll(ctx context.Context, blobs Blobs, b campaign.Batch) ([]campaign.Message, error) {
	if b.Accepted == 0 { // it has no payload
		return nil, nil
	}
	return readFrames(ctx, blobs, b, 0, b.Frames())
}

// readFrames reads the frames [from, to) of a batch.
func readFrames(ctx context.Context, blobs Blobs, b campaign.Batch, from, to int) ([]campaign.Message, error) {
	if from < 0 || to > b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return nil, fmt.Errorf("read frames of batch %s: %w", b.BatchID, errDamaged)
	}
	raw, err := blobs.GetRange(ctx, b.Payload, b.Offsets[from], b.Offsets[to])
	if err != nil {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", from, b.BatchID, err)
	}
	if len(raw) != b.Offsets[to]-b.Offsets[from] {
		return nil, fmt.Errorf("read frame %d of batch %s: %w", from, b.BatchID, errDamaged)
	}
	var all []campaign.Message
	for f := from; f < to; f++ {
		messages, err := Decode(raw[b.Offsets[f]-b.Offsets[from] : b.Offsets[f+1]-b.Offsets[from]])
		if err == nil && len(messages) != b.FrameLen(f) {
			err = errDamaged
		}
		if err != nil {
			return nil, fmt.Errorf("read frame %d of batch %s: %w", f, b.BatchID, err)
		}
		all = append(all, messages...)
	}
	return all, nil
}
