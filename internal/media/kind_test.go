package media

import "testing"

func FuzzKind(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"))
	f.Add([]byte("\xff\xff\xff\xffftypxxxx\x00\x00\x00\x00isom"))
	f.Add([]byte("%PDF-1.7"))
	f.Fuzz(func(t *testing.T, head []byte) {
		switch got := kind(head); got {
		case "", "image/jpeg", "image/png", "image/gif", "application/pdf":
		case "video/mp4":
			if string(head[4:8]) != "ftyp" {
				t.Errorf("%q is a video", head)
			}
		default:
			t.Errorf("%q is %q", head, got)
		}
	})
}
