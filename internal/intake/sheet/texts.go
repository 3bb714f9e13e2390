package sheet

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"math"
	"strings"
)

// Texts yields the texts and the numbers in all parts of a workbook, also those of its other
// sheets. The error is a *Error for an invalid workbook.
func Texts(ctx context.Context, file io.ReaderAt, size int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		content := &storage{ctx: ctx, file: file, left: maxDirectory}
		archive, err := zip.NewReader(content, size)
		if err != nil {
			yield("", content.fault(err))
			return
		}
		content.left = math.MaxInt64
		for _, part := range archive.File {
			if !strings.HasSuffix(part.Name, ".xml") {
				continue
			}
			if err := content.texts(part, yield); err != nil {
				if !errors.Is(err, errStopped) {
					yield("", content.fault(err))
				}
				return
			}
		}
	}
}

var errStopped = errors.New("the reader stopped")

// texts yields the texts of a part.
func (s *storage) texts(part *zip.File, yield func(string, error) bool) error {
	content, err := part.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // read only
	all := s.tokens(content, maxSheet)
	for {
		token, err := all.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := token.(xml.CharData); ok && !yield(plainNumber(string(text)), nil) {
			return errStopped
		}
	}
}
