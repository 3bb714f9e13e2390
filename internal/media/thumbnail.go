package media

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decodes the first frame
	"image/jpeg"
	_ "image/png" // decodes
	"io"

	"golang.org/x/image/draw"

	"campaign-dispatch/internal/base/inputerr"
)

// maxPixels bounds the memory for decoding: a progressive JPEG takes 15 bytes a pixel, and
// the function has 1,024 MB.
const maxPixels = 24_000_000

// maxThumbnail is the size in bytes that the provider recommends. It takes 100 kB at most.
const maxThumbnail = 40 << 10

// sizes are the sides in pixels and the JPEG qualities of thumbnails, best first.
var sizes = []struct{ side, quality int }{{770, 80}, {770, 60}, {512, 70}, {384, 60}, {256, 50}}

var (
	errPixels     = &inputerr.Error{Code: "pixels", Detail: "the image has too many pixels"}
	errUnreadable = &inputerr.Error{Code: "unreadable", Detail: "the image cannot be read"}
)

// size returns the size of an image in pixels. It reads the header only, so that a small
// file with a huge image is refused before it is decoded.
func size(r io.Reader) (width, height int, err error) {
	c, _, err := image.DecodeConfig(r)
	switch {
	case err != nil || c.Width <= 0 || c.Height <= 0:
		return 0, 0, fmt.Errorf("%w: %w", errUnreadable, err)
	case c.Width > maxPixels/c.Height:
		return 0, 0, errPixels
	}
	return c.Width, c.Height, nil
}

// thumbnail returns a JPEG of an image whose size was checked.
func thumbnail(r io.Reader) ([]byte, error) {
	picture, _, err := image.Decode(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	var b bytes.Buffer
	for _, s := range sizes {
		b.Reset()
		if err := jpeg.Encode(&b, scaled(picture, s.side), &jpeg.Options{Quality: s.quality}); err != nil {
			return nil, fmt.Errorf("encode a thumbnail: %w", err)
		}
		if b.Len() <= maxThumbnail {
			break
		}
	}
	return b.Bytes(), nil
}

// scaled returns a picture whose longest side has side pixels at most, on white: JPEG has no
// transparency.
func scaled(picture image.Image, side int) image.Image {
	small := image.NewRGBA(fit(picture.Bounds(), side))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Over, nil)
	return small
}

// fit returns bounds with the proportions of full. It never enlarges.
func fit(full image.Rectangle, side int) image.Rectangle {
	w, h := full.Dx(), full.Dy()
	if longest := max(w, h); longest > side {
		w, h = max(1, w*side/longest), max(1, h*side/longest)
	}
	return image.Rect(0, 0, w, h)
}
