package media

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"campaign-dispatch/internal/base/random"
)

func encoded(t *testing.T, m image.Image) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

func TestThumbnail_Sizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ w, h, wantW, wantH int }{
		{1540, 770, 770, 385}, {100, 1540, 50, 770}, {40, 30, 40, 30}, {5000, 1, 770, 1},
	} {
		small, err := thumbnail(encoded(t, image.NewNRGBA(image.Rect(0, 0, test.w, test.h))))
		if err != nil {
			t.Fatal(err)
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(small))
		if err != nil || c.Width != test.wantW || c.Height != test.wantH {
			t.Errorf("%d × %d becomes %d × %d, %v", test.w, test.h, c.Width, c.Height, err)
		}
	}
}

// Noise does not compress.
func TestThumbnail_Weight(t *testing.T) {
	t.Parallel()
	m := image.NewNRGBA(image.Rect(0, 0, 400, 400))
	copy(m.Pix, random.Bytes(len(m.Pix)))
	small, err := thumbnail(encoded(t, m))
	if err != nil || len(small) > maxThumbnail {
		t.Errorf("%d bytes, %v; want %d at most", len(small), err, maxThumbnail)
	}
}

func TestThumbnail_TransparentIsWhite(t *testing.T) {
	t.Parallel()
	small, err := thumbnail(encoded(t, image.NewNRGBA(image.Rect(0, 0, 8, 8))))
	if err != nil {
		t.Fatal(err)
	}
	m, err := jpeg.Decode(bytes.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := m.At(4, 4).RGBA(); color.Gray16Model.Convert(m.At(4, 4)) != color.Gray16Model.Convert(color.White) {
		t.Errorf("a transparent pixel becomes %x", r)
	}
}

// pngOfSize returns a PNG file of one pixel whose header gives another size, so that only the
// header can be read.
func pngOfSize(t *testing.T, width, height uint32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.White})); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	header := file[12:29] // "IHDR", the size in two words, and five bytes
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(header))
	return file
}

func TestSize_Pixels(t *testing.T) {
	t.Parallel()
	if w, h, err := size(bytes.NewReader(pngOfSize(t, 6000, 4000))); w != 6000 || h != 4000 || err != nil {
		t.Errorf("24 million pixels: %d × %d, %v", w, h, err)
	}
	for _, side := range []uint32{4001, 66_000} {
		if _, _, err := size(bytes.NewReader(pngOfSize(t, 6000, side))); !errors.Is(err, errPixels) {
			t.Errorf("6,000 × %d pixels: %v, want %v", side, err, errPixels)
		}
	}
}
