package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decodes the first frame
	"image/jpeg"
	_ "image/png" // decodes
	"io"

	"golang.org/x/image/draw"
)

const (
	// maxPixels bounds the memory for decoding: a progressive JPEG takes 15 bytes a pixel,
	// and the function has 1,024 MB.
	maxPixels = 24_000_000
	// The provider recommends thumbnails of 770 pixels and 40 kB, 100 kB at most.
	thumbnailSide   = 770
	maxThumbnail    = 100 << 10
	firstQuality    = 80
	qualityStep     = 20
	smallestQuality = 20
)

var (
	errPixels     = errors.New("too many pixels")
	errUnreadable = errors.New("unreadable image")
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
	small := image.NewRGBA(fit(picture.Bounds()))
	draw.Draw(small, small.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src) // JPEG has no transparency
	draw.ApproxBiLinear.Scale(small, small.Bounds(), picture, picture.Bounds(), draw.Over, nil)
	return encode(small)
}

// fit returns the bounds of a thumbnail with the proportions of full. It never enlarges.
func fit(full image.Rectangle) image.Rectangle {
	w, h := full.Dx(), full.Dy()
	if longest := max(w, h); longest > thumbnailSide {
		w, h = max(1, w*thumbnailSide/longest), max(1, h*thumbnailSide/longest)
	}
	return image.Rect(0, 0, w, h)
}

// encode returns a JPEG within the provider's size.
func encode(picture image.Image) ([]byte, error) {
	var b bytes.Buffer
	for quality := firstQuality; ; quality -= qualityStep {
		b.Reset()
		if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: quality}); err != nil {
			return nil, fmt.Errorf("encode a thumbnail: %w", err)
		}
		if b.Len() <= maxThumbnail || quality <= smallestQuality {
			return b.Bytes(), nil
		}
	}
}
