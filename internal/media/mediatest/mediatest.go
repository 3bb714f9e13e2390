// Package mediatest makes files for tests of media.
package mediatest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// PNGOfSize returns a PNG file of one pixel whose header gives another size, so that only the
// header can be read.
func PNGOfSize(t *testing.T, width, height uint32) []byte {
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
