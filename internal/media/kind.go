package media

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// headSize is the number of bytes that kind examines.
const headSize = 512

// kind returns the content type of a file by its first bytes, or "" if messages cannot show
// it. It does not use the name: browsers and phones trust the content type, so a page named
// .png must not be stored.
func kind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "application/pdf"
	case mp4(head):
		return "video/mp4"
	}
	return ""
}

// mp4Brands are the brands of MP4 files. Other files of the ISO format, such as HEIC images,
// have other brands.
var mp4Brands = []string{"isom", "iso2", "iso4", "iso5", "iso6", "mp41", "mp42", "avc1", "M4V ", "MSNV", "dash"}

// mp4 reports whether a file begins with the ftyp box of an MP4 file.
func mp4(head []byte) bool {
	const fixed = 16 // size, "ftyp", major brand, version
	if len(head) < fixed || string(head[4:8]) != "ftyp" {
		return false
	}
	end := min(int(binary.BigEndian.Uint32(head)), len(head))
	if slices.Contains(mp4Brands, string(head[8:12])) {
		return true
	}
	for at := fixed; at+4 <= end; at += 4 {
		if slices.Contains(mp4Brands, string(head[at:at+4])) {
			return true
		}
	}
	return false
}
