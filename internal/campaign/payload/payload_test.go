package payload_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone/e164"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 40, 200)
		n := rapid.IntRange(1, 350).Draw(t, "messages")
		variables := rapid.IntRange(0, 4).Draw(t, "variables")
		w := payload.NewWriter(rapid.IntRange(0, 700).Draw(t, "expected"))
		var want []campaign.Message
		for range n {
			phone := rapid.Uint64Range(1, 999_999_999_999_999).Draw(t, "phone")
			m := campaign.Message{Phone: e164.Number(phone), UID: text.Draw(t, "uid"), Values: []string{}}
			var values [][]byte
			for range variables {
				v := text.Draw(t, "value")
				m.Values, values = append(m.Values, v), append(values, []byte(v))
			}
			w.Add(phone, []byte(m.UID), values)
			want = append(want, m)
		}

		blob, offsets := w.Finish()

		if diff := cmp.Diff(want, decodeAll(t, blob, offsets)); diff != "" {
			t.Fatalf("messages (-want +got):\n%s", diff)
		}
	})
}

func decodeAll(t *rapid.T, blob []byte, offsets []int) []campaign.Message {
	var all []campaign.Message
	for frame := range len(offsets) - 1 {
		messages, err := payload.Decode(blob[offsets[frame]:offsets[frame+1]])
		if err != nil {
			t.Fatalf("frame %d: %v", frame, err)
		}
		if full := frame < len(offsets)-2; full && len(messages) != campaign.FrameSize {
			t.Fatalf("frame %d holds %d messages, want %d", frame, len(messages), campaign.FrameSize)
		}
		all = append(all, messages...)
	}
	return all
}

func FuzzDecode(f *testing.F) {
	var w payload.Writer
	w.Add(5511987654321, []byte("u1"), [][]byte{[]byte("Ana")})
	frame, _ := w.Finish()
	f.Add(frame)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		messages, err := payload.Decode(b)
		if err != nil && messages != nil {
			t.Error("messages beside an error")
		}
	})
}

func TestWriter_AddErased(t *testing.T) {
	t.Parallel()
	all := []campaign.Message{
		{Phone: 5511900000001, UID: "a", Values: []string{"x"}}, {Values: []string{}}, {Phone: 1, UID: "c", Values: []string{}},
	}
	var w payload.Writer
	for _, m := range all {
		w.AddMessage(m)
	}
	blob, _ := w.Finish()
	got, err := payload.Decode(blob)
	if diff := cmp.Diff(all, got); diff != "" || err != nil {
		t.Fatalf("%v, messages (-want +got):\n%s", err, diff)
	}
	if got[0].Erased() || !got[1].Erased() || got[2].Erased() {
		t.Error("another message than the second is erased")
	}
}

// A batch whose people were all invalid, or in other batches, has no payload.
func TestReadAll_NoMessages(t *testing.T) {
	t.Parallel()
	messages, err := payload.ReadAll(t.Context(), nil, campaign.Batch{})
	if err != nil || len(messages) > 0 {
		t.Errorf("%d messages, %v", len(messages), err)
	}
}
